/* concat.h - cached keys or values in front of new ones. */
#ifndef ATTN_CONCAT_H
#define ATTN_CONCAT_H

#include "core/tensor.h"

/* struct attn_concat_dims - [batch, heads] arrays of `past` and then `fresh` rows of `cols` columns. */
struct attn_concat_dims {
    size_t batch, heads, past, fresh, cols;
};

/* attn_concat - joins along the sequence axis.
 *
 *     past     [batch, heads, past, cols] contiguous     in
 *     fresh    [batch, heads, fresh, cols]               in
 *     out      [batch, heads, past + fresh, cols] contiguous, overlaps neither
 *
 * Requires  any dtype; past may be 0 rows (then `past` may be NULL).
 * Errors    none.
 */
void attn_concat(enum attn_dtype dtype, const struct attn_concat_dims *dims, const void *past,
                 const struct attn_view *fresh, void *out);

#endif
