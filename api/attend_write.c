/* attend_write.c - the answer of an attention request: results, shapes, checks, trace. */
#include "api/attend.h"

#include "api/result.h"

#include <string.h>

/* q, k or v by heads: a copy where heads lie apart in the rows. */
static void *heads_data(const struct api_side *side) {
    return side->split ? side->split : side->rows;
}

static struct attn_tensor weights_of(const struct api_attend *a) {
    const struct attn_dims *d = &a->call.dims;
    if (a->mean_weights)
        return api_attend_rows_shape(a, d->n_q, d->n_k, a->mean_weights);
    return api_attend_heads_shape(a, d->heads, d->n_q, d->n_k, a->call.weights);
}

struct attn_tensor api_attend_side(const struct api_attend *a, const struct api_side *side) {
    return api_attend_heads_shape(a, side->heads, side->n, side->d, heads_data(side));
}

struct attn_tensor api_attend_output(const struct api_attend *a) {
    const struct attn_dims *d = &a->call.dims;
    if (a->joined)
        return api_attend_rows_shape(a, d->n_q, a->d_out, a->output);
    return api_attend_heads_shape(a, d->heads, d->n_q, d->d_v, a->output);
}

struct attn_tensor api_attend_split_heads(const struct api_attend *a) {
    const struct attn_dims *d = &a->call.dims;
    return api_attend_heads_shape(a, d->heads, d->n_q, d->d_v, a->split_heads ? a->split_heads : a->call.output.data);
}

static struct attn_tensor scores_of(const struct api_attend *a, void *data) {
    const struct attn_dims *d = &a->call.dims;
    return api_attend_heads_shape(a, d->heads, d->n_q, d->n_k, data);
}

static struct attn_tensor result(const struct api_attend *a, enum api_attend_result which) {
    const struct attn_dims *d = &a->call.dims;
    switch (which) {
    case API_GIVE_OUTPUT:
        return api_attend_output(a);
    case API_GIVE_WEIGHTS:
        return weights_of(a);
    case API_GIVE_SCORES:
        return scores_of(a, a->call.scores);
    case API_GIVE_CAPPED:
        return scores_of(a, a->call.capped);
    case API_GIVE_MASKED:
        return scores_of(a, a->call.masked);
    case API_GIVE_LOGSUMEXP:
        return api_attend_heads_shape(a, d->heads, d->n_q, 0, a->call.lse);
    case API_GIVE_Q:
        return api_attend_side(a, &a->q);
    case API_GIVE_K:
        return api_attend_side(a, &a->k);
    case API_GIVE_V:
        return api_attend_side(a, &a->v);
    case API_GIVE_PRESENT_KEY:
        return api_attend_heads_shape(a, d->kv_heads, d->n_k, d->d, a->n_past ? a->keys : heads_data(&a->k));
    case API_GIVE_PRESENT_VALUE:
        return api_attend_heads_shape(a, d->kv_heads, d->n_k, d->d_v, a->n_past ? a->values_all : heads_data(&a->v));
    default:
        return api_attend_split_heads(a);
    }
}

/* Shapes that explain the answer although their arrays are not sent. */
static const enum api_attend_result explained[] = {API_GIVE_Q, API_GIVE_K, API_GIVE_V, API_GIVE_SCORES,
                                                   API_GIVE_WEIGHTS};

void api_attend_write(struct api_attend *a) {
    const char *const *names = a->values[API_AT_RETURN].field->choices;
    struct api_results results;
    results.count = 0;
    for (unsigned r = 0; r < API_GIVE_RESULTS; r++)
        if (api_attend_wants(a, r)) {
            struct attn_tensor tensor = result(a, r);
            api_results_add(&results, names[r], &tensor);
        }
    for (size_t e = 0; e < sizeof explained / sizeof *explained; e++)
        if (!api_attend_wants(a, explained[e])) {
            struct attn_tensor tensor = result(a, explained[e]);
            tensor.data = NULL;
            api_results_add(&results, names[explained[e]], &tensor);
        }
    api_results_write(a->job->writer, &results);
    if (a->checked)
        api_attend_write_checks(a);
    if (a->traced)
        api_attend_write_trace(a);
}

bool api_attend(struct api_job *job, bool mha) {
    struct api_attend a;
    memset(&a, 0, sizeof a);
    a.job = job;
    a.values = job->values;
    a.mha = mha;
    if (!api_attend_plan(&a) || !api_attend_rule(&a) || !api_attend_layout(&a) || !api_attend_rule_data(&a) ||
        !api_attend_run(&a))
        return false;
    api_attend_write(&a);
    return true;
}
