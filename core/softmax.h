/* softmax.h - the passes over rows of scores that softmax is made of.
 *
 * Each works in place on adjacent elements, n >= 0, and is vectorised. The order of additions depends on n alone, never
 * on the machine: the same input gives the same bits everywhere.
 * Threads   safe for distinct rows.
 */
#ifndef ATTN_SOFTMAX_H
#define ATTN_SOFTMAX_H

#include <stdbool.h>
#include <stddef.h>

/* struct attn_span - columns from <= c < to of a row. */
struct attn_span {
    size_t from, to;
};

/* attn_rows_exp - one block of columns of a softmax that walks along its rows.
 *
 *     top'[i] = max(top[i], max_j x[i][j]);   shrink[i] = exp(top[i] - top'[i])
 *     x[i][j] = exp(x[i][j] - top'[i]) for j in span[i];   sum'[i] = sum[i] * shrink[i] + sum_j x[i][j]
 *
 *     x        row i at x + i * row                           in, out
 *     span     [rows] columns of the row; others are not touched
 *     top, sum [rows] of the columns before; -INFINITY and 0 for none     in, out
 *     shrink   [rows] what all sums made before are to be multiplied with  out
 *
 * Edges     -inf gives exactly 0, also where nothing else came yet; NaN is passed over by the maximum and shows in the
 *           sum, and so does +inf (inf - inf); results below the smallest normal number are rounded once.
 * Accuracy  1 ulp per element (test_exp.c). A float sum adds up to 1/16 of a row's columns in single precision, the
 *           rest in double: meant for blocks of some hundred columns.
 * Source    Milakov and Gimelshein 2018, algorithm 3; exp: Cody and Waite 1980, chapter 6, polynomial fitted at
 *           Chebyshev nodes.
 */
void attn_rows_exp_f64(double *x, size_t row, const struct attn_span *span, size_t rows, double *top, double *sum,
                       double *shrink);
void attn_rows_exp_f32(float *x, size_t row, const struct attn_span *span, size_t rows, float *top, double *sum,
                       float *shrink);

/* attn_row_cap - x[j] = cap * tanh(x[j] / cap), cap > 0.
 *
 * Edges     +-inf gives +-cap; NaN gives NaN.
 * Accuracy  4 ulp per element, small ones included.
 */
void attn_row_cap_f64(double *x, size_t n, double cap);
void attn_row_cap_f32(float *x, size_t n, float cap);

/* attn_row_divide - x[j] = x[j] * factor / sum. */
void attn_row_divide_f64(double *x, size_t n, double factor, double sum);
void attn_row_divide_f32(float *x, size_t n, float factor, float sum);

/* attn_rows_scale - x[i][j] = x[i][j] * factor[i] for j < n, row i at x + i * row; true when every result is finite. */
bool attn_rows_scale_f64(double *x, size_t row, size_t rows, size_t n, const double *factor);
bool attn_rows_scale_f32(float *x, size_t row, size_t rows, size_t n, const float *factor);

#endif
