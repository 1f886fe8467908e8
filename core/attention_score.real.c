#include "core/attention_tile.h"
#include "core/clones.h"
#include "core/product.h"
#include "core/softmax.h"

#include <math.h>
#include <string.h>

/* The largest number and the smallest above 0. */
#ifdef ATTN_SINGLE
static const double MOST = 0x1.fffffep127, LEAST = 0x1p-149;
#else
static const double MOST = 0x1.fffffffffffffp1023, LEAST = 0x1p-1074;
#endif

static const real *bias_at(const struct attn_tile *t, size_t i, size_t j) {
    const struct attn_grid *g = &t->call->rule.bias;
    return (const real *)g->data + t->b * g->batch + t->h * g->head + (t->i0 + i) * g->row + j * g->col;
}

bool ATTN_REAL(attn_tile_sees)(const struct attn_tile *t, size_t i, size_t j) {
    return attn_sees(&t->sight[i], j) && !(t->call->rule.bias.data && *bias_at(t, i, j) == -(real)INFINITY);
}

/* -inf is selected, not added: it must win over NaN as well. */
static real with_bias(real score, real bias) {
    return bias == -(real)INFINITY ? bias : score + bias;
}

ATTN_CLONES
static void add_bias(real *restrict x, size_t n, const real *restrict bias, size_t step) {
    if (step == 1) {
#pragma omp simd
        for (size_t j = 0; j < n; j++)
            x[j] = with_bias(x[j], bias[j]);
    } else {
        for (size_t j = 0; j < n; j++)
            x[j] = with_bias(x[j], bias[j * step]);
    }
}

/* x[j] -= slope * |first + j| */
ATTN_CLONES
static void add_alibi(real *x, int n, real slope, real first) {
#pragma omp simd
    for (int j = 0; j < n; j++) {
        real distance = first + (real)j;
        x[j] -= slope * (distance < 0 ? -distance : distance);
    }
}

/* The place of score (i, j) in one of the call's optional outputs. */
static real *place_in(const struct attn_tile *t, void *out, size_t i, size_t j) {
    const struct attn_dims *d = &t->call->dims;
    return (real *)out + ((t->b * d->heads + t->h) * d->n_q + t->i0 + i) * d->n_k + j;
}

/* What single precision cannot hold becomes the nearest that it does: caps and slopes then meet no 0 times infinity. */
static real held(double value) {
    return (real)(value > MOST ? MOST : value < -MOST ? -MOST : value);
}

static real held_cap(double cap) {
    return held(cap < LEAST ? LEAST : cap);
}

static void score_row(const struct attn_tile *t, const struct attn_block *block, size_t i) {
    const struct attn_call *call = t->call;
    const struct attn_rule *rule = &call->rule;
    size_t j0 = block->j0, n = block->j1 - j0;
    real *x = block->p + i * block->p_row;
    if (call->scores)
        memcpy(place_in(t, call->scores, i, j0), x, n * sizeof *x);
    if (rule->softcap > 0)
        ATTN_REAL(attn_row_cap)(x, n, held_cap(rule->softcap));
    if (call->capped)
        memcpy(place_in(t, call->capped, i, j0), x, n * sizeof *x);
    if (rule->bias.data)
        add_bias(x, n, bias_at(t, i, j0), rule->bias.col);
    if (rule->alibi) {
        int64_t p = (int64_t)(t->i0 + i) + attn_offset(rule, &call->dims, t->b);
        add_alibi(x, (int)n, held(rule->alibi[t->h]), (real)((int64_t)j0 - p));
    }
    if (call->masked) {
        real *shown = place_in(t, call->masked, i, j0);
        memcpy(shown, x, n * sizeof *x);
        ATTN_REAL(attn_strike)(&t->sight[i], j0, block->j1, shown, t->shown);
    }
    if (t->fill || t->sight[i].mask || t->sight[i].padding)
        ATTN_REAL(attn_strike)(&t->sight[i], j0, block->j1, x, t->hidden);
}

/* Is a score more than scale * q k^T? Keys outside of a row's span do not count: the softmax passes them over. */
static bool has_more(const struct attn_tile *t) {
    const struct attn_call *call = t->call;
    const struct attn_rule *rule = &call->rule;
    return call->scores || call->capped || call->masked || rule->softcap > 0 || rule->bias.data || rule->alibi ||
           rule->mask.data || rule->padding || t->fill;
}

void ATTN_REAL(attn_tile_score)(const struct attn_tile *t, const struct attn_block *block) {
    const struct attn_call *call = t->call;
    struct attn_product qk = {t->rows, block->j1 - block->j0, call->dims.d, call->q.row, call->k.row, block->p_row};
    ATTN_REAL(attn_product_abt)
    (&qk, (real)call->rule.scale, t->q, t->k + block->j0 * call->k.row, block->p);
    for (size_t i = 0; i < t->rows && has_more(t); i++)
        score_row(t, block, i);
}
