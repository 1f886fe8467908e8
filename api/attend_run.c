/* attend_run.c - computes an attention request whose arrays are laid out. Nothing here can fail; it can be stopped. */
#include "api/attend.h"

#include "core/concat.h"
#include "core/heads.h"

#include <string.h>

static const struct attn_exec *exec_of(const struct api_attend *a) {
    return a->job->env->exec;
}

static void cast_field(struct api_attend *a, size_t field) {
    if (a->values[field].form == API_TENSOR)
        api_cast(&a->values[field].tensor, a->dtype);
}

/* Everything that is computed with comes as double precision. Slopes, sinks and positions stay so. */
static void cast_inputs(struct api_attend *a) {
    if (a->dtype == ATTN_F64)
        return;
    for (size_t f = API_AT_X; f <= API_AT_BV; f++)
        cast_field(a, f);
    cast_field(a, API_AT_ATTN_BIAS);
    cast_field(a, API_AT_PAST_KEY);
    cast_field(a, API_AT_PAST_VALUE);
    size_t all = a->mha ? API_MHA_FIELDS : API_ATTENTION_FIELDS;
    for (size_t f = API_AT_SHARED; f < all; f++)
        cast_field(a, f);
}

bool api_attend_project(const struct api_attend *a, size_t rows, const void *x, const struct attn_tensor *w,
                        const struct attn_tensor *b, void *y) {
    size_t d_in = w->shape[a->out_in ? 1 : 0], d_out = w->shape[a->out_in ? 0 : 1];
    const void *bias = b ? b->data : NULL;
    const struct attn_projection p = {a->dtype, rows, d_in, d_out, x, d_in, w->data, a->out_in, bias, y, d_out};
    return attn_project(&p, exec_of(a));
}

struct attn_view api_attend_view(const struct api_attend *a, size_t heads, size_t n, size_t d, void *rows) {
    if (!a->joined)
        return (struct attn_view){rows, heads * n * d, n * d, d};
    return (struct attn_view){rows, n * heads * d, d, heads * d};
}

static bool fill_rows(struct api_attend *a, struct api_side *side) {
    size_t rows = side->groups * side->n;
    if (side->w)
        return api_attend_project(a, rows, side->input->data, side->w, side->b, side->rows);
    if (side->copied)
        memcpy(side->rows, side->input->data, rows * side->d_out * a->size);
    else
        side->rows = side->input->data;
    return true;
}

static void copy_heads(const struct api_attend *a, const struct attn_view *view, size_t heads, size_t n, size_t d,
                       void *out) {
    const size_t shape[4] = {a->call.dims.batch, heads, n, d};
    if (out)
        attn_heads_copy(a->dtype, view, shape, out);
}

/* The changed last row turns as the last row does. */
static bool turn_changed(struct api_attend *a, struct api_side *side) {
    struct attn_rope rope = a->rope;
    if (rope.positions)
        rope.positions += side->n - 1;
    rope.start += (double)(side->n - 1);
    struct attn_rope_dims dims = {a->call.dims.batch, side->heads, 1};
    struct attn_view view = {side->changed, side->heads * side->d, side->d, side->d};
    return !side->changed || attn_rope_apply(a->dtype, &rope, &dims, &view, exec_of(a), a->work);
}

static bool turn(struct api_attend *a, struct api_side *side) {
    struct attn_rope_dims dims = {a->call.dims.batch, side->heads, side->n};
    copy_heads(a, &side->view, side->heads, side->n, side->d, side->plain);
    return attn_rope_apply(a->dtype, &a->rope, &dims, &side->view, exec_of(a), a->work) && turn_changed(a, side);
}

static bool fill_side(struct api_attend *a, struct api_side *side, bool turns) {
    if (!fill_rows(a, side))
        return false;
    side->view = api_attend_view(a, side->heads, side->n, side->d, side->rows);
    if (side->changed && !api_attend_changed_rows(a, side))
        return false;
    if (turns && !turn(a, side))
        return false;
    copy_heads(a, &side->view, side->heads, side->n, side->d, side->split);
    return true;
}

static void fill_past(struct api_attend *a) {
    const struct attn_dims *d = &a->call.dims;
    struct attn_concat_dims dims = {d->batch, d->kv_heads, a->n_past, a->k.n, d->d};
    attn_concat(a->dtype, &dims, a->past_key->data, &a->k.view, a->keys);
    dims.cols = d->d_v;
    attn_concat(a->dtype, &dims, a->past_value->data, &a->v.view, a->values_all);
    a->call.k = (struct attn_view){a->keys, d->kv_heads * d->n_k * d->d, d->n_k * d->d, d->d};
    a->call.v = (struct attn_view){a->values_all, d->kv_heads * d->n_k * d->d_v, d->n_k * d->d_v, d->d_v};
}

static bool fill_inputs(struct api_attend *a) {
    cast_inputs(a);
    if (a->positions)
        a->rope.positions = a->positions->data;
    if (!fill_side(a, &a->q, a->roped) || !fill_side(a, &a->k, a->roped) || !fill_side(a, &a->v, false))
        return false;
    const struct attn_dims *d = &a->call.dims;
    a->call.q = a->q.view;
    a->call.k = a->k.view;
    a->call.v = a->v.view;
    if (a->n_past)
        fill_past(a);
    a->call.output = api_attend_view(a, d->heads, d->n_q, d->d_v, a->call.output.data);
    return true;
}

static bool finish(struct api_attend *a) {
    const struct attn_dims *d = &a->call.dims;
    if (!a->mha)
        a->output = a->call.output.data;
    else if (!api_attend_project(a, d->batch * d->n_q, a->call.output.data, a->wo, a->bo, a->output))
        return false;
    copy_heads(a, &a->call.output, d->heads, d->n_q, d->d_v, a->split_heads);
    if (a->mean_weights)
        attn_heads_mean(a->dtype, d->batch, d->heads, d->n_q * d->n_k, a->call.weights, a->mean_weights);
    return true;
}

bool api_attend_run(struct api_attend *a) {
    bool done = fill_inputs(a) && (!a->checked || api_attend_changed_run(a)) &&
                attn_attention(&a->call, exec_of(a), a->work) && finish(a) && (!a->checked || api_attend_measure(a));
    return done || api_refuse_stopped(a->job);
}
