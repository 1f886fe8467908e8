/* Goal: the passes over rows keep their promises: a softmax made block by block equals the one made at once, columns
 * outside a span stay as they are, and a product that is not finite is noticed wherever it stands.
 * Method: small rows of every length up to some vectors, against long double.
 */
#include "core/softmax.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdint.h>

enum { MOST = 150, GAP = 3 };

static double next(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) * 0x1p-53;
}

/* An element: exp is good to an ulp, and rounding its argument, up to SPREAD away from the maximum, twice counts as
 * many. The sum: one more rounding per addition, which eight lanes share. */
enum { SPREAD = 40 };
static const double SLACK = (4 + SPREAD) * DBL_EPSILON, SUM_SLACK = (4 + SPREAD + MOST / 8) * DBL_EPSILON;

Test(softmax, block_by_block_equals_at_once) {
    uint64_t state = 1;
    for (size_t n = 0; n <= MOST; n++)
        for (size_t cut = 0; cut <= n; cut += 1 + n / 7) {
            double x[MOST + GAP], s[MOST], top = -(double)INFINITY, sum = 0, shrink, first = 1;
            long double want_top = -(long double)INFINITY, want_sum = 0;
            for (size_t j = 0; j < n; j++) {
                s[j] = x[j] = SPREAD * (next(&state) - 0.5);
                want_top = fmaxl(want_top, (long double)x[j]);
            }
            for (size_t j = 0; j < n; j++)
                want_sum += expl((long double)s[j] - want_top);
            struct attn_span one = {0, cut}, two = {cut, n};
            attn_rows_exp_f64(x, n, &one, 1, &top, &sum, &shrink);
            double top_one = top;
            attn_rows_exp_f64(x, n, &two, 1, &top, &sum, &shrink);
            first = shrink;
            if (n == 0) {
                cr_assert(sum == 0 && isinf(top));
                continue;
            }
            cr_assert((long double)top == want_top);
            cr_assert(fabsl((long double)sum - want_sum) <= want_sum * SUM_SLACK, "%zu cut at %zu", n, cut);
            cr_assert(cut == 0 || fabs(first - exp(top_one - top)) <= SLACK * first);
            for (size_t j = 0; j < n; j++) {
                long double e = expl((long double)s[j] - want_top), got = (long double)x[j];
                if (j < cut)
                    got *= (long double)first;
                cr_assert(fabsl(got - e) <= e * SLACK);
            }
        }
}

Test(softmax, columns_outside_the_span_stay) {
    for (size_t from = 0; from < 40; from += 3)
        for (size_t to = from; to < 40; to += 2) {
            float x[2][40], top[2] = {-(float)INFINITY, 0.5F}, shrink[2];
            double sum[2] = {0, 1};
            for (int r = 0; r < 2; r++)
                for (int j = 0; j < 40; j++)
                    x[r][j] = (float)(r + 2) * 7;
            struct attn_span span[2] = {{from, to}, {from, to}};
            attn_rows_exp_f32(x[0], 40, span, 2, top, sum, shrink);
            for (size_t r = 0; r < 2; r++)
                for (size_t j = 0; j < 40; j++)
                    cr_assert(x[r][j] == (j >= from && j < to ? 1 : (float)(r + 2) * 7));
            cr_assert(sum[0] == (double)(to - from));
            cr_assert(from < to ? top[1] == 21 : top[1] == 0.5F && sum[1] == 1 && shrink[1] == 1);
        }
}

Test(softmax, a_row_of_minus_infinity_sums_to_zero) {
    double x[] = {-(double)INFINITY, -(double)INFINITY, -(double)INFINITY}, top = -(double)INFINITY, sum = 0, shrink;
    struct attn_span all = {0, 3};
    attn_rows_exp_f64(x, 3, &all, 1, &top, &sum, &shrink);
    cr_assert(sum == 0 && x[0] == 0 && x[1] == 0 && x[2] == 0 && isinf(top) && shrink == 1);
}

Test(softmax, infinity_and_nan_show_in_the_sum) {
    static const double odd[] = {(double)INFINITY, (double)NAN};
    for (int o = 0; o < 2; o++)
        for (size_t at = 0; at < 20; at++) {
            double x[20] = {0}, top = -(double)INFINITY, sum = 0, shrink;
            x[at] = odd[o];
            struct attn_span all = {0, 20};
            attn_rows_exp_f64(x, 20, &all, 1, &top, &sum, &shrink);
            cr_assert(isnan(sum));
        }
}

Test(softmax, scaling_notices_what_is_not_finite) {
    static const double odd[] = {(double)INFINITY, -(double)INFINITY, (double)NAN, DBL_MAX};
    for (size_t n = 1; n < 70; n++)
        for (size_t at = 0; at < n; at++)
            for (int o = 0; o < 4; o++) {
                double x[2 * 70], factor[2] = {0.5, 2};
                for (size_t j = 0; j < 2 * n; j++)
                    x[j] = -DBL_MAX / 4;
                cr_assert(attn_rows_scale_f64(x, n, 2, n, factor));
                cr_assert(x[at] == -DBL_MAX / 8 && x[n + at] == -DBL_MAX / 2);
                x[n + at] = odd[o];
                cr_assert_not(attn_rows_scale_f64(x, n, 2, n, factor));
                float y[70], half = 0.5F;
                for (size_t j = 0; j < n; j++)
                    y[j] = FLT_MAX;
                cr_assert(attn_rows_scale_f32(y, n, 1, n, &half));
                y[at] = o < 3 ? (float)odd[o] : (float)INFINITY;
                cr_assert_not(attn_rows_scale_f32(y, n, 1, n, &half));
            }
}

Test(softmax, dividing_rounds_once) {
    double x[37], y[37];
    uint64_t state = 3;
    for (int j = 0; j < 37; j++)
        x[j] = y[j] = next(&state);
    attn_row_divide_f64(x, 37, 1, 3);
    for (int j = 0; j < 37; j++)
        cr_assert(x[j] == y[j] / 3);
    attn_row_divide_f64(y, 37, 0, 3);
    for (int j = 0; j < 37; j++)
        cr_assert(y[j] == 0);
}
