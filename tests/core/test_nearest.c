/* test_nearest - the closest row (ties, NaN, both precisions, more rows than one task), by worked examples whose
 * answers are known. */
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
