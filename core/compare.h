/* compare.h - are two arrays the same within a tolerance? */
#ifndef ATTN_COMPARE_H
#define ATTN_COMPARE_H

#include "core/tensor.h"

/* struct attn_comparison - what attn_compare found.
 *
 *     same                   every element is within the tolerance
 *     max_abs_error          largest |got - expected|: NaN when either array holds one, infinite when an infinity meets
 *                            anything but itself
 *     first, got, expected   index and values of the first element outside the tolerance; 0 when there is none
 */
struct attn_comparison {
    bool same;
    double max_abs_error;
    size_t first;
    double got, expected;
};

/* attn_compare - compares element by element.
 *
 *     |got - expected| <= atol + rtol * |expected|
 *
 *     got, expected   of one shape; ATTN_F64, or ATTN_BOOL as 0 and 1     in
 *
 * Requires  a dtype of these two and equal shapes (asserted).
 * Edges     equal infinities match and differ by 0, an infinity matches nothing else; NaN matches nothing.
 * Errors    none.
 * Threads   safe.
 * Source    the rule of NumPy's allclose; max_abs_error is abs(got - expected).max(), but for equal infinities.
 */
struct attn_comparison attn_compare(const struct attn_tensor *got, const struct attn_tensor *expected, double rtol,
                                    double atol);

#endif
