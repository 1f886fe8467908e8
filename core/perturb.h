/* perturb.h - a change of the last input row, and how it gets in and out of the arrays that attention reads. */
#ifndef ATTN_PERTURB_H
#define ATTN_PERTURB_H

#include "core/tensor.h"

/* attn_shift_last_rows - the last row of each group, plus a number.
 *
 *     out[g][c] = x[g][n - 1][c] + shift
 *
 *     x      [groups, n, cols] contiguous     in
 *     out    [groups, cols] contiguous        out
 *
 * Requires  dtype ATTN_F64 or ATTN_F32; n >= 1. Errors: none.
 */
void attn_shift_last_rows(enum attn_dtype dtype, size_t groups, size_t n, size_t cols, const void *x, double shift,
                          void *out);
void attn_shift_last_rows_f64(size_t groups, size_t n, size_t cols, const double *x, double shift, double *out);
void attn_shift_last_rows_f32(size_t groups, size_t n, size_t cols, const float *x, double shift, float *out);

/* attn_swap_rows - exchanges row `row` of every head with `other` [batch, heads, cols] contiguous; doing it again
 * undoes it. Any dtype. Errors: none. */
void attn_swap_rows(enum attn_dtype dtype, const struct attn_view *x, size_t batch, size_t heads, size_t row,
                    size_t cols, void *other);

#endif
