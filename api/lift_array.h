/* lift_array.h - reads one array that may turn out to be a tensor. For lift.c only. */
#ifndef API_LIFT_ARRAY_H
#define API_LIFT_ARRAY_H

#include "api/lift.h"

enum kind { UNKNOWN, NUMBERS, BOOLEANS };

/* What an array is found to be: a tensor, something else, or not JSON at all. STOPPED: nobody wants to know. */
enum finding { TENSOR, ALIEN, MALFORMED, STOPPED };

/* struct candidate - an array that may turn out to be a tensor.
 *
 *     depth      arrays open now; deepest: most that were open at once
 *     scalars    the depth at which numbers stand, 0 before the first
 *     solid      something else than a "NaN" in quotes was among the values
 *     at         where the brackets of the arrays open now stand, outermost first
 *     n          elements so far in each of them
 *     before     value of `count` when each of them was opened: has it content of its own?
 *     known      whether shape holds a length for this depth already
 *     count      values so far, at `data`
 *     exec       asked now and then whether to stop; looked: where last
 */
struct candidate {
    enum kind kind;
    unsigned depth, deepest, scalars;
    bool solid;
    const char *at[API_LIFT_MAX_RANK];
    size_t n[API_LIFT_MAX_RANK], before[API_LIFT_MAX_RANK];
    bool known[API_LIFT_MAX_RANK];
    size_t count;
    char *data;
    const struct attn_exec *exec;
    const char *looked;
    struct api_lifted item;
};

/* api_read_array - reads the array at p, whose '[' stands there, into a zeroed candidate with `data` and `exec` set: 8
 * bytes for a number, one for a boolean; the room is the caller's care.
 *
 *     next    out: what follows the array, or what does not belong into a tensor
 *     value   out: a value should stand there, rather than a comma or bracket
 */
enum finding api_read_array(struct candidate *c, const char *p, const char *end, const char **next, bool *value);

#endif
