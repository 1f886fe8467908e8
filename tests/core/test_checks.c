/* test_checks - measurements of weights against loops that follow the definitions, on weights that are right and on
 * weights that are spoiled in known places; weights measured where they are stored and where they must be computed
 * again; changes of the last row; and the perturbation that brings them about.
 */
#include "core/checks.h"
#include "core/perturb.h"
#include "tests/ref/ref_linear.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { B = 2, H = 4, G = 2, NQ = 70, NK = 67, D = 3, DV = 2 };

/* A call with all its memory, in either precision. */
struct fixture {
    struct attn_call call;
    void *weights, *lse;
};

static void *uniform(enum attn_dtype dtype, uint64_t *seed, size_t count) {
    void *x = malloc(count * sizeof(double));
    for (size_t i = 0; i < count; i++)
        if (dtype == ATTN_F64)
            ((double *)x)[i] = ref_uniform(seed);
        else
            ((float *)x)[i] = (float)ref_uniform(seed);
    return x;
}

static void *work_of(size_t bytes) {
    return aligned_alloc(64, (bytes + 64) / 64 * 64);
}

static struct fixture attend(enum attn_dtype dtype, const struct attn_rule *rule) {
    uint64_t seed = 5;
    struct fixture f = {.call = {.dtype = dtype, .dims = {B, H, G, NQ, NK, D, DV}, .rule = *rule}};
    f.call.q = (struct attn_view){uniform(dtype, &seed, B * H * NQ * D), H * NQ * D, NQ * D, D};
    f.call.k = (struct attn_view){uniform(dtype, &seed, B * G * NK * D), G * NK * D, NK * D, D};
    f.call.v = (struct attn_view){uniform(dtype, &seed, B * G * NK * DV), G * NK * DV, NK * DV, DV};
    f.call.output = (struct attn_view){malloc(B * H * NQ * DV * sizeof(double)), H * NQ * DV, NQ * DV, DV};
    f.call.weights = f.weights = malloc(B * H * NQ * NK * sizeof(double));
    f.call.lse = f.lse = malloc(B * H * NQ * sizeof(double));
    struct attn_err err = attn_rule_check(rule, &f.call.dims);
    cr_assert_eq(err.code, ATTN_OK, "%s %s", err.arg, err.why);
    void *work = work_of(attn_attention_work(&f.call, 1));
    cr_assert(attn_attention(&f.call, NULL, work));
    free(work);
    return f;
}

static void release(struct fixture *f) {
    free(f->call.q.data), free(f->call.k.data), free(f->call.v.data), free(f->call.output.data);
    free(f->weights), free(f->lse);
}

static double read_at(enum attn_dtype dtype, const void *x, size_t at) {
    return dtype == ATTN_F64 ? ((const double *)x)[at] : (double)((const float *)x)[at];
}

/* The report by its definition. */
static struct attn_weight_report by_hand(const struct fixture *f) {
    const struct attn_call *c = &f->call;
    struct attn_weight_report r = {.finite = true};
    for (size_t b = 0; b < B; b++)
        for (size_t h = 0; h < H; h++)
            for (size_t i = 0; i < NQ; i++) {
                size_t row = (b * H + h) * NQ + i;
                double sum = 0;
                bool any = false;
                for (size_t j = 0; j < NK; j++) {
                    double w = read_at(c->dtype, f->weights, row * NK + j);
                    sum += w;
                    any |= attn_allowed(&c->rule, &c->dims, b, h, i, j);
                    if ((int64_t)j > (int64_t)i + attn_offset(&c->rule, &c->dims, b))
                        r.max_future = fmax(r.max_future, w);
                    if ((c->rule.padding && c->rule.padding[b * NK + j]) ||
                        (c->rule.lengths && (int64_t)j >= c->rule.lengths[b]))
                        r.dropped += w;
                }
                double share = c->rule.sinks ? exp(c->rule.sinks[h] - read_at(c->dtype, f->lse, row)) : 0;
                if (!any && !c->rule.fill)
                    r.empty_rows++;
                else
                    r.max_sum_error = fmax(r.max_sum_error, fabs(sum + share - 1));
            }
    return r;
}

static struct attn_weight_report measure(const struct attn_call *call, const struct attn_exec *exec) {
    struct attn_weight_report report;
    void *work = work_of(attn_check_weights_work(call, attn_exec_slots(exec)));
    cr_assert(attn_check_weights(call, exec, work, &report));
    free(work);
    return report;
}

static void run_backwards(void *ctx, size_t n, attn_task *task, void *arg) {
    (void)ctx;
    while (n--)
        task(arg, n, n % 3);
}

static void assert_report(struct attn_weight_report expected, struct attn_weight_report got, double tolerance,
                          const char *what) {
    cr_assert_float_eq(got.max_sum_error, expected.max_sum_error, tolerance, "%s: sum", what);
    cr_assert_float_eq(got.max_future, expected.max_future, tolerance, "%s: future", what);
    cr_assert_float_eq(got.dropped, expected.dropped, tolerance * NQ * NK, "%s: dropped", what);
    cr_assert_eq(got.empty_rows, expected.empty_rows, "%s: %zu empty rows, not %zu", what, got.empty_rows,
                 expected.empty_rows);
    cr_assert_eq(got.finite, expected.finite, "%s: finite", what);
}

static void check_rule(const struct attn_rule *rule, const char *what) {
    for (int single = 0; single < 2; single++) {
        struct fixture f = attend(single ? ATTN_F32 : ATTN_F64, rule);
        double tolerance = single ? 1e-6 : 1e-14;
        struct attn_weight_report expected = by_hand(&f), stored = measure(&f.call, NULL);
        assert_report(expected, stored, single ? 1e-12 : 1e-15, what);
        struct attn_exec exec = {3, run_backwards, NULL, NULL};
        assert_report(stored, measure(&f.call, &exec), 0, what);
        f.call.weights = f.call.lse = NULL;
        assert_report(expected, measure(&f.call, NULL), tolerance, what);
        assert_report(measure(&f.call, NULL), measure(&f.call, &exec), 0, what);
        release(&f);
    }
}

Test(weight_checks, measure_what_the_definitions_say) {
    static uint8_t padding[B * NK], mask[NQ * NK], heads_mask[H * NQ];
    static double sinks[H] = {1, -1, 3, 0}, slopes[H] = {0.5, 0.25, 0.1, 0.01};
    static int64_t lengths[B] = {NK, 20};
    for (size_t j = 0; j < B * NK; j++)
        padding[j] = j % 5 == 0;
    for (size_t j = 0; j < NQ * NK; j++)
        mask[j] = j / NK != 3 && j % 7 != 0;
    for (size_t j = 0; j < H * NQ; j++)
        heads_mask[j] = j % 11 != 0;
    const struct attn_rule open = {.scale = 0.5, .left = ATTN_OPEN, .right = ATTN_OPEN};
    struct attn_rule r = open;
    check_rule(&r, "open");
    r.causal = true;
    check_rule(&r, "causal");
    r.bottom_right = true;
    check_rule(&r, "bottom right");
    r.lengths = lengths;
    check_rule(&r, "bottom right with lengths, some rows empty");
    r = open, r.padding = padding, r.sinks = sinks, r.past = 5, r.causal = true;
    check_rule(&r, "padding, sinks, past");
    r = open, r.left = 2, r.right = 1, r.alibi = slopes, r.softcap = 1;
    check_rule(&r, "window, slopes, softcap");
    r = open, r.mask = (struct attn_grid){mask, 0, 0, NK, 1};
    check_rule(&r, "mask with an empty row");
    r.mask = (struct attn_grid){heads_mask, 0, NQ, 1, 0};
    check_rule(&r, "mask of whole rows");
    r = open, r.padding = padding, r.fill = true, r.fill_value = 0.1;
    check_rule(&r, "a fill that leaks");
    r = open, r.lengths = (int64_t[]){0, 3}, r.fill = true, r.fill_value = -1e9, r.sinks = sinks;
    check_rule(&r, "a fill under sinks");
}

/* One wrong number must show, and only where it is. */
Test(weight_checks, see_what_is_spoiled) {
    const struct attn_rule rule = {.scale = 0.5, .left = ATTN_OPEN, .right = ATTN_OPEN, .causal = true};
    struct fixture f = attend(ATTN_F64, &rule);
    double *w = f.weights;
    cr_assert_eq(measure(&f.call, NULL).max_future, 0);
    w[5 * NK + 6] = -0.25; /* a negative weight is one too */
    cr_assert_eq(measure(&f.call, NULL).max_future, 0.25);
    cr_assert_float_eq(measure(&f.call, NULL).max_sum_error, 0.25, 1e-15);
    w[5 * NK + 6] = NAN;
    cr_assert(isinf(measure(&f.call, NULL).max_future));
    cr_assert(isinf(measure(&f.call, NULL).max_sum_error));
    cr_assert_not(measure(&f.call, NULL).finite);
    w[5 * NK + 6] = 0;
    memset(w + 9 * NK, 0, NK * sizeof *w); /* a row of zeros that has keys is not an empty row but a wrong one */
    cr_assert_eq(measure(&f.call, NULL).empty_rows, 0);
    cr_assert_eq(measure(&f.call, NULL).max_sum_error, 1);
    release(&f);
}

Test(weight_checks, a_row_of_infinite_bias_is_empty) {
    static double bias[NQ * NK];
    for (size_t j = 0; j < NK; j++)
        bias[2 * NK + j] = -(double)INFINITY;
    const struct attn_rule rule = {.scale = 1, .left = ATTN_OPEN, .right = ATTN_OPEN, .bias = {bias, 0, 0, NK, 1}};
    struct fixture f = attend(ATTN_F64, &rule);
    struct attn_weight_report report = measure(&f.call, NULL);
    cr_assert_eq(report.empty_rows, B * H);
    cr_assert(report.max_sum_error < 1e-14);
    release(&f);
}

/* Fifty thousand weights of 2e-5 each: what is reported is the error of the weights, not of adding them up. In runs of
 * 512, which are added up in turn, that is at most (512 + 50000 / 512) * 2^-53; one by one it is ten times as much. */
Test(weight_checks, a_long_row_is_summed_with_care) {
    enum { LONG = 50000 };
    double *row = malloc(LONG * sizeof *row);
    for (size_t j = 0; j < LONG; j++)
        row[j] = 1.0 / LONG;
    long double sum = 0;
    for (size_t j = 0; j < LONG; j++)
        sum += (long double)row[j];
    for (size_t split = 0; split <= LONG; split += LONG / 2)
        cr_assert_float_eq(attn_measure_row_f64(row, LONG, split).sum, (double)sum, 610 * 0x1p-53);
    free(row);
}

static bool stop_now(void *ctx) {
    (void)ctx;
    return true;
}

Test(weight_checks, stop) {
    const struct attn_rule rule = {.scale = 1, .left = ATTN_OPEN, .right = ATTN_OPEN};
    struct fixture f = attend(ATTN_F64, &rule);
    struct attn_exec exec = {1, NULL, stop_now, NULL};
    struct attn_weight_report report;
    void *work = work_of(attn_check_weights_work(&f.call, 1));
    cr_assert_not(attn_check_weights(&f.call, &exec, work, &report));
    free(work);
    release(&f);
}

Test(weight_checks, past_rows) {
    const struct attn_dims square = {1, 1, 1, 5, 5, 1, 1}, wide = {2, 1, 1, 2, 5, 1, 1}, tall = {1, 1, 1, 5, 2, 1, 1};
    struct attn_rule rule = {0};
    cr_assert_eq(attn_past_rows(&rule, &square, 0), 4);
    cr_assert_eq(attn_past_rows(&rule, &wide, 0), 2); /* rows 0 and 1 both come before key 4 */
    cr_assert_eq(attn_past_rows(&rule, &tall, 0), 1); /* only row 0 comes before key 1 */
    rule.past = 3;
    cr_assert_eq(attn_past_rows(&rule, &wide, 0), 1);
    rule = (struct attn_rule){.bottom_right = true, .lengths = (int64_t[]){5, 1}};
    cr_assert_eq(attn_past_rows(&rule, &wide, 0), 1);
    cr_assert_eq(attn_past_rows(&rule, &wide, 1), 1); /* row 1 stands on the last key that counts */
}

Test(weight_checks, largest_change) {
    double a[] = {1, 2, INFINITY, NAN}, b[] = {1, 2.5, INFINITY, NAN};
    cr_assert_eq(attn_max_change(ATTN_F64, a, b, 4), 0.5);
    b[2] = 3;
    cr_assert(isinf(attn_max_change(ATTN_F64, a, b, 4)));
    b[2] = a[2], b[3] = 1;
    cr_assert(isinf(attn_max_change(ATTN_F64, a, b, 4)));
    float c[] = {0.0f, 1}, d[] = {-0.0f, 1.25f};
    cr_assert_eq(attn_max_change(ATTN_F32, c, d, 2), 0.25);
    cr_assert_eq(attn_max_change(ATTN_F32, c, d, 1), 0, "-0 is 0");
}

Test(weight_checks, all_finite) {
    double x[40] = {0};
    float y[40] = {0};
    x[7] = DBL_MAX, y[39] = FLT_MAX;
    cr_assert(attn_all_finite(ATTN_F64, x, 40));
    cr_assert(attn_all_finite(ATTN_F32, y, 40));
    for (size_t i = 0; i < 40; i++) {
        x[i] = i % 2 ? NAN : -(double)INFINITY;
        y[i] = i % 2 ? INFINITY : NAN;
        cr_assert_not(attn_all_finite(ATTN_F64, x, 40));
        cr_assert_not(attn_all_finite(ATTN_F32, y, 40));
        x[i] = y[i] = 0;
    }
}

/* The last row of each group plus 2, put in by heads, and taken out again by the same exchange. */
Test(weight_checks, perturbation) {
    enum { N = 3, COLS = 40 };
    static double x[B][N][COLS], kept[B][N][COLS], changed[B][COLS];
    uint64_t seed = 9;
    for (size_t i = 0; i < B * N * COLS; i++)
        (&x[0][0][0])[i] = (&kept[0][0][0])[i] = ref_uniform(&seed);
    attn_shift_last_rows(ATTN_F64, B, N, COLS, x, 2, changed);
    struct attn_view heads = {x, N * COLS, COLS / 4, COLS}; /* four heads side by side */
    attn_swap_rows(ATTN_F64, &heads, B, 4, N - 1, COLS / 4, changed);
    for (size_t b = 0; b < B; b++)
        for (size_t i = 0; i < N; i++)
            for (size_t c = 0; c < COLS; c++)
                cr_assert_eq(x[b][i][c], kept[b][i][c] + (i == N - 1 ? 2 : 0));
    attn_swap_rows(ATTN_F64, &heads, B, 4, N - 1, COLS / 4, changed);
    cr_assert_arr_eq(x, kept, sizeof x);
    float y[2][2] = {{1, 2}, {3, 4}}, last[2];
    attn_shift_last_rows(ATTN_F32, 1, 2, 2, y, 2, last);
    cr_assert(last[0] == 5 && last[1] == 6);
}
