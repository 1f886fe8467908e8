/* compare.h - are two arrays the same within a tolerance? */
#ifndef ATTN_COMPARE_H
#define ATTN_COMPARE_H

#include <stdbool.h>
#include <stddef.h>

/* struct attn_comparison - what attn_compare found.
 *
 *     max_abs_error   largest |got - expected|; equal infinities and two NaN differ by 0, other non-finite pairs by
 *                     infinity
 *     mismatches      elements outside the tolerance
 *     first           index of the first of them; meaningless when there is none
 */
struct attn_comparison {
    double max_abs_error;
    size_t mismatches, first;
};

/* attn_compare - compares element by element.
 *
 *     |got - expected| <= atol + rtol * |expected|
 *
 *     got, expected   [count]   in
 *     equal_nan       two NaN match; else NaN never does
 *
 * Equal infinities match; an infinity matches nothing else.
 * Returns   whether everything matches.
 * Source    the rule of NumPy's allclose.
 */
bool attn_compare(const double *got, const double *expected, size_t count, double rtol, double atol, bool equal_nan,
                  struct attn_comparison *result);

#endif
