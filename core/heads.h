/* heads.h - heads as the caller wants to see them. The computation itself never copies heads: see attn_view. */
#ifndef ATTN_HEADS_H
#define ATTN_HEADS_H

#include "core/tensor.h"

/* attn_heads_copy - copies a view [batch, heads, rows, cols] into contiguous memory of the same shape: the split of a
 * joined (n, heads * d) matrix. Any dtype. Errors: none. */
void attn_heads_copy(enum attn_dtype dtype, const struct attn_view *x, const size_t shape[4], void *out);

/* attn_heads_copy_block - the same for one head of one example: [rows, cols]. */
void attn_heads_copy_block(enum attn_dtype dtype, const struct attn_view *x, size_t b, size_t h, size_t rows,
                           size_t cols, void *out);

/* attn_heads_mean - mean over heads.
 *
 *     out[b][c] = sum_h x[b][h][c] / heads
 *
 *     x      [batch, heads, count] contiguous    in
 *     out    [batch, count] contiguous           out; must not overlap x
 *
 * Requires  dtype ATTN_F64 or ATTN_F32. Errors: none.
 */
void attn_heads_mean(enum attn_dtype dtype, size_t batch, size_t heads, size_t count, const void *x, void *out);
void attn_heads_mean_f64(size_t batch, size_t heads, size_t count, const double *x, double *out);
void attn_heads_mean_f32(size_t batch, size_t heads, size_t count, const float *x, float *out);

#endif
