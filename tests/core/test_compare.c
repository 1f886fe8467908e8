/* test_compare - the comparison of arrays by NumPy's rule, by worked examples whose answers are known. */
#include "core/compare.h"

#include <criterion/criterion.h>
#include <math.h>

static bool is(double got, double wanted) {
    return got == wanted || (isnan(got) && isnan(wanted));
}

static struct attn_tensor row_of(double *data, size_t count) {
    return (struct attn_tensor){.dtype = ATTN_F64, .rank = 1, .shape = {count}, .data = data};
}

static struct attn_comparison compare(double *got, double *expected, size_t count, double rtol, double atol) {
    struct attn_tensor a = row_of(got, count), b = row_of(expected, count);
    return attn_compare(&a, &b, rtol, atol);
}

/* `same` is what numpy.allclose(got, expected, rtol=0.5, atol=0.25) says. */
Test(compare, allclose_rule) {
    static const struct {
        double got, expected;
        bool same;
        double error;
    } rows[] = {
        {1, 1, true, 0},
        {2.25, 4, true, 1.75}, /* 0.25 + 0.5 * 4 reaches 2.25, from either side */
        {6.25, 4, true, 2.25},
        {6.5, 4, false, 2.5},
        {4, 1, false, 3}, /* relative to what is expected: the other way round it would be within */
        {1, 4, false, 3},
        {-0.25, 0, true, 0.25}, /* atol alone */
        {-0.5, 0, false, 0.5},
        {0.0, -0.0, true, 0},
        {1e308, -1e308, false, INFINITY},
        {INFINITY, INFINITY, true, 0},
        {-INFINITY, INFINITY, false, INFINITY},
        {1, INFINITY, false, INFINITY}, /* no tolerance reaches it */
        {INFINITY, 1, false, INFINITY},
        {NAN, NAN, false, NAN},
        {NAN, 1, false, NAN},
        {1, NAN, false, NAN},
        {NAN, INFINITY, false, NAN},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double got = rows[i].got, expected = rows[i].expected;
        struct attn_comparison found = compare(&got, &expected, 1, 0.5, 0.25);
        cr_expect_eq(found.same, rows[i].same, "row %zu", i);
        cr_expect(is(found.max_abs_error, rows[i].error), "row %zu: %g", i, found.max_abs_error);
        cr_expect(is(found.got, found.same ? 0 : got) && is(found.expected, found.same ? 0 : expected), "row %zu", i);
    }
}

Test(compare, first_of_several) {
    double got[] = {1, 2, 3, 4}, expected[] = {1, 2.5, 3, 9};
    struct attn_comparison found = compare(got, expected, 4, 0, 0);
    cr_expect_not(found.same);
    cr_expect_eq(found.first, 1u);
    cr_expect_eq(found.got, 2);
    cr_expect_eq(found.expected, 2.5);
    cr_expect_eq(found.max_abs_error, 5);
}

/* Wherever NaN stands, it is not lost among larger errors. */
Test(compare, nan_stays) {
    for (size_t at = 0; at < 3; at++) {
        double got[] = {1, 2, 3}, expected[] = {9, 9, INFINITY};
        got[at] = NAN;
        struct attn_comparison found = compare(got, expected, 3, 0, 0);
        cr_expect(isnan(found.max_abs_error), "%zu", at);
        cr_expect_eq(found.first, 0u);
    }
}

Test(compare, booleans) {
    uint8_t got[] = {1, 0, 0}, expected[] = {1, 0, 1};
    struct attn_tensor a = {.dtype = ATTN_BOOL, .rank = 2, .shape = {1, 3}, .data = got}, b = a;
    cr_expect(attn_compare(&a, &b, 0, 0).same);
    b.data = expected;
    struct attn_comparison found = attn_compare(&a, &b, 1e-5, 1e-8);
    cr_expect_not(found.same);
    cr_expect_eq(found.first, 2u);
    cr_expect_eq(found.max_abs_error, 1);
    cr_expect(found.got == 0 && found.expected == 1);
}

Test(compare, shapes) {
    struct attn_tensor a = {.rank = 2, .shape = {2, 3}}, transposed = {.rank = 2, .shape = {3, 2}},
                       batch = {.rank = 3, .shape = {2, 3, 1}},
                       masks = {.dtype = ATTN_BOOL, .rank = 2, .shape = {2, 3}};
    cr_expect(attn_same_shape(&a, &a));
    cr_expect(attn_same_shape(&a, &masks));
    cr_expect_not(attn_same_shape(&a, &transposed));
    cr_expect_not(attn_same_shape(&a, &batch));
    cr_expect_not(attn_same_shape(&batch, &a));
}
