/* softmax.h - the passes over one row of scores that softmax is made of.
 *
 *     top = max_j x[j];   x[j] = exp(x[j] - top);   sum = sum_j x[j];   x[j] = x[j] * factor / sum
 *
 * Each works on `n` adjacent elements, n >= 0, in place, and is vectorised. The order of additions depends on n alone,
 * never on the machine: the same input gives the same bits everywhere.
 * Threads   safe for distinct rows.
 */
#ifndef ATTN_SOFTMAX_H
#define ATTN_SOFTMAX_H

#include <stdbool.h>
#include <stddef.h>

/* attn_row_max - the largest of x[0 .. n-1] and `top`; NaN is passed over (it shows in the sum). */
double attn_row_max_f64(const double *x, size_t n, double top);
float attn_row_max_f32(const float *x, size_t n, float top);

/* attn_row_exp - x[j] = exp(x[j] - top); returns their sum.
 *
 *     top   at least every x[j]; finite, or infinite where NaN is the right answer (inf - inf)
 *
 * Edges     -inf gives exactly 0; NaN gives NaN; results below the smallest normal number are rounded once.
 * Accuracy  1 ulp per element (test_exp.c). The float sum adds up to n / 16 terms in single precision, the rest in
 *           double: meant for blocks of some hundred keys.
 * Source    Cody and Waite 1980, chapter 6 (reduction); polynomial fitted at Chebyshev nodes.
 */
double attn_row_exp_f64(double *x, size_t n, double top);
double attn_row_exp_f32(float *x, size_t n, float top);

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

/* attn_row_scale - x[j] = x[j] * factor; true when every result is finite. */
bool attn_row_scale_f64(double *x, size_t n, double factor);
bool attn_row_scale_f32(float *x, size_t n, float factor);

#endif
