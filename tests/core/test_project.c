/* test_project - projections against the oracle, over both layouts, both precisions and the sizes on either side of the
 * switch from plain loops to gemm; rows a stride apart; blocks spread over slots; stopping.
 *
 * Tolerance: a dot product of d_in terms errs by at most (d_in + 1) ulp of sum |x||w| + |b|.
 */
#include "core/project.h"
#include "tests/ref/ref_linear.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

static double *uniform(uint64_t *seed, size_t count) {
    double *x = malloc(count * sizeof *x);
    for (size_t i = 0; i < count; i++)
        x[i] = (float)ref_uniform(seed); /* exact in both precisions */
    return x;
}

static void *as_dtype(enum attn_dtype dtype, const double *x, size_t count) {
    void *copy = malloc(count * sizeof(double));
    for (size_t i = 0; i < count; i++)
        if (dtype == ATTN_F64)
            ((double *)copy)[i] = x[i];
        else
            ((float *)copy)[i] = (float)x[i];
    return copy;
}

/* Tasks backwards, on alternating slots: results must not depend on it. */
static void run_backwards(void *ctx, size_t n, attn_task *task, void *arg) {
    (void)ctx;
    while (n--)
        task(arg, n, n % 3);
}

static void check_size(enum attn_dtype dtype, size_t rows, size_t d_in, size_t d_out, bool out_in, bool bias) {
    uint64_t seed = rows * 1009 + d_in * 31 + d_out;
    double *x = uniform(&seed, rows * d_in), *w = uniform(&seed, d_in * d_out), *b = uniform(&seed, d_out);
    long double *expected = malloc(rows * d_out * sizeof *expected), *size = malloc(rows * d_out * sizeof *size);
    ref_project(rows, d_in, d_out, x, w, out_in, bias ? b : NULL, expected, size);
    void *xt = as_dtype(dtype, x, rows * d_in), *wt = as_dtype(dtype, w, d_in * d_out), *bt = as_dtype(dtype, b, d_out);
    void *y = malloc(rows * (d_out + 3) * sizeof(double));
    struct attn_projection p = {dtype, rows, d_in, d_out, xt, d_in, wt, out_in, bias ? bt : NULL, y, d_out + 3};
    struct attn_exec exec = {3, run_backwards, NULL, NULL};
    cr_assert(attn_project(&p, &exec));
    double ulp = (dtype == ATTN_F64 ? DBL_EPSILON : FLT_EPSILON) * (double)(d_in + 1);
    for (size_t i = 0; i < rows; i++)
        for (size_t o = 0; o < d_out; o++) {
            size_t at = i * (d_out + 3) + o;
            double got = dtype == ATTN_F64 ? ((double *)y)[at] : (double)((float *)y)[at];
            cr_assert(fabsl(got - expected[i * d_out + o]) <= ulp * size[i * d_out + o],
                      "%zux%zux%zu out_in %d bias %d: y[%zu][%zu] = %.17g, not %.17Lg", rows, d_in, d_out, out_in, bias,
                      i, o, got, expected[i * d_out + o]);
        }
    free(x), free(w), free(b), free(expected), free(size), free(xt), free(wt), free(bt), free(y);
}

Test(project, agrees_with_the_oracle) {
    static const size_t sizes[][3] = {{1, 1, 1},    {6, 12, 12},  {5, 8, 8},       {1, 300, 7},     {7, 1, 5},
                                      {33, 17, 65}, {64, 64, 64}, {300, 128, 130}, {1, 2048, 1024}, {700, 96, 256}};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int form = 0; form < 8; form++)
            check_size(form & 1 ? ATTN_F32 : ATTN_F64, sizes[s][0], sizes[s][1], sizes[s][2], form & 2, form & 4);
}

/* One row out of every example of a batch: x [batch, n, d] read at its last rows. */
Test(project, reads_rows_a_stride_apart) {
    enum { BATCH = 3, N = 4, D = 5, OUT = 2 };
    uint64_t seed = 1;
    double *x = uniform(&seed, BATCH * N * D), *w = uniform(&seed, D * OUT), all[BATCH * N * OUT], last[BATCH * OUT];
    struct attn_projection p = {ATTN_F64, BATCH * N, D, OUT, x, D, w, false, NULL, all, OUT};
    cr_assert(attn_project(&p, NULL));
    p.rows = BATCH, p.x = x + (N - 1) * D, p.x_row = N * D, p.y = last;
    cr_assert(attn_project(&p, NULL));
    for (size_t b = 0; b < BATCH; b++)
        for (size_t o = 0; o < OUT; o++)
            cr_assert_eq(last[b * OUT + o], all[(b * N + N - 1) * OUT + o]);
    free(x), free(w);
}

static bool stop_at_once(void *ctx) {
    return ++*(int *)ctx > 0;
}

Test(project, stops) {
    double x[2] = {1, 2}, w[1] = {3}, y[2] = {-1, -1};
    int asked = 0;
    struct attn_exec exec = {1, NULL, stop_at_once, &asked};
    struct attn_projection p = {ATTN_F64, 2, 1, 1, x, 1, w, false, NULL, y, 1};
    cr_assert_not(attn_project(&p, &exec));
    cr_assert(asked > 0 && y[0] == -1);
}
