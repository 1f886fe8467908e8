#include "core/attention_tile.h"
#include "core/product.h"
#include "core/softmax.h"

#include <math.h>
#include <string.h>

#ifdef ATTN_SINGLE
static const double WEIGHTLESS = -110; /* exp of anything below is 0 */
static const double LOWEST = -0x1.fffffep127;
#else
static const double WEIGHTLESS = -750;
static const double LOWEST = -0x1.fffffffffffffp1023;
#endif

static real *weights_row(const struct attn_tile *t, size_t i) {
    const struct attn_dims *d = &t->call->dims;
    return (real *)t->call->weights + ((t->b * d->heads + t->h) * d->n_q + t->i0 + i) * d->n_k;
}

static real *masked_row(const struct attn_tile *t, size_t i) {
    const struct attn_dims *d = &t->call->dims;
    return (real *)t->call->masked + ((t->b * d->heads + t->h) * d->n_q + t->i0 + i) * d->n_k;
}

static real *out_row(const struct attn_tile *t, size_t i) {
    return t->out + i * t->call->output.row;
}

/* --- blocks ------------------------------------------------------------------------------------------------------ */

/* Every key is walked over when its score is shown, or counts although it is masked. */
static bool walks_all(const struct attn_tile *t) {
    return t->fill || t->call->scores || t->call->capped;
}

static size_t walk_from(const struct attn_tile *t) {
    return walks_all(t) ? 0 : t->lo;
}

static size_t walk_to(const struct attn_tile *t) {
    return walks_all(t) ? t->call->dims.n_k : t->hi;
}

bool ATTN_REAL(attn_tile_next)(const struct attn_tile *t, struct attn_block *block) {
    bool first = block->index == (size_t)-1;
    size_t to = walk_to(t);
    block->index++;
    block->j0 = first ? walk_from(t) : block->j1;
    block->j1 = to - block->j0 < t->plan->keys ? to : block->j0 + t->plan->keys;
    block->p = t->call->weights ? weights_row(t, 0) + block->j0 : t->scratch;
    block->p_row = t->call->weights ? t->call->dims.n_k : t->plan->keys;
    return block->j0 < to;
}

static struct attn_span span_of(const struct attn_tile *t, const struct attn_block *block, size_t i) {
    size_t n = block->j1 - block->j0, lo = t->sight[i].lo, hi = t->sight[i].hi;
    if (t->fill)
        return (struct attn_span){0, n};
    size_t to = hi <= block->j0 ? 0 : hi < block->j1 ? hi - block->j0 : n;
    size_t from = lo <= block->j0 ? 0 : lo - block->j0;
    return (struct attn_span){from < to ? from : to, to};
}

void ATTN_REAL(attn_tile_spans)(const struct attn_tile *t, const struct attn_block *block, struct attn_span *spans) {
    size_t n = block->j1 - block->j0;
    for (size_t i = 0; i < t->rows; i++) {
        struct attn_span span = spans[i] = span_of(t, block, i);
        real *x = block->p + i * block->p_row;
        if (span.from > 0)
            memset(x, 0, span.from * sizeof *x);
        if (span.to < n)
            memset(x + span.to, 0, (n - span.to) * sizeof *x);
    }
}

static bool block_is_seen(const struct attn_tile *t, const struct attn_block *block) {
    for (size_t i = 0; i < t->rows; i++)
        if (t->fill || attn_sees_any(&t->sight[i], block->j0, block->j1))
            return true;
    return false;
}

/* Keys nobody sees: weight 0, and shown as masked. */
static void hide(const struct attn_tile *t, size_t j0, size_t j1) {
    for (size_t i = 0; i < t->rows && j0 < j1; i++) {
        if (t->call->weights)
            memset(weights_row(t, i) + j0, 0, (j1 - j0) * sizeof(real));
        for (size_t j = j0; t->call->masked && j < j1; j++)
            masked_row(t, i)[j] = t->shown;
    }
}

/* --- the walk ---------------------------------------------------------------------------------------------------- */

/* p = exp(s - top); what was summed before shrinks as `top` rises. */
static void soften(struct attn_tile *t, const struct attn_block *block, bool started) {
    struct attn_span spans[ATTN_TILE_ROWS];
    real shrink[ATTN_TILE_ROWS];
    ATTN_REAL(attn_tile_spans)(t, block, spans);
    ATTN_REAL(attn_rows_exp)(block->p, block->p_row, spans, t->rows, t->top, t->sum, shrink);
    bool shrinks = false;
    for (size_t i = 0; i < t->rows; i++)
        shrinks |= shrink[i] != 1;
    if (started && shrinks)
        (void)ATTN_REAL(attn_rows_scale)(t->out, t->call->output.row, t->rows, t->call->dims.d_v, shrink);
}

static void note_tops(const struct attn_tile *t, const struct attn_block *block) {
    if (t->call->weights)
        memcpy(t->block_top + block->index * t->plan->rows, t->top, t->rows * sizeof *t->top);
}

static void start_rows(struct attn_tile *t) {
    const struct attn_rule *rule = &t->call->rule;
    real sink = rule->sinks ? (real)rule->sinks[t->h] : -(real)INFINITY;
    for (size_t i = 0; i < t->rows; i++) {
        t->top[i] = sink;
        t->sum[i] = sink == -(real)INFINITY ? 0 : 1;
    }
}

static bool walk(struct attn_tile *t) {
    const struct attn_call *call = t->call;
    bool started = false;
    start_rows(t);
    hide(t, 0, walk_from(t));
    hide(t, walk_to(t), call->dims.n_k);
    for (struct attn_block block = {.index = (size_t)-1}; ATTN_REAL(attn_tile_next)(t, &block);) {
        if (attn_exec_stopped(t->exec))
            return false;
        bool seen = block_is_seen(t, &block);
        if (seen || call->scores || call->capped)
            ATTN_REAL(attn_tile_score)(t, &block);
        if (!seen) {
            hide(t, block.j0, block.j1);
            note_tops(t, &block);
            continue;
        }
        soften(t, &block, started);
        note_tops(t, &block);
        struct attn_product pv = {t->rows,     call->dims.d_v, block.j1 - block.j0,
                                  block.p_row, call->v.row,    call->output.row};
        ATTN_REAL(attn_product_ab)(&pv, started, block.p, t->v + block.j0 * call->v.row, t->out);
        started = true;
    }
    for (size_t i = 0; i < t->rows && !started; i++)
        memset(out_row(t, i), 0, call->dims.d_v * sizeof(real));
    return true;
}

/* --- the end of each row ------------------------------------------------------------------------------------------ */

bool ATTN_REAL(attn_tile_empty_row)(const struct attn_tile *t, size_t i) {
    if (isnan(t->sum[i]))
        return false;
    for (size_t j = 0; j < t->call->dims.n_k; j++)
        if (ATTN_REAL(attn_tile_sees)(t, i, j))
            return false;
    return true;
}

/* A row without a key is zeros. One whose scores are not finite where it may look is NaN there, and still 0 where it
 * may not. */
static void end_odd_row(const struct attn_tile *t, size_t i) {
    bool empty = ATTN_REAL(attn_tile_empty_row)(t, i);
    real value = empty ? 0 : (real)NAN;
    for (size_t c = 0; c < t->call->dims.d_v; c++)
        out_row(t, i)[c] = value;
    for (size_t j = 0; t->call->weights && j < t->call->dims.n_k; j++)
        weights_row(t, i)[j] = ATTN_REAL(attn_tile_sees)(t, i, j) ? value : 0;
}

static void end_weights(const struct attn_tile *t, size_t i) {
    real sum = (real)t->sum[i];
    for (struct attn_block block = {.index = (size_t)-1}; ATTN_REAL(attn_tile_next)(t, &block);) {
        real base = t->block_top[block.index * t->plan->rows + i];
        real shrink = base == t->top[i] ? 1 : (real)exp((double)base - (double)t->top[i]);
        ATTN_REAL(attn_row_divide)(block.p + i * block.p_row, block.j1 - block.j0, shrink, sum);
    }
}

/* Returns whether the whole output is finite. */
static bool end_rows(const struct attn_tile *t) {
    const struct attn_dims *d = &t->call->dims;
    real share[ATTN_TILE_ROWS];
    for (size_t i = 0; i < t->rows; i++) {
        if (!(t->sum[i] > 0))
            end_odd_row(t, i);
        else if (t->call->weights)
            end_weights(t, i);
        share[i] = t->sum[i] > 0 ? (real)(1 / t->sum[i]) : 1;
        if (t->call->lse)
            ((real *)t->call->lse)[(t->b * d->heads + t->h) * d->n_q + t->i0 + i] =
                (real)((double)t->top[i] + log(t->sum[i]));
    }
    return ATTN_REAL(attn_rows_scale)(t->out, t->call->output.row, t->rows, d->d_v, share);
}

/* --- the tile ----------------------------------------------------------------------------------------------------- */

static void place(struct attn_tile *t, size_t index, unsigned char *work) {
    const struct attn_call *call = t->call;
    const struct attn_dims *d = &call->dims;
    size_t head = index / t->plan->q_blocks;
    t->i0 = index % t->plan->q_blocks * t->plan->rows;
    t->rows = d->n_q - t->i0 < t->plan->rows ? d->n_q - t->i0 : t->plan->rows;
    t->b = head / d->heads;
    t->h = head % d->heads;
    size_t g = t->h / (d->heads / d->kv_heads);
    t->q = (const real *)call->q.data + t->b * call->q.batch + t->h * call->q.head + t->i0 * call->q.row;
    t->k = (const real *)call->k.data + t->b * call->k.batch + g * call->k.head;
    t->v = (const real *)call->v.data + t->b * call->v.batch + g * call->v.head;
    t->out =
        (real *)call->output.data + t->b * call->output.batch + t->h * call->output.head + t->i0 * call->output.row;
    t->scratch = (real *)(void *)work;
    t->clean = (real *)(void *)(work + t->plan->clean);
    t->block_top = (real *)(void *)(work + t->plan->tops);
}

static void look(struct attn_tile *t) {
    const struct attn_dims *d = &t->call->dims;
    t->lo = d->n_k;
    t->hi = 0;
    attn_sights(&t->call->rule, d, t->b, t->h, t->i0, t->rows, t->sight);
    for (size_t i = 0; i < t->rows; i++) {
        const struct attn_sight *s = &t->sight[i];
        if (s->lo < s->hi) {
            t->lo = s->lo < t->lo ? s->lo : t->lo;
            t->hi = s->hi > t->hi ? s->hi : t->hi;
        }
    }
    if (t->lo > t->hi)
        t->lo = t->hi = 0;
}

/* Single precision cannot hold every fill value; its lowest number does the same. */
static real fill_value(const struct attn_rule *rule) {
    if (!rule->fill || isinf(rule->fill_value))
        return -(real)INFINITY;
    return (real)(rule->fill_value < LOWEST ? LOWEST : rule->fill_value);
}

/* Would the fill value get a weight in some row? If not, masked keys may as well be absent. */
static bool fill_counts(const struct attn_tile *t) {
    for (size_t i = 0; i < t->rows; i++)
        if (!((double)t->shown - (double)t->top[i] < WEIGHTLESS))
            return true;
    return false;
}

void ATTN_REAL(attn_tile)(const struct attn_call *call, const struct attn_plan *plan, const struct attn_exec *exec,
                          size_t index, void *work) {
    struct attn_tile t;
    t.call = call;
    t.plan = plan;
    t.exec = exec;
    t.fill = false;
    t.hidden = -(real)INFINITY;
    t.shown = fill_value(&call->rule);
    place(&t, index, work);
    look(&t);
    if (!walk(&t))
        return;
    if (t.shown != t.hidden && fill_counts(&t)) {
        t.fill = true;
        t.hidden = t.shown;
        if (!walk(&t))
            return;
    }
    if (!end_rows(&t))
        (void)ATTN_REAL(attn_tile_settle)(&t);
}
