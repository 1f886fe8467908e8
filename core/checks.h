/* checks.h - what can be measured on attention's results: never assumed, always read off the arrays. */
#ifndef ATTN_CHECKS_H
#define ATTN_CHECKS_H

#include "core/attention.h"

/* struct attn_weight_report - what the weights show.
 *
 *     max_sum_error   largest |sum of a row + its sink's share - 1|; infinite when a row's sum is not finite
 *     empty_rows      rows of zeros for which no key is allowed, or only such with a bias of -infinity; they are
 *                     counted, not held against the sum
 *     max_future      largest magnitude above the diagonal, j > i + offset; infinite for NaN
 *     dropped         total weight on keys that padding or lengths drop
 *     finite          every weight is
 */
struct attn_weight_report {
    double max_sum_error, max_future, dropped;
    size_t empty_rows;
    bool finite;
};

/* attn_check_weights - measures call->weights if it is there; else computes the weights again, a few rows of one head
 * at a time, so that nothing of size n_q * n_k is stored.
 *
 *     call     as it was given to attn_attention; lse is needed with sinks when weights is there
 *     work     attn_check_weights_work(call, attn_exec_slots(exec)) bytes, 64-byte aligned
 *
 * The report does not depend on how the work was spread.
 * Errors    returns false if exec was stopped: the report is then partial.
 * Threads   safe for distinct work.
 */
bool attn_check_weights(const struct attn_call *call, const struct attn_exec *exec, void *work,
                        struct attn_weight_report *report);
size_t attn_check_weights_work(const struct attn_call *call, size_t slots);

/* attn_past_rows - how many rows of example b precede the last key: rows i with i + offset < n_k - 1. A change of the
 * last key must not reach them when attention is causal. In the lower-right corner the last row is never one of them:
 * it stands on the example's last key, and may have been changed together with it. */
size_t attn_past_rows(const struct attn_rule *rule, const struct attn_dims *dims, size_t b);

/* attn_past_change - largest change between call->output and `changed` (same shape) over the attn_past_rows. */
double attn_past_change(const struct attn_call *call, const struct attn_view *changed);

/* attn_max_change - largest |a - b| over `count` elements. Equal values, equal infinities and two NaN are no change;
 * one NaN against a number is an infinite one. */
double attn_max_change(enum attn_dtype dtype, const void *a, const void *b, size_t count);
double attn_max_change_f64(const double *a, const double *b, size_t count);
double attn_max_change_f32(const float *a, const float *b, size_t count);

/* attn_all_finite - neither NaN nor infinity among `count` elements. */
bool attn_all_finite(enum attn_dtype dtype, const void *x, size_t count);
bool attn_all_finite_f64(const double *x, size_t count);
bool attn_all_finite_f32(const float *x, size_t count);

/* struct attn_row_measure - one row of weights [n_k]: its sum, and the largest magnitude and the sum of magnitudes from
 * column `split` on. Used by attn_check_weights. */
struct attn_row_measure {
    double sum, future_sum, future_max;
};
struct attn_row_measure attn_measure_row_f64(const double *row, size_t n_k, size_t split);
struct attn_row_measure attn_measure_row_f32(const float *row, size_t n_k, size_t split);

/* attn_dropped_sum - sum of the magnitudes at columns with padding[j] nonzero (padding NULL: none) or j >= length. */
double attn_dropped_sum_f64(const double *row, size_t n_k, const uint8_t *padding, size_t length);
double attn_dropped_sum_f32(const float *row, size_t n_k, const uint8_t *padding, size_t length);

#endif
