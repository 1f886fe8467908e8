#include "core/checks.h"

#include <assert.h>
#include <math.h>

enum { MOST_ROWS = 64, SCRATCH_NUMBERS = 1 << 19, ALIGN = 64 };

static size_t aligned(size_t bytes) {
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

/* A task is a block of rows of one head; with weights at hand its size does not matter, without them it bounds the
 * scratch. */
static size_t rows_per_task(const struct attn_call *call) {
    size_t rows = MOST_ROWS;
    while (!call->weights && rows > 1 && rows * call->dims.n_k > SCRATCH_NUMBERS)
        rows /= 2;
    return rows < call->dims.n_q ? rows : call->dims.n_q;
}

static size_t blocks_per_head(const struct attn_call *call) {
    size_t rows = rows_per_task(call);
    return (call->dims.n_q + rows - 1) / rows;
}

static size_t task_count(const struct attn_call *call) {
    return call->dims.batch * call->dims.heads * blocks_per_head(call);
}

static const void *grid_at(const struct attn_grid *grid, size_t size, size_t b, size_t h, size_t i) {
    if (!grid->data)
        return NULL;
    return (const char *)grid->data + (b * grid->batch + h * grid->head + i * grid->row) * size;
}

static void *view_at(const struct attn_view *view, size_t size, size_t b, size_t h, size_t i) {
    if (!view->data)
        return NULL;
    return (char *)view->data + (b * view->batch + h * view->head + i * view->row) * size;
}

/* The call that gives rows i .. i + rows - 1 of head h of example b alone. Of v one column is enough: the weights do
 * not depend on it. */
static struct attn_call part_of(const struct attn_call *call, size_t b, size_t h, size_t i, size_t rows) {
    struct attn_call part = *call;
    struct attn_rule *rule = &part.rule;
    size_t size = attn_dtype_size(call->dtype), g = h * call->dims.kv_heads / call->dims.heads;
    part.dims = (struct attn_dims){1, 1, 1, rows, call->dims.n_k, call->dims.d, 1};
    rule->past = attn_offset(&call->rule, &call->dims, b) + (int64_t)i;
    rule->bottom_right = false;
    rule->bias.data = grid_at(&call->rule.bias, size, b, h, i);
    rule->mask.data = grid_at(&call->rule.mask, 1, b, h, i);
    rule->alibi = rule->alibi ? rule->alibi + h : NULL;
    rule->sinks = rule->sinks ? rule->sinks + h : NULL;
    rule->padding = rule->padding ? rule->padding + b * call->dims.n_k : NULL;
    rule->lengths = rule->lengths ? rule->lengths + b : NULL;
    part.q.data = view_at(&call->q, size, b, h, i);
    part.k.data = view_at(&call->k, size, b, g, 0);
    part.v.data = view_at(&call->v, size, b, g, 0);
    part.output = (struct attn_view){NULL, rows, rows, 1};
    part.weights = part.scores = part.capped = part.masked = part.lse = NULL;
    return part;
}

/* Scratch of one slot when weights are computed again: weights, output, lse, and the kernel's own. */
struct scratch {
    size_t weights, output, lse, kernel;
};

/* Asked before there are arrays: only dims matter, and that weights and lse will be wanted. */
static struct scratch scratch_of(const struct attn_call *call) {
    size_t size = attn_dtype_size(call->dtype), rows = rows_per_task(call);
    struct attn_call part = *call;
    part.dims = (struct attn_dims){1, 1, 1, rows, call->dims.n_k, call->dims.d, 1};
    part.weights = part.lse = &part;
    part.scores = part.capped = part.masked = NULL;
    return (struct scratch){aligned(rows * call->dims.n_k * size), aligned(rows * size), aligned(rows * size),
                            aligned(attn_attention_work(&part, 1))};
}

static size_t scratch_size(const struct attn_call *call) {
    if (call->weights)
        return 0;
    struct scratch s = scratch_of(call);
    return s.weights + s.output + s.lse + s.kernel;
}

size_t attn_check_weights_work(const struct attn_call *call, size_t slots) {
    return aligned(task_count(call) * sizeof(struct attn_weight_report)) + slots * scratch_size(call);
}

struct checking {
    const struct attn_call *call;
    const struct attn_exec *exec;
    struct attn_weight_report *reports;
    char *scratch;
    size_t scratch_size;
};

static double read_real(enum attn_dtype dtype, const void *x, size_t at) {
    assert(x);
    return dtype == ATTN_F64 ? ((const double *)x)[at] : (double)((const float *)x)[at];
}

/* A bias of -infinity takes a key away as surely as a mask. */
static bool bias_drops(const struct attn_call *call, size_t b, size_t h, size_t i, size_t j) {
    const struct attn_grid *bias = &call->rule.bias;
    size_t at = b * bias->batch + h * bias->head + i * bias->row + j * bias->col;
    return bias->data && read_real(call->dtype, bias->data, at) == -(double)INFINITY;
}

static bool row_is_empty(const struct attn_call *call, size_t b, size_t h, size_t i) {
    for (size_t j = 0; j < call->dims.n_k; j++) {
        bool allowed = attn_allowed(&call->rule, &call->dims, b, h, i, j);
        if (allowed ? !bias_drops(call, b, h, i, j) : call->rule.fill)
            return false;
    }
    return true;
}

/* First column above the diagonal of row i. */
static size_t diagonal_end(const struct attn_call *call, size_t b, size_t i) {
    int64_t p = attn_offset(&call->rule, &call->dims, b) + (int64_t)i;
    if (p < 0)
        return 0;
    return (size_t)p + 1 < call->dims.n_k ? (size_t)p + 1 : call->dims.n_k;
}

static void check_row(const struct attn_call *call, size_t b, size_t h, size_t i, const void *row, double sink_share,
                      struct attn_weight_report *report) {
    size_t n_k = call->dims.n_k, split = diagonal_end(call, b, i);
    bool wide = call->dtype == ATTN_F64;
    struct attn_row_measure m = wide ? attn_measure_row_f64(row, n_k, split) : attn_measure_row_f32(row, n_k, split);
    double error = fabs(m.sum + sink_share - 1);
    if (m.sum == 0 && row_is_empty(call, b, h, i)) {
        report->empty_rows++;
        error = 0;
    }
    if (!isfinite(m.sum)) {
        report->finite = false;
        error = INFINITY;
    }
    if (error > report->max_sum_error)
        report->max_sum_error = error;
    if (m.future_max > report->max_future)
        report->max_future = m.future_max;
    const struct attn_rule *rule = &call->rule;
    if (rule->padding || rule->lengths) {
        const uint8_t *padding = rule->padding ? rule->padding + b * n_k : NULL;
        size_t length = rule->lengths ? (size_t)rule->lengths[b] : n_k;
        report->dropped +=
            wide ? attn_dropped_sum_f64(row, n_k, padding, length) : attn_dropped_sum_f32(row, n_k, padding, length);
    }
}

static void check_task(void *arg, size_t index, size_t slot) {
    const struct checking *c = arg;
    const struct attn_call *call = c->call;
    size_t blocks = blocks_per_head(call), most = rows_per_task(call), size = attn_dtype_size(call->dtype);
    size_t h = index / blocks % call->dims.heads, b = index / blocks / call->dims.heads, first = index % blocks * most;
    size_t rows = call->dims.n_q - first < most ? call->dims.n_q - first : most;
    size_t at = (b * call->dims.heads + h) * call->dims.n_q + first;
    const char *weights = call->weights ? (const char *)call->weights + at * call->dims.n_k * size : NULL;
    const char *lse = call->lse ? (const char *)call->lse + at * size : NULL;
    if (!weights) {
        char *scratch = c->scratch + slot * c->scratch_size;
        struct scratch s = scratch_of(call);
        struct attn_call part = part_of(call, b, h, first, rows);
        part.weights = scratch;
        part.output.data = scratch + s.weights;
        part.lse = scratch + s.weights + s.output;
        if (!attn_attention(&part, NULL, scratch + s.weights + s.output + s.lse))
            return;
        weights = part.weights;
        lse = part.lse;
    }
    for (size_t r = 0; r < rows; r++) {
        double share = call->rule.sinks ? exp(call->rule.sinks[h] - read_real(call->dtype, lse, r)) : 0;
        check_row(call, b, h, first + r, weights + r * call->dims.n_k * size, share, &c->reports[index]);
    }
}

bool attn_check_weights(const struct attn_call *call, const struct attn_exec *exec, void *work,
                        struct attn_weight_report *report) {
    size_t tasks = task_count(call);
    struct checking c = {call, exec, work, (char *)work + aligned(tasks * sizeof *report), scratch_size(call)};
    for (size_t t = 0; t < tasks; t++)
        c.reports[t] = (struct attn_weight_report){.finite = true};
    bool done = attn_exec_run(exec, tasks, check_task, &c);
    *report = (struct attn_weight_report){.finite = true};
    for (size_t t = 0; t < tasks; t++) {
        const struct attn_weight_report *part = &c.reports[t];
        report->max_sum_error = fmax(report->max_sum_error, part->max_sum_error);
        report->max_future = fmax(report->max_future, part->max_future);
        report->dropped += part->dropped;
        report->empty_rows += part->empty_rows;
        report->finite = report->finite && part->finite;
    }
    return done;
}

size_t attn_past_rows(const struct attn_rule *rule, const struct attn_dims *dims, size_t b) {
    int64_t rows = (int64_t)dims->n_k - 1 - attn_offset(rule, dims, b);
    size_t most = rule->bottom_right ? dims->n_q - 1 : dims->n_q;
    if (rows < 0)
        return 0;
    return (size_t)rows < most ? (size_t)rows : most;
}

double attn_past_change(const struct attn_call *call, const struct attn_view *changed) {
    double most = 0;
    size_t size = attn_dtype_size(call->dtype);
    for (size_t b = 0; b < call->dims.batch; b++) {
        size_t rows = attn_past_rows(&call->rule, &call->dims, b);
        for (size_t h = 0; h < call->dims.heads; h++)
            for (size_t i = 0; i < rows; i++)
                most = fmax(most, attn_max_change(call->dtype, view_at(&call->output, size, b, h, i),
                                                  view_at(changed, size, b, h, i), call->dims.d_v));
    }
    return most;
}

double attn_max_change(enum attn_dtype dtype, const void *a, const void *b, size_t count) {
    return dtype == ATTN_F64 ? attn_max_change_f64(a, b, count) : attn_max_change_f32(a, b, count);
}

bool attn_all_finite(enum attn_dtype dtype, const void *x, size_t count) {
    return dtype == ATTN_F64 ? attn_all_finite_f64(x, count) : attn_all_finite_f32(x, count);
}
