/* attend_checks.c - the checks of an attention answer, measured on its arrays.
 *
 * Causality is tried as a course would: the last row of the input is changed by +2, and the earlier rows of the output
 * must stay. Only the last rows of q, k and v can change with it, so only these are projected again and put in place
 * of the true ones for one more run of the kernel. That run comes first and goes into the arrays that the true run
 * then overwrites: both take the same path and need no second n_q * n_k array, so that a difference is a real one.
 */
#include "api/attend.h"

#include "api/check.h"
#include "core/perturb.h"

#include <math.h>

static const double shift = 2;

bool api_attend_changed_rows(struct api_attend *a, struct api_side *side) {
    void *rows = side->w ? side->shifted : side->changed;
    attn_shift_last_rows(a->dtype, side->groups, side->n, side->d_in, side->input->data, shift, rows);
    return !side->w || api_attend_project(a, side->groups, rows, side->w, side->b, side->changed);
}

static void swap_last(struct api_attend *a, const struct attn_view *view, const struct api_side *side, size_t rows) {
    if (side->changed)
        attn_swap_rows(a->dtype, view, a->call.dims.batch, side->heads, rows - 1, side->d, side->changed);
}

bool api_attend_changed_run(struct api_attend *a) {
    struct attn_call call = a->call;
    call.output.data = a->heads_changed;
    swap_last(a, &call.q, &a->q, call.dims.n_q);
    swap_last(a, &call.k, &a->k, call.dims.n_k);
    swap_last(a, &call.v, &a->v, call.dims.n_k);
    bool done = attn_attention(&call, a->job->env->exec, a->work);
    /* Backwards, since q, k and v may be one array. */
    swap_last(a, &call.v, &a->v, call.dims.n_k);
    swap_last(a, &call.k, &a->k, call.dims.n_k);
    swap_last(a, &call.q, &a->q, call.dims.n_q);
    return done;
}

/* Heads that stay give outputs that stay; else the change is looked for behind wo, in the output itself. */
static bool measure_change(struct api_attend *a) {
    const struct attn_dims *d = &a->call.dims;
    struct attn_view changed = a->call.output;
    changed.data = a->heads_changed;
    a->past_change = attn_past_change(&a->call, &changed);
    if (a->past_change == 0 || !a->mha)
        return true;
    if (!api_attend_project(a, d->batch * d->n_q, a->heads_changed, a->wo, a->bo, a->output_changed))
        return false;
    a->past_change = 0;
    for (size_t b = 0; b < d->batch; b++) {
        size_t at = b * d->n_q * a->d_out * a->size, rows = attn_past_rows(&a->call.rule, d, b);
        double change = attn_max_change(a->dtype, (const char *)a->output + at, (const char *)a->output_changed + at,
                                        rows * a->d_out);
        a->past_change = fmax(a->past_change, change);
    }
    return true;
}

/* An array that the client claims to be the result, in our dtype; `own` where none of `count` numbers was sent. */
static bool claimed(struct api_attend *a, const struct attn_tensor *claim, size_t count, void *own, void **data) {
    *data = own;
    if (!claim || attn_tensor_count(claim) != count)
        return true;
    *data = claim->data;
    if (a->dtype == ATTN_F64)
        return true;
    float *narrow = api_take(a->job, count, sizeof *narrow);
    for (size_t i = 0; narrow && i < count; i++)
        narrow[i] = (float)((const double *)claim->data)[i];
    *data = narrow;
    return narrow != NULL;
}

/* Of arrays that were sent it cannot be seen what the client's program makes of a changed input. */
static bool measure_claim(struct api_attend *a) {
    const struct attn_dims *d = &a->call.dims;
    const struct api_claim *claim = a->job->claim;
    struct attn_call call = a->call;
    size_t count = d->batch * d->n_q * (a->mha ? a->d_out : d->heads * d->d_v);
    void *output;
    if (!claimed(a, claim->weights, d->batch * d->heads * d->n_q * d->n_k, call.weights, &call.weights) ||
        !claimed(a, claim->output, count, a->output, &output) ||
        !attn_check_weights(&call, a->job->env->exec, a->work, &a->report))
        return false;
    a->past_change = 0;
    a->finite = a->report.finite && attn_all_finite(a->dtype, output, count);
    return true;
}

bool api_attend_measure(struct api_attend *a) {
    const struct attn_dims *d = &a->call.dims;
    if (a->job->claim)
        return measure_claim(a);
    if (!measure_change(a) || !attn_check_weights(&a->call, a->job->env->exec, a->work, &a->report))
        return false;
    a->finite = a->report.finite &&
                attn_all_finite(a->dtype, a->call.output.data, d->batch * d->heads * d->n_q * d->d_v) &&
                (!a->mha || attn_all_finite(a->dtype, a->output, d->batch * d->n_q * a->d_out));
    return true;
}

/* A finite fill leaves what underflows to nothing, or nearly so; masks that drop leave nothing at all. */
static const double sum_tolerance_f64 = 1e-9, sum_tolerance_f32 = 1e-5, fill_tolerance = 1e-8;

void api_attend_write_checks(struct api_attend *a) {
    struct api_writer *w = a->job->writer;
    const struct attn_weight_report *r = &a->report;
    const struct attn_rule *rule = &a->call.rule;
    double none = rule->fill ? fill_tolerance : 0;
    bool sums = r->max_sum_error <= (a->dtype == ATTN_F64 ? sum_tolerance_f64 : sum_tolerance_f32);
    bool causal = r->max_future <= none && a->past_change <= none;
    bool padded = rule->padding || rule->lengths, unpadded = r->dropped <= none;
    api_write_object(w, "checks");
    api_write_bool(w, "ok", sums && (causal || !rule->causal) && (unpadded || !padded) && a->finite);
    api_write_object(w, "normalization");
    api_write_bool(w, "holds", sums);
    api_write_number(w, "max_abs_error", r->max_sum_error);
    api_write_integer(w, "empty_rows", (int64_t)r->empty_rows);
    api_write_object_end(w);
    api_write_object(w, "causality");
    api_write_bool(w, "requested", rule->causal);
    api_write_bool(w, "holds", causal);
    api_write_number(w, "max_future_weight", r->max_future);
    if (!a->job->claim) {
        api_write_integer(w, "perturbed_position", (int64_t)a->k.n - 1);
        api_write_number(w, "max_past_change", a->past_change);
    }
    api_write_object_end(w);
    api_write_object(w, "padding");
    api_write_bool(w, "requested", padded);
    api_write_bool(w, "holds", unpadded);
    api_write_number(w, "total_weight", r->dropped);
    api_write_object_end(w);
    api_write_object(w, "finite");
    api_write_bool(w, "holds", a->finite);
    api_write_object_end(w);
    api_write_object_end(w);
}
