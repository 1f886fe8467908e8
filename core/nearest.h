/* nearest.h - which of a set of rows is closest. */
#ifndef ATTN_NEAREST_H
#define ATTN_NEAREST_H

#include "core/exec.h"
#include "core/tensor.h"

/* attn_nearest - for each row of x the index of the closest row of `values`.
 *
 *     out[i] = argmin_j sum_c (x[i][c] - values[j][c])^2,   the smallest such j
 *
 *     x        [rows, cols] contiguous       in
 *     values   [count, cols] contiguous      in; count >= 1
 *     out      [rows]                        out
 *
 * Requires  dtype ATTN_F64 or ATTN_F32; distances are double precision for both.
 * Edges     a distance that is NaN is never the closest; when all are, the answer is 0.
 * Errors    returns false if exec was stopped: out is then partial.
 */
bool attn_nearest(enum attn_dtype dtype, size_t rows, size_t count, size_t cols, const void *x, const void *values,
                  int64_t *out, const struct attn_exec *exec);

int64_t attn_nearest_row_f64(size_t count, size_t cols, const double *x, const double *values);
int64_t attn_nearest_row_f32(size_t count, size_t cols, const float *x, const float *values);

#endif
