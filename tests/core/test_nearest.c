/* test_nearest - the closest row (ties, NaN, both precisions, more rows than one task) and the comparison of arrays,
 * by worked examples whose answers are known. */
#include "core/compare.h"
#include "core/nearest.h"

#include <criterion/criterion.h>
#include <math.h>

Test(nearest, smallest_distance_first_on_ties) {
    double values[] = {0, 0, 2, 0, 0, 2, 2, 0}, x[] = {1.9, 0.1, 0, 1.5, 1, 0, 1, 1};
    int64_t out[4];
    cr_assert(attn_nearest(ATTN_F64, 4, 4, 2, x, values, out, NULL));
    cr_assert_eq(out[0], 1); /* rows 1 and 3 are the same */
    cr_assert_eq(out[1], 2);
    cr_assert_eq(out[2], 0); /* 1 away from rows 0 and 1 */
    cr_assert_eq(out[3], 0); /* the same from all */
}

Test(nearest, many_rows_of_float) {
    enum { N = 100 };
    float values[N], x[N];
    int64_t out[N];
    for (int i = 0; i < N; i++) {
        values[i] = (float)i;
        x[i] = (float)(N - 1 - i) + 0.25f;
    }
    cr_assert(attn_nearest(ATTN_F32, N, N, 1, x, values, out, NULL));
    for (int i = 0; i < N; i++)
        cr_assert_eq(out[i], N - 1 - i);
}

Test(nearest, nan_is_never_closest) {
    double values[] = {NAN, INFINITY, 5}, x[] = {1, NAN};
    int64_t out[2];
    cr_assert(attn_nearest(ATTN_F64, 2, 3, 1, x, values, out, NULL));
    cr_assert_eq(out[0], 2);
    cr_assert_eq(out[1], 0);
    cr_assert(attn_nearest(ATTN_F64, 1, 2, 1, x, values, out, NULL));
    cr_assert_eq(out[0], 1, "an infinite distance beats none");
}

Test(compare, allclose_rule) {
    static const struct {
        double got, expected;
        bool matches, matches_nan;
        double error;
    } rows[] = {
        {1, 1, true, true, 0},
        {1.0099, 1, true, true, 0.0099},   /* rtol 0.005 of 1 and atol 0.005: just inside */
        {1.0101, 1, false, false, 0.0101}, /* just outside */
        {0.005, 0, true, true, 0.005},     /* atol alone */
        {0.0051, 0, false, false, 0.0051},
        {INFINITY, INFINITY, true, true, 0},
        {-INFINITY, INFINITY, false, false, INFINITY},
        {1, INFINITY, false, false, INFINITY}, /* no tolerance reaches it */
        {NAN, NAN, false, true, 0},
        {NAN, 1, false, false, INFINITY},
        {1, NAN, false, false, INFINITY},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int equal_nan = 0; equal_nan < 2; equal_nan++) {
            struct attn_comparison c;
            bool fine = attn_compare(&rows[i].got, &rows[i].expected, 1, 0.005, 0.005, equal_nan, &c);
            cr_assert_eq(fine, equal_nan ? rows[i].matches_nan : rows[i].matches, "row %zu", i);
            cr_assert_eq(c.mismatches, fine ? 0 : 1, "row %zu", i);
            if (isinf(rows[i].error))
                cr_assert(isinf(c.max_abs_error), "row %zu", i);
            else
                cr_assert_float_eq(c.max_abs_error, rows[i].error, 1e-15, "row %zu", i);
        }
}

Test(compare, first_mismatch_and_count) {
    double got[] = {1, 2, 3, 4}, expected[] = {1, 2.5, 3, 9};
    struct attn_comparison c;
    cr_assert_not(attn_compare(got, expected, 4, 0, 0, false, &c));
    cr_assert_eq(c.first, 1);
    cr_assert_eq(c.mismatches, 2);
    cr_assert_eq(c.max_abs_error, 5);
}
