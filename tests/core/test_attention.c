/* Goal: what must hold of attention whatever its numbers are: permuting keys changes nothing, masked equals removed,
 * chunked decoding equals one shot, a batch of one equals its members, heads are independent, a constant added to a
 * row of scores changes nothing; and the edges that a random test does not hit: overflow, empty rows, stopping.
 * Method: pairs of calls that must agree, each with and without weights.
 */
#include "core/attention.h"
#include "tests/ref/attention_ref.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Two runs of one computation in different order: scores below SIZE, d = 8, up to some hundred additions. */
static const double SAME = 1e-13;

enum { D = 8, MOST_KEYS = 600 };

/* struct world - a call in double with its arrays. */
struct world {
    struct attn_call call;
    double *q, *k, *v, *output, *weights, *lse;
};

static double *numbers(size_t count, uint64_t seed) {
    double *x = malloc((count + 1) * sizeof *x);
    cr_assert(x);
    for (size_t i = 0; i < count; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        x[i] = (double)(seed >> 11) * 0x1p-52 - 1;
    }
    return x;
}

static struct attn_view rows_of(double *x, size_t heads, size_t rows) {
    return (struct attn_view){x, heads * rows * D, rows * D, D};
}

static struct world world(size_t batch, size_t heads, size_t kv_heads, size_t n_q, size_t n_k) {
    struct world w = {0};
    w.call.dims = (struct attn_dims){batch, heads, kv_heads, n_q, n_k, D, D};
    w.call.rule = (struct attn_rule){.scale = 1, .left = ATTN_OPEN, .right = ATTN_OPEN};
    w.q = numbers(batch * heads * n_q * D, 1);
    w.k = numbers(batch * kv_heads * n_k * D, 2);
    w.v = numbers(batch * kv_heads * n_k * D, 3);
    w.output = numbers(batch * heads * n_q * D, 4);
    w.weights = numbers(batch * heads * n_q * n_k, 5);
    w.lse = numbers(batch * heads * n_q, 6);
    w.call.q = rows_of(w.q, heads, n_q);
    w.call.k = rows_of(w.k, kv_heads, n_k);
    w.call.v = rows_of(w.v, kv_heads, n_k);
    w.call.output = rows_of(w.output, heads, n_q);
    w.call.lse = w.lse;
    return w;
}

static void destroy(struct world *w) {
    free(w->q);
    free(w->k);
    free(w->v);
    free(w->output);
    free(w->weights);
    free(w->lse);
}

static bool attend_with(const struct world *w, bool weights, const struct attn_exec *exec) {
    struct attn_call call = w->call;
    call.weights = weights ? w->weights : NULL;
    size_t bytes = attn_attention_work(&call, attn_exec_slots(exec));
    void *work = aligned_alloc(64, bytes + 64);
    cr_assert(work);
    memset(work, 0xff, bytes);
    bool done = attn_attention(&call, exec, work);
    free(work);
    return done;
}

static void attend(const struct world *w, bool weights) {
    cr_assert(attn_rule_check(&w->call.rule, &w->call.dims).code == ATTN_OK);
    cr_assert(attend_with(w, weights, NULL));
}

static double *row(double *x, size_t i) {
    return x + i * D;
}

static bool same(const double *a, const double *b, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!(fabs(a[i] - b[i]) <= SAME))
            return false;
    return true;
}

Test(attention_kernel, permuting_keys_changes_nothing) {
    static const size_t lengths[] = {7, 64, 600};
    for (size_t l = 0; l < 3; l++)
        for (int weights = 0; weights < 2; weights++) {
            size_t n = lengths[l];
            struct world a = world(1, 1, 1, 9, n), b = world(1, 1, 1, 9, n);
            uint8_t mask_a[MOST_KEYS], mask_b[MOST_KEYS];
            double bias_a[MOST_KEYS], bias_b[MOST_KEYS];
            for (size_t j = 0; j < n; j++) {
                size_t to = (j * 11 + 3) % n; /* 11 divides none of the lengths */
                mask_a[j] = mask_b[to] = j % 5 != 0;
                bias_a[j] = bias_b[to] = (double)j / (double)n;
                memcpy(row(b.k, to), row(a.k, j), D * sizeof(double));
                memcpy(row(b.v, to), row(a.v, j), D * sizeof(double));
            }
            a.call.rule.mask = (struct attn_grid){mask_a, 0, 0, 0, 1};
            b.call.rule.mask = (struct attn_grid){mask_b, 0, 0, 0, 1};
            a.call.rule.bias = (struct attn_grid){bias_a, 0, 0, 0, 1};
            b.call.rule.bias = (struct attn_grid){bias_b, 0, 0, 0, 1};
            attend(&a, weights);
            attend(&b, weights);
            cr_assert(same(a.output, b.output, 9 * D) && same(a.lse, b.lse, 9));
            for (size_t i = 0; weights && i < 9; i++)
                for (size_t j = 0; j < n; j++)
                    cr_assert(same(a.weights + i * n + j, b.weights + i * n + (j * 11 + 3) % n, 1));
            destroy(&a);
            destroy(&b);
        }
}

/* Whatever stands in the keys that are masked. */
Test(attention_kernel, masked_equals_removed) {
    static const double junk[] = {0, 1e308, (double)NAN, (double)INFINITY, -(double)INFINITY};
    for (int kind = 0; kind < 5; kind++)
        for (int weights = 0; weights < 2; weights++) {
            size_t n = 590, kept = 0;
            struct world full = world(1, 2, 1, 70, n), less = world(1, 2, 1, 70, n);
            uint8_t padding[MOST_KEYS];
            for (size_t j = 0; j < n; j++) {
                padding[j] = j % 3 == 1;
                if (padding[j]) {
                    row(full.k, j)[kind] = row(full.v, j)[2] = junk[kind];
                } else {
                    memcpy(row(less.k, kept), row(full.k, j), D * sizeof(double));
                    memcpy(row(less.v, kept++), row(full.v, j), D * sizeof(double));
                }
            }
            full.call.rule.padding = padding;
            less.call.dims.n_k = kept;
            attend(&full, weights);
            attend(&less, weights);
            cr_assert(same(full.output, less.output, 2 * 70 * D), "junk %g", junk[kind]);
            cr_assert(same(full.lse, less.lse, 2 * 70));
            for (size_t r = 0; weights && r < 140; r++)
                for (size_t j = 0; j < n; j++)
                    cr_assert(!padding[j] || full.weights[r * n + j] == 0);
            destroy(&full);
            destroy(&less);
        }
}

Test(attention_kernel, chunks_behind_a_past_equal_one_shot) {
    static const size_t chunks[] = {1, 3, 64, 100};
    size_t n = 130;
    for (size_t c = 0; c < 4; c++)
        for (int weights = 0; weights < 2; weights++) {
            struct world whole = world(1, 1, 1, n, n);
            whole.call.rule.causal = true;
            whole.call.rule.left = 90;
            attend(&whole, weights);
            for (size_t past = 0; past < n; past += chunks[c]) {
                size_t rows = n - past < chunks[c] ? n - past : chunks[c];
                struct world part = world(1, 1, 1, rows, past + rows);
                memcpy(part.q, row(whole.q, past), rows * D * sizeof(double));
                memcpy(part.k, whole.k, (past + rows) * D * sizeof(double));
                memcpy(part.v, whole.v, (past + rows) * D * sizeof(double));
                part.call.rule.causal = true;
                part.call.rule.left = 90;
                part.call.rule.past = (int64_t)past;
                attend(&part, weights);
                cr_assert(same(part.output, row(whole.output, past), rows * D));
                cr_assert(same(part.lse, whole.lse + past, rows));
                destroy(&part);
            }
            destroy(&whole);
        }
}

/* Long sequences are cut into higher tiles than short ones. */
Test(attention_kernel, a_long_sequence_equals_its_pieces) {
    enum { N = 2100, PIECE = 700 };
    for (int weights = 0; weights < 2; weights++) {
        struct world whole = world(1, 1, 1, N, N);
        whole.call.rule.causal = true;
        row(whole.v, 1500)[3] = (double)INFINITY;
        attend(&whole, weights);
        for (size_t past = 0; past < N; past += PIECE) {
            struct world part = world(1, 1, 1, PIECE, past + PIECE);
            memcpy(part.q, row(whole.q, past), (size_t)PIECE * D * sizeof(double));
            memcpy(part.k, whole.k, (past + PIECE) * D * sizeof(double));
            memcpy(part.v, whole.v, (past + PIECE) * D * sizeof(double));
            part.call.rule.causal = true;
            part.call.rule.past = (int64_t)past;
            attend(&part, weights);
            for (size_t i = 0; i < PIECE; i++) {
                cr_assert(same(row(part.output, i), row(whole.output, past + i), 3));
                cr_assert(isinf(row(whole.output, past + i)[3]) == (past + i >= 1500));
                cr_assert(!weights ||
                          same(part.weights + i * (past + PIECE), whole.weights + (past + i) * N, past + i));
            }
            cr_assert(same(part.lse, whole.lse + past, PIECE));
            destroy(&part);
        }
        destroy(&whole);
    }
}

Test(attention_kernel, examples_and_heads_are_independent) {
    for (int weights = 0; weights < 2; weights++) {
        size_t n = 20, heads = 6, kv_heads = 3;
        struct world all = world(3, heads, kv_heads, n, n);
        all.call.rule.causal = true;
        attend(&all, weights);
        for (size_t b = 0; b < 3; b++)
            for (size_t h = 0; h < heads; h++) {
                struct world one = world(1, 1, 1, n, n);
                size_t g = h / 2; /* 0 0 1 1 2 2 */
                memcpy(one.q, all.q + (b * heads + h) * n * D, n * D * sizeof(double));
                memcpy(one.k, all.k + (b * kv_heads + g) * n * D, n * D * sizeof(double));
                memcpy(one.v, all.v + (b * kv_heads + g) * n * D, n * D * sizeof(double));
                one.call.rule.causal = true;
                attend(&one, weights);
                cr_assert(memcmp(one.output, all.output + (b * heads + h) * n * D, n * D * sizeof(double)) == 0);
                destroy(&one);
            }
        destroy(&all);
    }
}

Test(attention_kernel, a_constant_added_to_a_row_changes_nothing) {
    for (int weights = 0; weights < 2; weights++) {
        struct world plain = world(1, 1, 1, 40, 550), raised = world(1, 1, 1, 40, 550);
        double bias[40];
        for (int i = 0; i < 40; i++)
            bias[i] = (double)(i - 20) / 2;
        raised.call.rule.bias = (struct attn_grid){bias, 0, 0, 1, 0};
        attend(&plain, weights);
        attend(&raised, weights);
        cr_assert(same(plain.output, raised.output, 40 * D));
        for (int i = 0; i < 40; i++)
            cr_assert(fabs(plain.lse[i] + bias[i] - raised.lse[i]) <= SAME);
        cr_assert(!weights || same(plain.weights, raised.weights, (size_t)40 * 550));
        destroy(&plain);
        destroy(&raised);
    }
}

Test(attention_kernel, with_and_without_weights_are_the_same_numbers) {
    struct world w = world(2, 2, 1, 150, 600);
    double *first = malloc((size_t)2 * 2 * 150 * D * sizeof *first);
    cr_assert(first);
    w.call.rule.causal = true;
    attend(&w, false);
    memcpy(first, w.output, (size_t)2 * 2 * 150 * D * sizeof *first);
    attend(&w, true);
    cr_assert(same(first, w.output, (size_t)2 * 2 * 150 * D));
    free(first);
    destroy(&w);
}

Test(attention_kernel, equal_scores_give_exact_shares) {
    for (size_t n = 1; n <= 30; n++) {
        struct world w = world(1, 1, 1, 1, n);
        w.call.rule.scale = 0;
        attend(&w, true);
        for (size_t j = 0; j < n; j++)
            cr_assert(w.weights[j] == 1 / (double)n);
        cr_assert(fabs(w.lse[0] - log((double)n)) <= DBL_EPSILON * 4);
        destroy(&w);
    }
}

/* Values near the largest number average to one near it: no sum on the way may overflow where the answer does not. */
Test(attention_kernel, an_average_of_huge_values_is_no_overflow) {
    for (int weights = 0; weights < 2; weights++) {
        struct world w = world(1, 1, 1, 5, 600);
        for (size_t i = 0; i < (size_t)600 * D; i++)
            w.v[i] = 1.7e308;
        attend(&w, weights);
        for (size_t i = 0; i < 5 * D; i++)
            cr_assert(fabs(w.output[i] / 1.7e308 - 1) <= SAME, "%g", w.output[i]);
        destroy(&w);
    }
}

/* A score that overflows in sight is shown as it is: the row is not a number, its neighbours are. */
Test(attention_kernel, an_overflow_in_sight_is_not_hidden) {
    for (int weights = 0; weights < 2; weights++) {
        struct world w = world(1, 1, 1, 3, 6);
        w.call.rule.causal = true;
        row(w.q, 1)[0] = row(w.k, 1)[0] = 1e200;
        row(w.q, 0)[0] = 0;
        row(w.q, 2)[0] = -1e-200;
        attend(&w, weights);
        cr_assert(isfinite(row(w.output, 0)[0]) && isnan(row(w.output, 1)[0]) && isfinite(row(w.output, 2)[0]));
        cr_assert(isnan(w.lse[1]));
        cr_assert(!weights || (isnan(w.weights[6]) && w.weights[6 + 2] == 0 && w.weights[2] == 0));
        destroy(&w);
    }
}

Test(attention_kernel, rows_without_a_key) {
    for (int weights = 0; weights < 2; weights++)
        for (size_t n_k = 0; n_k < 4; n_k += 3) {
            static const int64_t none = 0;
            static const double sink = 1.25;
            struct world w = world(1, 1, 1, 4, n_k);
            w.call.rule.lengths = &none;
            attend(&w, weights);
            for (size_t i = 0; i < 4 * D; i++)
                cr_assert(w.output[i] == 0);
            for (size_t i = 0; i < 4; i++)
                cr_assert(isinf(w.lse[i]) && w.lse[i] < 0);
            for (size_t i = 0; weights && i < 4 * n_k; i++)
                cr_assert(w.weights[i] == 0);
            w.call.rule.sinks = &sink;
            attend(&w, weights);
            cr_assert(w.output[0] == 0 && w.lse[0] == sink);
            w.call.rule.sinks = NULL;
            w.call.rule.fill = true;
            w.call.rule.fill_value = -1e9;
            attend(&w, weights);
            for (size_t i = 0; weights && i < 4 * n_k; i++)
                cr_assert(w.weights[i] == 1 / (double)n_k);
            destroy(&w);
        }
}

struct patience {
    int left;
};

static bool runs_out(void *ctx) {
    struct patience *p = ctx;
    return p->left-- <= 0;
}

Test(attention_kernel, stops_when_asked_and_says_so) {
    struct world w = world(1, 1, 1, 600, 600);
    struct patience patience = {0};
    struct attn_exec exec = {1, NULL, runs_out, &patience};
    int asked = 0;
    for (int after = 0; after < 1000; after++) {
        patience.left = after;
        if (attend_with(&w, after % 2, &exec)) {
            asked = after;
            break;
        }
    }
    cr_assert(asked >= 10, "asked %d times", asked); /* ten tiles of 64 rows, more than one block each */
    destroy(&w);
}

/* The work memory does not grow with the product of the lengths. */
Test(attention_kernel, without_weights_memory_is_linear) {
    struct attn_call call = {.dims = {1, 1, 1, 16384, 16384, 64, 64}};
    cr_assert(attn_attention_work(&call, 1) < (size_t)64 << 20);
    size_t one = attn_attention_work(&call, 1);
    call.dims.n_q = call.dims.n_k = 32768;
    cr_assert(attn_attention_work(&call, 1) <= 2 * one);
}
