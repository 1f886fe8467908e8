/* lookup.c - POST /lookup: attention as a soft dictionary that becomes sharper. */
#include "api/endpoints.h"

#include "api/bind_tensor.h"
#include "api/result.h"
#include "core/attention.h"
#include "core/nearest.h"

#include <stdio.h>

enum lookup_field { KEYS, VALUES, QUERIES, SHARPNESS, DTYPE, RANDOM, RETURN, ROUND, FIELDS };
enum { GIVE_OUTPUT, GIVE_WEIGHTS, GIVE_NEAREST, GIVE_ALL = 7 };

static const char *const results_known[] = {"output", "weights", "nearest", NULL};

static const struct api_field fields[FIELDS] = {
    [KEYS] = {.name = "keys",
              .accepts = API_TENSOR,
              .flags = API_REQUIRED,
              .min_rank = 2,
              .max_rank = 2,
              .shape = "(n, d)",
              .doc = "What queries are compared with."},
    [VALUES] = {.name = "values",
                .accepts = API_TENSOR,
                .flags = API_REQUIRED,
                .min_rank = 2,
                .max_rank = 2,
                .shape = "(n, d_v)",
                .doc = "What a key stands for."},
    [QUERIES] = {.name = "queries",
                 .accepts = API_TENSOR,
                 .min_rank = 2,
                 .max_rank = 2,
                 .shape = "(m, d)",
                 .doc = "What is looked up; the keys themselves by default."},
    [SHARPNESS] = {.name = "sharpness",
                   .accepts = API_NUMBER | API_TENSOR,
                   .flags = API_HAS_DEFAULT | API_NO_DRAW,
                   .standard = 1,
                   .min_rank = 1,
                   .max_rank = 1,
                   .shape = "(count)",
                   .doc = "A factor of keys and queries, or a list of them, which gives a list of results."},
    [DTYPE] = API_ROW_DTYPE,
    [RANDOM] = API_ROW_RANDOM,
    [RETURN] = API_ROW_RETURN(results_known),
    [ROUND] = API_ROW_ROUND,
};

const struct api_table api_lookup_table = {"LookupRequest", fields, FIELDS};

/* struct lookup
 *
 *     own       the queries are the keys, so each has a value of its own
 *     nearest   [m]; `work` is the kernel's
 */
struct lookup {
    struct api_job *job;
    struct attn_tensor *keys, *values, *queries;
    const double *sharpness;
    size_t count;
    bool own;
    struct attn_call call;
    struct attn_tensor output, weights, nearest;
    void *work;
};

static bool refuse_shape(struct lookup *l, const char *name, const struct attn_tensor *t, const char *other,
                         const struct attn_tensor *like, const char *what) {
    struct api_job *job = l->job;
    char pointer[16];
    snprintf(pointer, sizeof pointer, "/%s", name);
    job->problem->got = NULL;
    api_refuse(job, "shape_mismatch", pointer, "`%s` is %s but `%s` is %s: both need the same number of %s.", name,
               api_shape_text(job, t), other, api_shape_text(job, like), what);
    job->problem->expected = api_arena_printf(job->arena, "%s like %s", what, api_shape_text(job, like));
    job->problem->got = api_shape_text(job, t);
    return false;
}

static bool plan(struct lookup *l) {
    struct api_value *values = l->job->values;
    l->keys = &values[KEYS].tensor;
    l->values = &values[VALUES].tensor;
    l->own = !api_given(&values[QUERIES]);
    l->queries = l->own ? l->keys : &values[QUERIES].tensor;
    bool list = values[SHARPNESS].form == API_TENSOR;
    l->sharpness = list ? values[SHARPNESS].tensor.data : &values[SHARPNESS].number;
    l->count = list ? values[SHARPNESS].tensor.shape[0] : 1;
    if (l->values->shape[0] != l->keys->shape[0])
        return refuse_shape(l, "values", l->values, "keys", l->keys, "rows");
    if (l->queries->shape[1] != l->keys->shape[1])
        return refuse_shape(l, "queries", l->queries, "keys", l->keys, "columns");
    l->call.dtype = (enum attn_dtype)values[DTYPE].choice;
    l->call.dims =
        (struct attn_dims){1, 1, 1, l->queries->shape[0], l->keys->shape[0], l->keys->shape[1], l->values->shape[1]};
    l->call.rule.left = l->call.rule.right = ATTN_OPEN;
    return true;
}

static bool check_sharpness(struct lookup *l) {
    for (size_t i = 0; i < l->count; i++) {
        l->call.rule.scale = l->sharpness[i] * l->sharpness[i];
        struct attn_err err = attn_rule_check(&l->call.rule, &l->call.dims);
        if (err.code != ATTN_OK) {
            struct api_place place = {.name = "sharpness"};
            return api_refuse_element(l->job, "bad_value", &place, &l->job->values[SHARPNESS], i,
                                      "The square of a sharpness must be a finite number.");
        }
    }
    return true;
}

static bool wants(const struct lookup *l, unsigned result) {
    return api_wants(&l->job->values[RETURN], GIVE_ALL, result);
}

/* Weights are stored when they are sent or when their diagonal is needed. */
static bool take(struct lookup *l) {
    const struct attn_dims *d = &l->call.dims;
    double scores = (double)d->n_q * (double)d->n_k, output = (double)d->n_q * (double)d->d_v;
    bool weights = wants(l, GIVE_WEIGHTS) || l->own;
    l->call.weights = weights ? l : NULL; /* only asked whether it is there */
    size_t size = attn_dtype_size(l->call.dtype),
           work = attn_attention_work(&l->call, attn_exec_slots(l->job->env->exec));
    struct api_cost cost = {
        .multiply_adds = (double)l->count * scores * (double)(d->d + 2 * d->d_v),
        .numbers = (double)l->count * ((wants(l, GIVE_WEIGHTS) ? scores : 0) + output + (double)d->n_q),
        .bytes = (weights ? scores : 0) * (double)size + output * (double)size + 8 * (double)d->n_q + (double)work,
    };
    return api_admit(l->job, &cost) &&
           api_tensor_take(l->job, l->call.dtype, 2, (size_t[]){d->n_q, d->d_v}, &l->output) &&
           (!weights || api_tensor_take(l->job, l->call.dtype, 2, (size_t[]){d->n_q, d->n_k}, &l->weights)) &&
           api_tensor_take(l->job, ATTN_I64, 1, &d->n_q, &l->nearest) && (l->work = api_take(l->job, 1, work));
}

static void bind_arrays(struct lookup *l) {
    api_cast(l->keys, l->call.dtype);
    api_cast(l->values, l->call.dtype);
    if (!l->own)
        api_cast(l->queries, l->call.dtype);
    const struct attn_dims *d = &l->call.dims;
    l->call.q = (struct attn_view){l->queries->data, 0, 0, d->d};
    l->call.k = (struct attn_view){l->keys->data, 0, 0, d->d};
    l->call.v = (struct attn_view){l->values->data, 0, 0, d->d_v};
    l->call.output = (struct attn_view){l->output.data, 0, 0, d->d_v};
    l->call.weights = l->weights.data;
}

/* Keys and queries times s give scores times s squared. */
static bool compute(struct lookup *l, double sharpness) {
    const struct attn_exec *exec = l->job->env->exec;
    const struct attn_dims *d = &l->call.dims;
    l->call.rule.scale = sharpness * sharpness;
    return (attn_attention(&l->call, exec, l->work) &&
            attn_nearest(l->call.dtype, d->n_q, d->n_k, d->d_v, l->output.data, l->values->data, l->nearest.data,
                         exec)) ||
           api_refuse_stopped(l->job);
}

/* How often the nearest value is the own one, and the mean of the diagonal; null when the queries are others. */
static void write_scores(struct lookup *l) {
    struct api_writer *w = l->job->writer;
    if (!l->own) {
        api_write_null(w, "accuracy");
        api_write_null(w, "mean_own_weight");
        return;
    }
    const int64_t *nearest = l->nearest.data;
    size_t n = l->call.dims.n_q, hits = 0;
    double weight = 0;
    for (size_t i = 0; i < n; i++) {
        hits += nearest[i] == (int64_t)i;
        weight += l->call.dtype == ATTN_F64 ? ((const double *)l->weights.data)[i * n + i]
                                            : (double)((const float *)l->weights.data)[i * n + i];
    }
    api_write_number(w, "accuracy", (double)hits / (double)n);
    api_write_number(w, "mean_own_weight", weight / (double)n);
}

static void write_result(struct lookup *l, double sharpness) {
    struct api_writer *w = l->job->writer;
    struct api_results results = {0};
    api_write_number(w, "sharpness", sharpness);
    const struct attn_tensor *tensors[] = {&l->output, &l->weights, &l->nearest};
    for (unsigned r = 0; r < 3; r++)
        if (wants(l, r))
            api_results_add(&results, results_known[r], tensors[r]);
    write_scores(l);
    api_results_write(w, &results);
}

static bool write_list(struct lookup *l) {
    api_write_array(l->job->writer, "results");
    for (size_t i = 0; i < l->count; i++) {
        if (!compute(l, l->sharpness[i]))
            return false;
        api_write_object(l->job->writer, NULL);
        write_result(l, l->sharpness[i]);
        api_write_object_end(l->job->writer);
    }
    api_write_array_end(l->job->writer);
    return true;
}

bool api_lookup(struct api_job *job) {
    struct lookup l = {.job = job};
    if (!plan(&l) || !check_sharpness(&l))
        return false;
    const struct attn_dims *d = &l.call.dims;
    snprintf(job->response->shape, API_SHAPE_MAX, "q%zu k%zu d%zu", d->n_q, d->n_k, d->d);
    if (!take(&l))
        return false;
    bind_arrays(&l);
    if (job->values[SHARPNESS].form == API_TENSOR)
        return write_list(&l);
    if (!compute(&l, l.sharpness[0]))
        return false;
    write_result(&l, l.sharpness[0]);
    return true;
}
