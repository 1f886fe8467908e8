/* attend_rule.c - from the options of a request to struct attn_rule, and what is wrong with them. */
#include "api/attend.h"
#include "api/bind_tensor.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define TEXT(...) api_arena_printf(a->job->arena, __VA_ARGS__)

static const struct api_value *option(const struct api_attend *a, size_t field) {
    return &a->values[field];
}

static bool refuse_shape(struct api_attend *a, const struct api_value *v, const char *expected, const char *hint) {
    char pointer[64] = "/";
    strncat(pointer, v->field->name, sizeof pointer - 2);
    const char *got = api_shape_text(a->job, &v->tensor);
    api_refuse(a->job, "shape_mismatch", pointer, "`%s` is %s but must be %s.", v->field->name, got, expected);
    a->job->problem->expected = expected;
    a->job->problem->got = got;
    a->job->problem->hint = hint;
    return false;
}

/* ---- bias and mask: NumPy's right-aligned rule against the scores as the caller sees them ------------------------ */

static bool refuse_grid(struct api_attend *a, const struct api_value *v, const struct attn_tensor *scores) {
    const struct attn_tensor *t = &v->tensor;
    const struct attn_dims *d = &a->call.dims;
    const char *hint = "Axes are matched from the last one backwards; a missing axis or one of size 1 repeats.";
    if (a->batched && a->headed && t->rank == 3 && t->shape[0] == d->batch && d->batch != d->heads)
        hint = TEXT("With heads, rank 3 means (heads, n_q, n_k); one for each example is (%zu, 1, %zu, %zu).", d->batch,
                    t->shape[1], t->shape[2]);
    return refuse_shape(a, v, TEXT("broadcastable to the scores, %s", api_shape_text(a->job, scores)), hint);
}

static bool bind_grid(struct api_attend *a, size_t field, struct attn_grid *grid) {
    const struct api_value *v = option(a, field);
    if (!api_given(v))
        return true;
    const struct attn_tensor *t = &v->tensor;
    const struct attn_dims *d = &a->call.dims;
    struct attn_tensor scores = api_attend_heads_shape(a, d->heads, d->n_q, d->n_k, NULL);
    size_t *strides[ATTN_MAX_RANK], axes = 0;
    if (a->batched)
        strides[axes++] = &grid->batch;
    if (a->headed)
        strides[axes++] = &grid->head;
    strides[axes++] = &grid->row;
    strides[axes++] = &grid->col;
    if (t->rank > scores.rank)
        return refuse_grid(a, v, &scores);
    size_t stride = 1;
    for (unsigned back = 1; back <= t->rank; back++) {
        size_t size = t->shape[t->rank - back], wanted = scores.shape[scores.rank - back];
        if (size != 1 && size != wanted)
            return refuse_grid(a, v, &scores);
        assert(back <= axes);
        *strides[axes - back] = size == 1 ? 0 : stride;
        stride *= size;
    }
    return true;
}

/* ---- padding and lengths ----------------------------------------------------------------------------------------- */

static bool tokens_pad(const struct api_attend *a) {
    return a->job->tokens.given && a->job->tokens.padded && !a->crossed;
}

static bool bind_padding(struct api_attend *a) {
    const struct api_value *v = option(a, API_AT_KEY_PADDING_MASK);
    const struct attn_dims *d = &a->call.dims;
    if (!api_given(v) && !tokens_pad(a))
        return true;
    const uint8_t *sent = NULL;
    if (api_given(v)) {
        const struct attn_tensor *t = &v->tensor;
        bool fits = t->shape[t->rank - 1] == d->n_k && t->rank == (a->batched ? 2u : 1u) &&
                    (t->rank == 1 || t->shape[0] == d->batch);
        if (!fits)
            return refuse_shape(a, v, a->batched ? TEXT("(%zu, %zu)", d->batch, d->n_k) : TEXT("(%zu,)", d->n_k),
                                a->n_past && t->shape[t->rank - 1] == a->k.n
                                    ? "It covers the keys of the past as well, in front."
                                    : "One flag for each key; true = padding, drop.");
        sent = t->data;
    }
    a->call.rule.padding = sent;
    if (!tokens_pad(a))
        return true;
    if (!(a->padding = api_take(a->job, d->batch * d->n_k, 1)))
        return false;
    const uint8_t *pads = a->job->tokens.pad_mask.data;
    for (size_t b = 0; b < d->batch; b++)
        for (size_t j = 0; j < d->n_k; j++) {
            bool pad = j >= a->n_past && pads[b * a->k.n + j - a->n_past];
            a->padding[b * d->n_k + j] = pad || (sent && sent[b * d->n_k + j]);
        }
    a->call.rule.padding = a->padding;
    return true;
}

static bool bind_lengths(struct api_attend *a) {
    const struct api_value *v = option(a, API_AT_KEY_LENGTHS);
    const struct attn_dims *d = &a->call.dims;
    if (!api_given(v))
        return true;
    if (a->n_past) {
        api_refuse(a->job, "conflict", "/key_lengths", "`key_lengths` cannot be combined with `past_key`.");
        a->job->problem->hint = "Drop keys of single examples by key_padding_mask, which covers past and new keys.";
        return false;
    }
    if (v->tensor.shape[0] != d->batch)
        return refuse_shape(a, v, TEXT("(%zu,)", d->batch), "One length for each example of the batch.");
    const int64_t *lengths = v->tensor.data;
    struct api_place place = {.name = v->field->name};
    for (size_t b = 0; b < d->batch; b++)
        if (lengths[b] < 0 || (uint64_t)lengths[b] > d->n_k)
            return api_refuse_element(
                a->job, "bad_value", &place, v, b,
                TEXT("The length %lld is not between 0 and the %zu keys.", (long long)lengths[b], d->n_k));
    a->call.rule.lengths = lengths;
    return true;
}

/* ---- one number a head ------------------------------------------------------------------------------------------- */

static bool check_per_head(struct api_attend *a, size_t field) {
    const struct api_value *v = option(a, field);
    size_t heads = a->call.dims.heads;
    if (v->form != API_TENSOR || v->tensor.shape[0] == heads)
        return true;
    return refuse_shape(a, v, TEXT("(%zu,)", heads), "One number for each query head.");
}

/* 2^(-8(h+1)/n) for the first n heads, n the largest power of two in heads; 2^(-4(2(h-n)+1)/n) for the rest.
 * Source: Press et al. 2021, "Train short, test long", and its published code for other numbers of heads. */
static void published_slopes(size_t heads, double *slopes) {
    size_t n = 1;
    while (n <= heads / 2)
        n *= 2;
    for (size_t h = 0; h < heads; h++)
        slopes[h] = exp2(h < n ? -8.0 * (double)(h + 1) / (double)n : -4.0 * (double)(2 * (h - n) + 1) / (double)n);
}

static bool bind_alibi(struct api_attend *a) {
    const struct api_value *v = option(a, API_AT_ALIBI);
    if (v->form == API_BOOL && v->boolean) {
        if (!(a->slopes = api_take(a->job, a->call.dims.heads, sizeof *a->slopes)))
            return false;
        published_slopes(a->call.dims.heads, a->slopes);
    }
    return check_per_head(a, API_AT_ALIBI);
}

/* ---- the rest ---------------------------------------------------------------------------------------------------- */

static bool bind_softcap(struct api_attend *a) {
    const struct api_value *v = option(a, API_AT_SOFTCAP);
    if (!api_given(v))
        return true;
    if (v->number < 0) {
        api_refuse(a->job, "bad_value", "/softcap", "`softcap` is %g but must be more than 0.", v->number);
        a->job->problem->hint = "0 or null leaves the scores uncapped.";
        return false;
    }
    a->call.rule.softcap = v->number;
    return true;
}

static bool bind_alignment(struct api_attend *a) {
    struct attn_rule *rule = &a->call.rule;
    const struct api_value *v = option(a, API_AT_CAUSAL_ALIGNMENT);
    rule->causal = option(a, API_AT_CAUSAL)->boolean;
    rule->bottom_right = v->choice == API_ALIGN_BOTTOM_RIGHT;
    rule->past = (int64_t)a->n_past;
    if (a->n_past && rule->bottom_right) {
        api_refuse(a->job, "conflict", "/causal_alignment",
                   "\"bottom_right\" cannot be combined with `past_key`, which already places the queries behind it.");
        a->job->problem->hint = "Leave causal_alignment out.";
        return false;
    }
    return true;
}

static void bind_window(struct api_attend *a) {
    const struct api_value *v = option(a, API_AT_WINDOW);
    bool given = v->form == API_PAIR;
    a->call.rule.left = given && v->pair[0] != API_PAIR_OPEN ? v->pair[0] : ATTN_OPEN;
    a->call.rule.right = given && v->pair[1] != API_PAIR_OPEN ? v->pair[1] : ATTN_OPEN;
}

bool api_attend_rule(struct api_attend *a) {
    struct attn_rule *rule = &a->call.rule;
    const struct api_value *scale = option(a, API_AT_SCALE), *fill = option(a, API_AT_MASK_VALUE);
    rule->scale = api_given(scale) ? scale->number : 1 / sqrt((double)a->call.dims.d);
    rule->fill = api_given(fill);
    rule->fill_value = rule->fill ? fill->number : 0;
    bind_window(a);
    return bind_softcap(a) && bind_grid(a, API_AT_ATTN_BIAS, &rule->bias) && bind_alibi(a) &&
           bind_grid(a, API_AT_ATTN_MASK, &rule->mask) && bind_padding(a) && bind_lengths(a) && bind_alignment(a) &&
           check_per_head(a, API_AT_SINKS) && api_attend_rule_data(a);
}

static const void *data_of(const struct api_value *v) {
    return v->form == API_TENSOR || v->form == API_MASK ? v->tensor.data : NULL;
}

bool api_attend_rule_data(struct api_attend *a) {
    struct attn_rule *rule = &a->call.rule;
    rule->bias.data = data_of(option(a, API_AT_ATTN_BIAS));
    rule->mask.data = data_of(option(a, API_AT_ATTN_MASK));
    rule->sinks = data_of(option(a, API_AT_SINKS));
    rule->alibi = a->slopes ? a->slopes : data_of(option(a, API_AT_ALIBI));
    struct attn_err err = attn_rule_check(rule, &a->call.dims);
    return err.code == ATTN_OK || api_refuse_err(a->job, err);
}
