/* test_rope - rotations against a complex product in long double; what a rotation must leave alone; that a cached step
 * continues where the full run stands.
 *
 * Tolerance: an angle of p radians is off by up to p ulp, sine, cosine and the product add a few.
 */
#include "core/rope.h"
#include "tests/ref/ref_linear.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

enum { BATCH = 2, HEADS = 3, ROWS = 70, COLS = 10, COUNT = BATCH * HEADS * ROWS * COLS };

/* A joined [batch, rows, heads * cols] matrix, seen by head. */
static struct attn_view joined(void *data) {
    return (struct attn_view){data, ROWS * HEADS * COLS, COLS, HEADS * COLS};
}

static void turn(enum attn_dtype dtype, const struct attn_rope *rope, void *data) {
    struct attn_rope_dims dims = {BATCH, HEADS, ROWS};
    struct attn_view view = joined(data);
    void *work = malloc(attn_rope_work(rope, 1));
    cr_assert(attn_rope_apply(dtype, rope, &dims, &view, NULL, work));
    free(work);
}

static double position_of(const struct attn_rope *rope, size_t b, size_t i) {
    return rope->positions ? rope->positions[b * rope->positions_batch + i] : rope->start + (double)i;
}

static void check(enum attn_dtype dtype, const struct attn_rope *rope) {
    static double wide[COUNT];
    static float narrow[COUNT];
    uint64_t seed = 7;
    for (size_t i = 0; i < COUNT; i++)
        wide[i] = narrow[i] = (float)ref_uniform(&seed);
    static long double expected[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        expected[i] = wide[i];
    for (size_t b = 0; b < BATCH; b++)
        for (size_t i = 0; i < ROWS; i++)
            for (size_t h = 0; h < HEADS; h++)
                ref_rope(rope->dims, rope->base, rope->interleaved, position_of(rope, b, i),
                         expected + ((b * ROWS + i) * HEADS + h) * COLS);
    turn(dtype, rope, dtype == ATTN_F64 ? (void *)wide : narrow);
    double ulp = dtype == ATTN_F64 ? DBL_EPSILON : FLT_EPSILON;
    for (size_t i = 0; i < COUNT; i++) {
        double got = dtype == ATTN_F64 ? wide[i] : (double)narrow[i];
        double bound = dtype == ATTN_F64
                           ? ulp * (4 + 2 * position_of(rope, i / (ROWS * HEADS * COLS), i / (HEADS * COLS) % ROWS))
                           : 4 * ulp;
        cr_assert(fabsl(got - expected[i]) <= bound, "element %zu: %.17g, not %.17Lg", i, got, expected[i]);
    }
}

Test(rope, agrees_with_the_oracle) {
    static double own[BATCH * ROWS];
    for (size_t i = 0; i < BATCH * ROWS; i++)
        own[i] = (double)(i * 7 % 90);
    static const size_t dims[] = {2, 4, 10};
    for (size_t d = 0; d < 3; d++)
        for (int form = 0; form < 8; form++) {
            struct attn_rope rope = {dims[d], form & 1 ? 500 : 10000, form & 2, NULL, 0, form & 4 ? 11 : 0};
            check(ATTN_F64, &rope);
            check(ATTN_F32, &rope);
            rope.positions = own;
            rope.positions_batch = form & 4 ? ROWS : 0;
            check(ATTN_F64, &rope);
        }
}

Test(rope, position_zero_and_other_columns_stay) {
    static double x[COUNT], before[COUNT];
    uint64_t seed = 3;
    for (size_t i = 0; i < COUNT; i++)
        x[i] = before[i] = ref_uniform(&seed);
    turn(ATTN_F64, &(struct attn_rope){.dims = 4, .base = 10000}, x);
    for (size_t i = 0; i < COUNT; i++)
        if (i / (HEADS * COLS) % ROWS == 0 || i % COLS >= 4)
            cr_assert_eq(x[i], before[i]);
        else
            cr_assert_neq(x[i], before[i]);
}

/* What attention sees of a rotation: q.k depends on the distance of the positions only. */
Test(rope, products_depend_on_distance_only) {
    struct attn_rope rope = {.dims = 6, .base = 10000};
    struct attn_rope_dims dims = {1, 1, 1};
    double work[32], product[2];
    for (int t = 0; t < 2; t++) {
        double q[6] = {1, -2, 3, .5, .25, 2}, k[6] = {.3, 1, -1, 2, 4, -.5};
        struct attn_view qv = {q, 0, 0, 6}, kv = {k, 0, 0, 6};
        rope.start = t ? 105 : 5;
        cr_assert(attn_rope_apply(ATTN_F64, &rope, &dims, &qv, NULL, work));
        rope.start -= 3;
        cr_assert(attn_rope_apply(ATTN_F64, &rope, &dims, &kv, NULL, work));
        product[t] = 0;
        for (int c = 0; c < 6; c++)
            product[t] += q[c] * k[c];
    }
    cr_assert_float_eq(product[0], product[1], 1e-12);
}
