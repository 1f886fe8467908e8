/* err.h - how core/ reports a refusal: a code, the argument at fault, and why. */
#ifndef ATTN_ERR_H
#define ATTN_ERR_H

enum attn_code {
    ATTN_OK = 0,
    ATTN_SHAPE_MISMATCH, /* shapes that do not fit each other */
    ATTN_BAD_VALUE,      /* one argument is outside its domain */
    ATTN_CONFLICT        /* two arguments contradict each other */
};

/* struct attn_err - the first thing found wrong; reporting allocates nothing.
 *
 *     arg   name of the argument at fault, spelled as in JSON ("num_heads"); static
 *     why   a sentence without the name; static
 */
struct attn_err {
    enum attn_code code;
    const char *arg, *why;
};

#endif
