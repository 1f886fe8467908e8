/* Goal: the stored and the blocked way through attention agree with the definition under every combination of options.
 * Method: each case is a seed and a set of options, both drawn at random; all its numbers follow from the seed, each
 * option's from a stream of its own, so that an option can be switched off without changing the rest. Every case is
 * run three times (everything wanted; weights only; output only) on work memory and outputs that hold garbage, by an
 * executor that shuffles tasks and slots, and compared with tests/ref. A failing case is shrunk by switching options
 * off one after the other, and printed. DIKKAT_TEST_SEED repeats a run, DIKKAT_TEST_CASES sets its length.
 */
#include "tests/ref/attention_ref.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CASES = 6000, LONG_ONE_IN = 64 };

enum option {
    BATCH,
    HEADS,
    GROUPED,
    WIDE_V,
    CROSS,
    LONG,
    SINGLE,
    STRIDED,
    SLOTS,
    SCALE,
    SOFTCAP,
    BIAS,
    BIAS_REPEATS,
    BIAS_FORBIDS,
    ALIBI,
    MASK,
    MASK_REPEATS,
    PADDING,
    LENGTHS,
    CAUSAL,
    BOTTOM_RIGHT,
    PAST,
    LEFT,
    RIGHT,
    SINKS,
    FILL,
    JUNK_BEHIND_MASK,
    JUNK_IN_SIGHT,
    OPTIONS
};

static const char *const names[OPTIONS] = {
    "batch",        "heads",   "grouped",          "wide_v",       "cross",        "long",         "float32", "strided",
    "slots",        "scale",   "softcap",          "bias",         "bias_repeats", "bias_forbids", "alibi",   "mask",
    "mask_repeats", "padding", "lengths",          "causal",       "bottom_right", "past",         "left",    "right",
    "sinks",        "fill",    "junk_behind_mask", "junk_in_sight"};

/* --- random numbers ----------------------------------------------------------------------------------------------- */

struct stream {
    uint64_t state;
};

static uint64_t draw(struct stream *s) { /* SplitMix64 */
    uint64_t z = (s->state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static size_t below(struct stream *s, size_t n) {
    return (size_t)(draw(s) % n);
}

static double real_within(struct stream *s, double low, double high) {
    return low + (high - low) * (double)(draw(s) >> 11) * 0x1p-53;
}

static struct stream stream_of(uint64_t seed, unsigned purpose) {
    struct stream s = {seed ^ (0x1234567u * (uint64_t)(purpose + 1))};
    draw(&s);
    return s;
}

static uint64_t first_seed(void) {
    const char *given = getenv("DIKKAT_TEST_SEED");
    if (given)
        return strtoull(given, NULL, 0);
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000007u ^ (uint64_t)now.tv_nsec;
}

/* --- a case ------------------------------------------------------------------------------------------------------- */

enum { MOST_ARRAYS = 24, GUARD = 64 };

struct setting {
    uint64_t seed;
    bool on[OPTIONS];
    struct attn_call call;
    void *owned[MOST_ARRAYS];
    size_t owned_count;
};

static void *own(struct setting *c, size_t bytes) {
    void *p = aligned_alloc(64, (bytes + 127) / 64 * 64);
    cr_assert(p && c->owned_count < MOST_ARRAYS);
    memset(p, 0xff, (bytes + 127) / 64 * 64);
    return c->owned[c->owned_count++] = p;
}

static void put(const struct setting *c, void *data, size_t index, double value) {
    if (c->call.dtype == ATTN_F32)
        ((float *)data)[index] = (float)value;
    else
        ((double *)data)[index] = value;
}

static struct attn_view view(struct setting *c, size_t heads, size_t rows, size_t cols, unsigned purpose) {
    struct stream s = stream_of(c->seed, purpose);
    struct attn_view v = {NULL, heads * rows * cols, rows * cols, cols};
    if (c->on[STRIDED]) { /* heads side by side, and a gap behind each row and example */
        v.row = heads * cols + below(&s, 3);
        v.head = cols;
        v.batch = rows * v.row + below(&s, 3);
    }
    size_t count = c->call.dims.batch * v.batch;
    v.data = own(c, (count + 1) * attn_dtype_size(c->call.dtype));
    for (size_t i = 0; purpose != 0 && i < count; i++)
        put(c, v.data, i, real_within(&s, -2, 2));
    return v;
}

static struct attn_grid grid(struct setting *c, bool repeats, struct stream *s, size_t *count) {
    const struct attn_dims *d = &c->call.dims;
    size_t kept[4];
    for (int a = 0; a < 4; a++)
        kept[a] = !repeats || below(s, 2);
    size_t cols = kept[3] ? d->n_k : 1, rows = kept[2] ? d->n_q : 1, heads = kept[1] ? d->heads : 1;
    *count = (kept[0] ? d->batch : 1) * heads * rows * cols;
    return (struct attn_grid){NULL, kept[0] ? heads * rows * cols : 0, kept[1] ? rows * cols : 0, kept[2] ? cols : 0,
                              kept[3] ? 1 : 0};
}

static void set_dims(struct setting *c) {
    struct stream s = stream_of(c->seed, 100);
    struct attn_dims *d = &c->call.dims;
    size_t most = c->on[LONG] ? 700 : 12;
    c->call.dtype = c->on[SINGLE] ? ATTN_F32 : ATTN_F64;
    d->batch = c->on[BATCH] ? 1 + below(&s, 3) : 1;
    size_t groups = 1 + below(&s, 3), shared = 1 + below(&s, 3);
    d->kv_heads = c->on[HEADS] ? groups : 1;
    d->heads = c->on[GROUPED] ? d->kv_heads * shared : d->kv_heads;
    d->n_q = 1 + below(&s, c->on[LONG] ? 150 : most);
    size_t other = below(&s, most + 1);
    if (c->on[LONG] && other > most / 4) /* mostly around the border between two blocks of keys */
        other = 480 + below(&s, most - 480);
    d->n_k = c->on[LONG] || c->on[CROSS] ? other : d->n_q;
    d->d = 1 + below(&s, 9);
    size_t wide = 1 + below(&s, 9);
    d->d_v = c->on[WIDE_V] ? wide : d->d;
}

static void set_scoring(struct setting *c) {
    struct attn_rule *r = &c->call.rule;
    const struct attn_dims *d = &c->call.dims;
    struct stream s = stream_of(c->seed, 101);
    static const double scales[] = {0, -1, 0.1, 1.7, -0.3};
    double scale = scales[below(&s, 5)], cap = real_within(&s, 0.1, 5);
    r->scale = c->on[SCALE] ? scale : 1 / sqrt((double)d->d);
    r->softcap = c->on[SOFTCAP] ? cap : 0;
    static const double fills[] = {-1e9, -1e9, -5, 0, 3, -1e300, -INFINITY};
    r->fill = c->on[FILL];
    r->fill_value = fills[below(&s, 7)];
    if (c->on[ALIBI] || c->on[SINKS]) {
        double *slopes = own(c, d->heads * sizeof *slopes), *sinks = own(c, d->heads * sizeof *sinks);
        for (size_t h = 0; h < d->heads; h++) {
            slopes[h] = real_within(&s, -0.1, 0.6);
            sinks[h] = below(&s, 5) ? real_within(&s, -3, 3) : -(double)INFINITY;
        }
        r->alibi = c->on[ALIBI] ? slopes : NULL;
        r->sinks = c->on[SINKS] ? sinks : NULL;
    }
    if (c->on[BIAS]) {
        struct stream b = stream_of(c->seed, 102);
        size_t count;
        r->bias = grid(c, c->on[BIAS_REPEATS], &b, &count);
        void *bias = own(c, (count + 1) * attn_dtype_size(c->call.dtype));
        for (size_t i = 0; i < count; i++) {
            double value = real_within(&b, -2, 2);
            bool forbids = below(&b, 4) == 0;
            put(c, bias, i, c->on[BIAS_FORBIDS] && forbids ? -(double)INFINITY : value);
        }
        r->bias.data = bias;
    }
}

static void set_sight(struct setting *c) {
    struct attn_rule *r = &c->call.rule;
    const struct attn_dims *d = &c->call.dims;
    struct stream s = stream_of(c->seed, 103);
    if (c->on[MASK]) {
        struct stream m = stream_of(c->seed, 104);
        size_t count, one_in = 1 + below(&m, 5);
        r->mask = grid(c, c->on[MASK_REPEATS], &m, &count);
        uint8_t *mask = own(c, count + 1);
        for (size_t i = 0; i < count; i++)
            mask[i] = below(&m, one_in + 1) ? (uint8_t)(1 + below(&m, 255)) : 0;
        r->mask.data = mask;
    }
    if (c->on[PADDING]) {
        struct stream m = stream_of(c->seed, 105);
        uint8_t *padding = own(c, d->batch * d->n_k + 1);
        size_t one_in = below(&m, 6);
        for (size_t i = 0; i < d->batch * d->n_k; i++)
            padding[i] = below(&m, one_in + 1) == 0;
        r->padding = padding;
    }
    r->causal = c->on[CAUSAL];
    r->bottom_right = c->on[BOTTOM_RIGHT];
    int64_t past = (int64_t)below(&s, d->n_k + 1), left = (int64_t)below(&s, d->n_k + 2),
            right = (int64_t)below(&s, d->n_k + 2);
    if (below(&s, 20) == 0)
        left = right = INT64_MAX;
    r->past = c->on[PAST] && !c->on[BOTTOM_RIGHT] && !c->on[LENGTHS] ? past : 0;
    r->left = c->on[LEFT] ? left : ATTN_OPEN;
    r->right = c->on[RIGHT] ? right : ATTN_OPEN;
    if (c->on[LENGTHS]) {
        int64_t *lengths = own(c, d->batch * sizeof *lengths);
        for (size_t b = 0; b < d->batch; b++)
            lengths[b] = (int64_t)below(&s, d->n_k + 1);
        r->lengths = lengths;
    }
}

static bool anyone_sees(const struct setting *c, size_t b, size_t g, size_t j) {
    const struct attn_dims *d = &c->call.dims;
    for (size_t h = g * (d->heads / d->kv_heads); h < (g + 1) * (d->heads / d->kv_heads); h++)
        for (size_t i = 0; i < d->n_q; i++)
            if (ref_allowed(&c->call.rule, d, b, h, i, j))
                return true;
    return false;
}

/* Values that must not be noticed in keys nobody sees, and must be in others. With a fill that gets weight they are
 * noticed everywhere, as in the definition. Finite ones only where they cannot overflow in sight. */
static void plant_junk(struct setting *c) {
    const struct attn_dims *d = &c->call.dims;
    struct stream s = stream_of(c->seed, 106);
    static const double junk[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
    double huge = c->call.dtype == ATTN_F32 ? 3e38 : 1.7e308;
    for (size_t b = 0; b < d->batch; b++)
        for (size_t g = 0; g < d->kv_heads; g++)
            for (size_t j = 0; j < d->n_k; j++) {
                bool seen = anyone_sees(c, b, g, j) || c->on[FILL];
                size_t kind = below(&s, 4), where = below(&s, 3), col = below(&s, 100);
                double value = kind < 3 ? junk[kind] : huge;
                bool wanted = seen ? c->on[JUNK_IN_SIGHT] && kind < 3 && col < 25 : c->on[JUNK_BEHIND_MASK];
                if (wanted && where != 1)
                    put(c, c->call.k.data, b * c->call.k.batch + g * c->call.k.head + j * c->call.k.row + col % d->d,
                        value);
                if (wanted && where != 0)
                    put(c, c->call.v.data, b * c->call.v.batch + g * c->call.v.head + j * c->call.v.row + col % d->d_v,
                        value);
            }
}

static void set_up(struct setting *c) {
    c->call = (struct attn_call){0};
    c->owned_count = 0;
    set_dims(c);
    struct attn_call *call = &c->call;
    call->q = view(c, call->dims.heads, call->dims.n_q, call->dims.d, 1);
    call->k = view(c, call->dims.kv_heads, call->dims.n_k, call->dims.d, 2);
    call->v = view(c, call->dims.kv_heads, call->dims.n_k, call->dims.d_v, 3);
    call->output = view(c, call->dims.heads, call->dims.n_q, call->dims.d_v, 0);
    set_scoring(c);
    set_sight(c);
    if (c->on[JUNK_BEHIND_MASK] || c->on[JUNK_IN_SIGHT])
        plant_junk(c);
}

static void tear_down(struct setting *c) {
    while (c->owned_count)
        free(c->owned[--c->owned_count]);
}

/* --- an executor that shuffles ------------------------------------------------------------------------------------ */

static void run_shuffled(void *ctx, size_t n, attn_task *task, void *arg) {
    struct stream *s = ctx;
    size_t *order = malloc((n + 1) * sizeof *order);
    cr_assert(order);
    for (size_t i = 0; i < n; i++) {
        size_t at = below(s, i + 1);
        order[i] = order[at];
        order[at] = i;
    }
    for (size_t i = 0; i < n; i++)
        task(arg, order[i], below(s, 4));
    free(order);
}

/* --- comparing ---------------------------------------------------------------------------------------------------- */

static long double got(const struct setting *c, const void *data, size_t index) {
    return c->call.dtype == ATTN_F32 ? (long double)((const float *)data)[index]
                                     : (long double)((const double *)data)[index];
}

struct finding {
    const char *what;
    size_t row, col;
    long double got, want, slack;
};

static bool differs(struct finding *f, const char *what, size_t row, size_t col, long double seen, long double want,
                    long double slack) {
    if (ref_close(seen, want, slack))
        return false;
    *f = (struct finding){what, row, col, seen, want, slack};
    return true;
}

/* A score made of planted junk is compared only where it is allowed: elsewhere it is nobody's business. */
static bool is_planted(const struct setting *c, size_t b, size_t h, size_t j) {
    const struct attn_call *call = &c->call;
    size_t g = h / (call->dims.heads / call->dims.kv_heads);
    for (size_t col = 0; col < call->dims.d; col++)
        if (!(fabsl(got(c, call->k.data, b * call->k.batch + g * call->k.head + j * call->k.row + col)) < 1e30L))
            return true;
    return false;
}

static bool rows_differ(const struct setting *c, const struct ref_attention *ref, struct finding *f) {
    const struct attn_call *call = &c->call;
    const struct attn_dims *d = &call->dims;
    for (size_t row = 0; row < ref->rows; row++) {
        size_t b = row / d->n_q / d->heads, h = row / d->n_q % d->heads, i = row % d->n_q;
        long double slack = ref->slack[row];
        for (size_t col = 0; col < d->d_v; col++) {
            size_t at = b * call->output.batch + h * call->output.head + i * call->output.row + col;
            if (differs(f, "output", row, col, got(c, call->output.data, at), ref->output[row * d->d_v + col],
                        slack * ref->reach[row]))
                return true;
        }
        for (size_t col = 0; col < d->n_k; col++) {
            size_t at = row * d->n_k + col;
            long double size = slack * (ref->size[row] + 1), masked = ref->masked[at];
            if (call->weights && differs(f, "weights", row, col, got(c, call->weights, at), ref->weights[at], slack))
                return true;
            if (!ref_allowed(&call->rule, d, b, h, i, col) && is_planted(c, b, h, col))
                continue;
            if (call->scores && differs(f, "scores", row, col, got(c, call->scores, at), ref->scores[at], size))
                return true;
            if (call->capped && differs(f, "capped", row, col, got(c, call->capped, at), ref->capped[at], size))
                return true;
            if (call->masked &&
                differs(f, "masked", row, col, got(c, call->masked, at), masked, size + fabsl(masked) * 1e-7L))
                return true;
        }
        if (call->lse && differs(f, "lse", row, 0, got(c, call->lse, row), ref->lse[row],
                                 slack * (ref->size[row] + fabsl(ref->lse[row]) + 1)))
            return true;
    }
    return false;
}

/* Runs the call with what is wanted set to garbage before; a byte past the work memory must survive. */
static bool run_differs(struct setting *c, const struct ref_attention *ref, struct finding *f) {
    struct stream s = stream_of(c->seed, 107);
    struct attn_exec exec = {4, run_shuffled, NULL, &s};
    const struct attn_exec *lent = c->on[SLOTS] ? &exec : NULL;
    size_t bytes = attn_attention_work(&c->call, attn_exec_slots(lent));
    unsigned char *work = aligned_alloc(64, (bytes + GUARD + 63) / 64 * 64);
    cr_assert(work);
    memset(work, 0xff, bytes);
    memset(work + bytes, 0x5a, GUARD);
    bool done = attn_attention(&c->call, lent, work);
    bool intact = true;
    for (size_t i = 0; i < GUARD; i++)
        intact = intact && work[bytes + i] == 0x5a;
    free(work);
    cr_assert(done);
    if (!intact) {
        *f = (struct finding){.what = "memory past the work"};
        return true;
    }
    return rows_differ(c, ref, f);
}

static bool case_fails(struct setting *c, struct finding *f) {
    set_up(c);
    struct attn_err err = attn_rule_check(&c->call.rule, &c->call.dims);
    cr_assert(err.code == ATTN_OK, "%s %s", err.arg, err.why);
    struct ref_attention ref = ref_attention(&c->call);
    size_t bytes = (ref.rows * ref.n_k + 1) * attn_dtype_size(c->call.dtype);
    bool fails = run_differs(c, &ref, f);
    if (!fails) {
        c->call.weights = own(c, bytes);
        fails = run_differs(c, &ref, f);
    }
    if (!fails) {
        c->call.scores = own(c, bytes);
        c->call.capped = own(c, bytes);
        c->call.masked = own(c, bytes);
        c->call.lse = own(c, (ref.rows + 1) * attn_dtype_size(c->call.dtype));
        fails = run_differs(c, &ref, f);
    }
    if (!fails) {
        c->call.weights = NULL;
        memset(c->call.masked, 0xff, bytes);
        fails = run_differs(c, &ref, f);
    }
    ref_attention_free(&ref);
    tear_down(c);
    return fails;
}

static void shrink(struct setting *c, struct finding *f) {
    for (bool smaller = true; smaller;) {
        smaller = false;
        for (int o = 0; o < OPTIONS; o++) {
            if (!c->on[o])
                continue;
            c->on[o] = false;
            struct finding found;
            if (case_fails(c, &found)) {
                *f = found;
                smaller = true;
            } else {
                c->on[o] = true;
            }
        }
    }
}

static void report(const struct setting *c, const struct finding *f) {
    const struct attn_dims *d = &c->call.dims;
    fprintf(stderr, "attention: case seed %#llx, options:", (unsigned long long)c->seed);
    for (int o = 0; o < OPTIONS; o++)
        if (c->on[o])
            fprintf(stderr, " %s", names[o]);
    fprintf(
        stderr,
        "\n  batch %zu heads %zu/%zu n_q %zu n_k %zu d %zu d_v %zu scale %g softcap %g past %lld left %lld right %lld "
        "fill %g\n  %s at row %zu column %zu: got %.17Lg, want %.17Lg within %.3Lg\n",
        d->batch, d->heads, d->kv_heads, d->n_q, d->n_k, d->d, d->d_v, c->call.rule.scale, c->call.rule.softcap,
        (long long)c->call.rule.past, (long long)c->call.rule.left, (long long)c->call.rule.right,
        c->call.rule.fill_value, f->what, f->row, f->col, f->got, f->want, f->slack);
}

Test(attention_property, every_combination_of_options_against_the_oracle, .timeout = 600) {
    uint64_t seed = first_seed();
    const char *given = getenv("DIKKAT_TEST_CASES");
    int cases = given ? atoi(given) : CASES;
    struct stream s = {seed};
    for (int n = 0; n < cases; n++) {
        struct setting c = {.seed = draw(&s)};
        size_t density = 1 + below(&s, 4);
        for (int o = 0; o < OPTIONS; o++)
            c.on[o] = below(&s, 5) < density;
        c.on[LONG] = n % LONG_ONE_IN == 0;
        for (int o = 0; c.on[LONG] && n % (3 * LONG_ONE_IN) == 0 && o < OPTIONS; o++) /* few, so that rows stay full */
            c.on[o] = o == LONG || below(&s, OPTIONS) < 3;
        struct finding f;
        if (!case_fails(&c, &f))
            continue;
        shrink(&c, &f);
        report(&c, &f);
        cr_assert_fail("case %d of run seed %#llx (DIKKAT_TEST_SEED)", n, (unsigned long long)seed);
    }
    fprintf(stderr, "attention: %d option combinations against the oracle, seed %#llx\n", cases,
            (unsigned long long)seed);
}
