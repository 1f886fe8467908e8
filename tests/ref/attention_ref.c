#include "tests/ref/attention_ref.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

static long double *room(size_t count) {
    long double *p = calloc(count + 1, sizeof *p);
    if (!p)
        abort();
    return p;
}

static long double element(enum attn_dtype dtype, const void *data, size_t index) {
    return dtype == ATTN_F32 ? (long double)((const float *)data)[index] : (long double)((const double *)data)[index];
}

static long double in_view(enum attn_dtype dtype, const struct attn_view *v, size_t b, size_t h, size_t row,
                           size_t col) {
    return element(dtype, v->data, b * v->batch + h * v->head + row * v->row + col);
}

static size_t in_grid(const struct attn_grid *g, size_t b, size_t h, size_t i, size_t j) {
    return b * g->batch + h * g->head + i * g->row + j * g->col;
}

static long double position(const struct attn_rule *rule, const struct attn_dims *dims, size_t b, size_t i) {
    long double offset = (long double)rule->past;
    if (rule->bottom_right)
        offset = (rule->lengths ? (long double)rule->lengths[b] : (long double)dims->n_k) - (long double)dims->n_q;
    return (long double)i + offset;
}

bool ref_allowed(const struct attn_rule *rule, const struct attn_dims *dims, size_t b, size_t h, size_t i, size_t j) {
    long double p = position(rule, dims, b, i), key = (long double)j;
    if (rule->mask.data && !((const uint8_t *)rule->mask.data)[in_grid(&rule->mask, b, h, i, j)])
        return false;
    if (rule->padding && rule->padding[b * dims->n_k + j])
        return false;
    if (rule->lengths && key >= (long double)rule->lengths[b])
        return false;
    if (rule->causal && key > p)
        return false;
    if (rule->left != ATTN_OPEN && key < p - (long double)rule->left)
        return false;
    if (rule->right != ATTN_OPEN && key > p + (long double)rule->right)
        return false;
    return true;
}

bool ref_close(long double got, long double want, long double slack) {
    if (isnan(want) || isnan(got))
        return isnan(want) && isnan(got);
    if (isinf(want) || isinf(got))
        return want == got;
    return fabsl(got - want) <= slack;
}

/* Scores above this are planted, not computed with: they do not count as magnitudes. */
static const long double junk = 1e30L;

/* struct row - one row on its way through the definition. */
struct row {
    const struct attn_call *call;
    size_t b, h, i, index;
    bool *seen; /* [n_k] allowed, and not forbidden by a bias of -inf */
};

static long double raw_score(const struct row *r, size_t j, long double *size) {
    const struct attn_call *call = r->call;
    size_t g = r->h / (call->dims.heads / call->dims.kv_heads);
    long double sum = 0, magnitude = 0;
    for (size_t c = 0; c < call->dims.d; c++) {
        long double term =
            in_view(call->dtype, &call->q, r->b, r->h, r->i, c) * in_view(call->dtype, &call->k, r->b, g, j, c);
        sum += term;
        magnitude += fabsl(term);
    }
    *size = fabsl((long double)call->rule.scale) * magnitude;
    return (long double)call->rule.scale * sum;
}

/* What a masked score becomes: a fill value below the dtype's range counts as its lowest number. */
static long double masked_score(const struct attn_call *call) {
    if (!call->rule.fill || isinf(call->rule.fill_value))
        return -(long double)INFINITY;
    long double lowest = call->dtype == ATTN_F32 ? -(long double)FLT_MAX : -(long double)DBL_MAX;
    return fmaxl((long double)call->rule.fill_value, lowest);
}

static void score_row(struct row *r, struct ref_attention *ref) {
    const struct attn_rule *rule = &r->call->rule;
    const struct attn_dims *dims = &r->call->dims;
    for (size_t j = 0; j < dims->n_k; j++) {
        size_t at = r->index * dims->n_k + j;
        long double size, added = 0;
        long double s = raw_score(r, j, &size);
        ref->scores[at] = s;
        if (rule->softcap > 0)
            s = (long double)rule->softcap * tanhl(s / (long double)rule->softcap);
        ref->capped[at] = s;
        bool forbidden = false;
        if (rule->bias.data) {
            long double bias = element(r->call->dtype, rule->bias.data, in_grid(&rule->bias, r->b, r->h, r->i, j));
            forbidden = isinf(bias) && bias < 0;
            s = forbidden ? bias : s + bias;
            added += forbidden ? 0 : fabsl(bias); /* its score before the bias is compared all the same */
        }
        if (rule->alibi) {
            long double away = fabsl((long double)j - position(rule, dims, r->b, r->i));
            s -= (long double)rule->alibi[r->h] * away;
            added += fabsl((long double)rule->alibi[r->h]) * away;
        }
        bool allowed = ref_allowed(rule, dims, r->b, r->h, r->i, j);
        r->seen[j] = allowed && !forbidden;
        ref->masked[at] = allowed ? s : masked_score(r->call);
        if (size + added < junk && size + added > ref->size[r->index])
            ref->size[r->index] = size + added;
    }
    long double others = rule->sinks && isfinite(rule->sinks[r->h]) ? fabsl((long double)rule->sinks[r->h]) : 0;
    if (rule->fill && fabs(rule->fill_value) < 1000)
        others += fabsl((long double)rule->fill_value);
    ref->size[r->index] += others;
}

/* The softmax of a row. A masked key takes part only through a fill value. */
static void weigh_row(const struct row *r, struct ref_attention *ref) {
    const struct attn_rule *rule = &r->call->rule;
    size_t n_k = r->call->dims.n_k;
    const long double *s = ref->masked + r->index * n_k;
    long double *w = ref->weights + r->index * n_k;
    long double top = rule->sinks ? (long double)rule->sinks[r->h] : -(long double)INFINITY;
    bool poisoned = false;
    for (size_t j = 0; j < n_k; j++) {
        poisoned = poisoned || (r->seen[j] && (isnan(s[j]) || (isinf(s[j]) && s[j] > 0)));
        if ((r->seen[j] || rule->fill) && s[j] > top)
            top = s[j];
    }
    bool bottomless = isinf(top) && top < 0;
    long double sum = rule->sinks && !bottomless ? expl((long double)rule->sinks[r->h] - top) : 0;
    for (size_t j = 0; j < n_k && !bottomless && !poisoned; j++)
        sum += w[j] = r->seen[j] || rule->fill ? expl(s[j] - top) : 0;
    long double least = r->call->dtype == ATTN_F32 ? 0x1p-150L : 0x1p-1075L;
    for (size_t j = 0; j < n_k; j++) {
        if (poisoned || bottomless)
            w[j] = r->seen[j] ? (long double)NAN : 0;
        else
            w[j] = w[j] < least ? 0 : w[j] / sum;
    }
    ref->lse[r->index] = poisoned ? (long double)NAN : bottomless ? -(long double)INFINITY : top + logl(sum);
}

static void output_row(const struct row *r, struct ref_attention *ref) {
    const struct attn_call *call = r->call;
    size_t g = r->h / (call->dims.heads / call->dims.kv_heads);
    const long double *w = ref->weights + r->index * call->dims.n_k;
    for (size_t c = 0; c < call->dims.d_v; c++) {
        long double sum = 0, reach = 0;
        for (size_t j = 0; j < call->dims.n_k; j++) {
            if (w[j] == 0 && !r->seen[j])
                continue;
            long double term = w[j] * in_view(call->dtype, &call->v, r->b, g, j, c);
            sum += term;
            reach += fabsl(term);
        }
        ref->output[r->index * call->dims.d_v + c] = sum;
        if (isfinite(reach) && reach > ref->reach[r->index])
            ref->reach[r->index] = reach;
    }
}

/* A score: d products and additions, and some ten further roundings, of terms no larger than `size`; exp turns the
 * absolute error of a score and of the maximum into a relative one. The denominator: n_k additions, of which at most
 * one in eight stands in one running sum, and each block rescales once. */
static long double slack_of(const struct attn_call *call, long double size) {
    long double unit = call->dtype == ATTN_F32 ? FLT_EPSILON / 2.0L : DBL_EPSILON / 2.0L;
    return unit * (2 * ((long double)call->dims.d + 10) * (size + 1) + (long double)call->dims.n_k / 8 + 16);
}

struct ref_attention ref_attention(const struct attn_call *call) {
    const struct attn_dims *d = &call->dims;
    size_t rows = d->batch * d->heads * d->n_q;
    struct ref_attention ref = {rows,
                                d->n_k,
                                d->d_v,
                                room(rows * d->d_v),
                                room(rows * d->n_k),
                                room(rows * d->n_k),
                                room(rows * d->n_k),
                                room(rows * d->n_k),
                                room(rows),
                                room(rows),
                                room(rows),
                                room(rows)};
    bool *seen = calloc(d->n_k + 1, sizeof *seen);
    if (!seen)
        abort();
    for (size_t index = 0; index < rows; index++) {
        struct row r = {call, index / d->n_q / d->heads, index / d->n_q % d->heads, index % d->n_q, index, seen};
        score_row(&r, &ref);
        weigh_row(&r, &ref);
        output_row(&r, &ref);
        ref.slack[index] = slack_of(call, ref.size[index]);
    }
    free(seen);
    return ref;
}

void ref_attention_free(struct ref_attention *ref) {
    free(ref->output);
    free(ref->weights);
    free(ref->scores);
    free(ref->capped);
    free(ref->masked);
    free(ref->lse);
    free(ref->slack);
    free(ref->reach);
    free(ref->size);
}
