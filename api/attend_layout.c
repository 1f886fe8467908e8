/* attend_layout.c - every array of an attention request gets its place in one block of memory, whose size and price
 * are stated before it is taken. */
#include "api/attend.h"

#include "api/json_text.h"
#include "api/result.h"

#include <string.h>

enum { MOST_PIECES = 40, ALIGN = 64 };
static const double most_bytes = 0x1p53; /* so that every size below is exact and fits size_t, whatever the limits */

/* One piece of the block; its address is written to *slot once the block is there. */
struct piece {
    void **slot;
    double bytes;
};

struct layout {
    struct piece pieces[MOST_PIECES];
    size_t count;
    double bytes;
};

static void reserve_bytes(struct layout *layout, void **slot, double bytes) {
    layout->pieces[layout->count++] = (struct piece){slot, bytes};
    layout->bytes += bytes + ALIGN;
}

static double product(size_t a, size_t b, size_t c, size_t d) {
    return (double)a * (double)b * (double)c * (double)d;
}

/* ---- what is wanted ---------------------------------------------------------------------------------------------- */

static bool rows_are_split(const struct api_attend *a, const struct api_side *side) {
    return !a->joined || side->heads == 1;
}

static bool wants_split(const struct api_attend *a, enum api_attend_result result, enum api_attend_result present) {
    return api_attend_wants(a, result) || (!a->n_past && api_attend_wants(a, present));
}

static void lay_side(struct api_attend *a, struct layout *layout, struct api_side *side, bool turns, bool split) {
    double rows = product(side->groups, side->n, side->d_out, a->size);
    side->copied = side->w || turns;
    if (side->copied)
        reserve_bytes(layout, &side->rows, rows);
    if (a->traced && turns)
        reserve_bytes(layout, &side->plain, rows);
    if ((split || a->traced) && !rows_are_split(a, side))
        reserve_bytes(layout, &side->split, rows);
}

static void lay_changed(struct api_attend *a, struct layout *layout, struct api_side *side) {
    if (side->w)
        reserve_bytes(layout, &side->shifted, product(side->groups, side->d_in, a->size, 1));
    reserve_bytes(layout, &side->changed, product(side->groups, side->d_out, a->size, 1));
}

static void lay_sides(struct api_attend *a, struct layout *layout) {
    lay_side(a, layout, &a->q, a->roped, api_attend_wants(a, API_GIVE_Q));
    lay_side(a, layout, &a->k, a->roped, wants_split(a, API_GIVE_K, API_GIVE_PRESENT_KEY));
    lay_side(a, layout, &a->v, false, wants_split(a, API_GIVE_V, API_GIVE_PRESENT_VALUE));
    const struct attn_dims *d = &a->call.dims;
    if (a->n_past) {
        reserve_bytes(layout, &a->keys, product(d->batch, d->kv_heads, d->n_k, d->d * a->size));
        reserve_bytes(layout, &a->values_all, product(d->batch, d->kv_heads, d->n_k, d->d_v * a->size));
    }
    if (!a->checked)
        return;
    /* The last row is the last query too, unless queries stand elsewhere than their keys: then its own output, which
     * may change, would count among the earlier ones. */
    bool elsewhere = a->call.rule.bottom_right && a->call.rule.lengths;
    if (!a->crossed && a->q.n == a->k.n && !elsewhere)
        lay_changed(a, layout, &a->q);
    lay_changed(a, layout, &a->k);
    lay_changed(a, layout, &a->v);
}

static void lay_results(struct api_attend *a, struct layout *layout) {
    const struct attn_dims *d = &a->call.dims;
    struct attn_call *call = &a->call;
    double scores = product(d->batch, d->heads, d->n_q, d->n_k * a->size);
    double heads = product(d->batch, d->heads, d->n_q, d->d_v * a->size);
    bool softcap = call->rule.softcap > 0;
    if (api_attend_wants(a, API_GIVE_WEIGHTS) || a->traced)
        reserve_bytes(layout, &call->weights, scores);
    if (api_attend_wants(a, API_GIVE_SCORES) || a->traced)
        reserve_bytes(layout, &call->scores, scores);
    if (api_attend_wants(a, API_GIVE_CAPPED) || (a->traced && softcap))
        reserve_bytes(layout, &call->capped, scores);
    if (api_attend_wants(a, API_GIVE_MASKED) || a->traced)
        reserve_bytes(layout, &call->masked, scores);
    bool sinks = a->values[API_AT_SINKS].form == API_TENSOR; /* whose numbers may still have to be drawn */
    if (api_attend_wants(a, API_GIVE_LOGSUMEXP) || (a->checked && sinks))
        reserve_bytes(layout, &call->lse, product(d->batch, d->heads, d->n_q, a->size));
    if (api_attend_wants(a, API_GIVE_WEIGHTS) && a->values[API_AT_AVERAGE_WEIGHTS].boolean && a->headed)
        reserve_bytes(layout, &a->mean_weights, product(d->batch, d->n_q, d->n_k, a->size));
    reserve_bytes(layout, &call->output.data, heads);
    if (a->checked)
        reserve_bytes(layout, &a->heads_changed, heads);
    if (a->mha && (api_attend_wants(a, API_GIVE_HEADS) || a->traced) && d->heads > 1)
        reserve_bytes(layout, &a->split_heads, heads);
    if (a->mha)
        reserve_bytes(layout, &a->output, product(d->batch, d->n_q, a->d_out, a->size));
    if (a->mha && a->checked)
        reserve_bytes(layout, &a->output_changed, product(d->batch, d->n_q, a->d_out, a->size));
}

/* ---- work memory and price --------------------------------------------------------------------------------------- */

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

/* The stages use one piece of work memory, one after the other. The wanted arrays are not there yet, but the kernel
 * only asks whether they will be. */
static size_t work_size(struct api_attend *a, size_t slots) {
    size_t size = attn_attention_work(&a->call, slots);
    if (a->roped)
        size = larger(size, attn_rope_work(&a->rope, slots));
    if (a->checked)
        size = larger(size, attn_check_weights_work(&a->call, slots));
    return size;
}

/* Marks wanted results with some address, so that the kernel can be asked for its work memory. */
static void mark_wanted(struct layout *layout, void *mark) {
    for (size_t i = 0; i < layout->count; i++)
        *layout->pieces[i].slot = mark;
}

static double projection_cost(const struct api_side *side) {
    return side->w ? product(side->groups, side->n, side->d_in, side->d_out) : 0;
}

static double multiply_adds(const struct api_attend *a) {
    const struct attn_dims *d = &a->call.dims;
    double scores = product(d->batch, d->heads, d->n_q, d->n_k);
    double kernel = scores * (double)(d->d + d->d_v);
    double wo = a->mha ? product(d->batch, d->n_q, d->heads * d->d_v, a->d_out) : 0;
    double cost = projection_cost(&a->q) + projection_cost(&a->k) + projection_cost(&a->v) + kernel + wo;
    if (a->checked)
        cost += kernel + wo + (a->call.weights ? 0 : scores * (double)(d->d + 1));
    return cost;
}

static double numbers(const struct api_attend *a) {
    const struct attn_dims *d = &a->call.dims;
    double heads = (double)d->heads, batch = (double)d->batch, scores = product(d->batch, d->heads, d->n_q, d->n_k);
    double q = batch * heads * (double)d->n_q, k = batch * (double)d->kv_heads;
    bool average = a->values[API_AT_AVERAGE_WEIGHTS].boolean;
    const double counts[API_GIVE_RESULTS] = {
        [API_GIVE_OUTPUT] = a->mha ? product(d->batch, d->n_q, a->d_out, 1) : q * (double)d->d_v,
        [API_GIVE_WEIGHTS] = average ? scores / heads : scores,
        [API_GIVE_SCORES] = scores,
        [API_GIVE_CAPPED] = scores,
        [API_GIVE_MASKED] = scores,
        [API_GIVE_LOGSUMEXP] = q,
        [API_GIVE_Q] = q * (double)d->d,
        [API_GIVE_K] = k * (double)a->k.n * (double)d->d,
        [API_GIVE_V] = k * (double)a->k.n * (double)d->d_v,
        [API_GIVE_PRESENT_KEY] = k * (double)d->n_k * (double)d->d,
        [API_GIVE_PRESENT_VALUE] = k * (double)d->n_k * (double)d->d_v,
        [API_GIVE_HEADS] = q * (double)d->d_v,
    };
    double sum = a->traced ? api_attend_trace_numbers(a) : 0;
    for (unsigned r = 0; r < API_GIVE_RESULTS; r++)
        sum += api_attend_wants(a, r) ? counts[r] : 0;
    return sum;
}

/* ---- the block --------------------------------------------------------------------------------------------------- */

static bool take_block(struct api_attend *a, struct layout *layout) {
    if (layout->bytes > most_bytes)
        return api_refuse(a->job, "memory_limit", NULL, "The arrays would take %.3g bytes.", layout->bytes);
    char *block = api_take(a->job, 1, (size_t)layout->bytes);
    if (!block)
        return false;
    for (size_t i = 0; i < layout->count; i++) {
        *layout->pieces[i].slot = block;
        block += ((size_t)layout->pieces[i].bytes + ALIGN - 1) / ALIGN * ALIGN;
    }
    return true;
}

static char *put_dimension(char *out, const char *name, size_t size) {
    out = api_text_integer(stpcpy(out, name), (int64_t)size);
    *out = 0;
    return out;
}

/* "b1 h3 q6 k6 d4"; by hand, since snprintf would take as long as the small request's matrix products. */
static void set_log_shape(struct api_attend *a) {
    const struct attn_dims *d = &a->call.dims;
    char text[5 * 24] = {0}, *out = put_dimension(text, "b", d->batch);
    out = put_dimension(out, " h", d->heads);
    out = put_dimension(out, " q", d->n_q);
    out = put_dimension(out, " k", d->n_k);
    put_dimension(out, " d", d->d);
    memcpy(a->job->response->shape, text, API_SHAPE_MAX - 1);
}

bool api_attend_layout(struct api_attend *a) {
    struct layout layout = {.count = 0};
    const uint32_t standard = 1u << API_GIVE_OUTPUT | 1u << API_GIVE_WEIGHTS;
    for (unsigned r = 0; r < API_GIVE_RESULTS; r++)
        a->wanted |= (uint32_t)api_wants(&a->values[API_AT_RETURN], standard, r) << r;
    lay_sides(a, &layout);
    lay_results(a, &layout);
    mark_wanted(&layout, &layout);
    a->work_size = work_size(a, attn_exec_slots(a->job->env->exec));
    reserve_bytes(&layout, &a->work, (double)a->work_size);
    set_log_shape(a);
    struct api_cost cost = {multiply_adds(a), numbers(a), layout.bytes};
    if (a->job->tokens.given)
        cost.bytes += api_tokens_bytes(a->job, a->dtype);
    if (!api_admit(a->job, &cost) || !take_block(a, &layout))
        return false;
    if (a->job->tokens.given && !api_tokens_embed(a->job, a->dtype))
        return false;
    return true;
}
