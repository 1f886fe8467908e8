/* attend_trace.c - every intermediate of an attention request, in the order in which they come to be. */
#include "api/attend.h"
#include "api/decimal.h"

#include <stdio.h>
#include <string.h>

enum { FORMULA_MAX = 256 };

/* A formula that is put together from the options in use. */
struct formula {
    char text[FORMULA_MAX];
};

static void append(struct formula *f, const char *text) {
    strncat(f->text, text, sizeof f->text - strlen(f->text) - 1);
}

/* With every digit: what a formula says, evaluated on the steps before, gives the values beside it. */
static void append_number(struct formula *f, double number) {
    char text[API_DECIMAL_MAX + 1];
    *api_decimal_write_f64(text, number) = 0;
    append(f, text);
}

/* The steps that scores and output are made of: what the last change to queries, keys and values left. */
static const char *queries(const struct api_attend *a) {
    return a->roped ? "q_rotated" : "q";
}

static const char *new_keys(const struct api_attend *a) {
    return a->roped ? "k_rotated" : "k";
}

static const char *keys(const struct api_attend *a) {
    return a->n_past ? "present_key" : new_keys(a);
}

static const char *values(const struct api_attend *a) {
    return a->n_past ? "present_value" : "v";
}

static void append_grouping(struct formula *f, const struct api_attend *a) {
    const struct attn_dims *d = &a->call.dims;
    if (d->kv_heads == d->heads)
        return;
    char text[64];
    snprintf(text, sizeof text, ", head h with kv head ⌊h / %zu⌋", d->heads / d->kv_heads);
    append(f, text);
}

static void step(struct api_attend *a, const char *name, const char *formula, struct attn_tensor tensor) {
    struct api_writer *w = a->job->writer;
    api_write_object(w, NULL);
    api_write_string(w, "name", name);
    api_write_string(w, "formula", formula);
    api_write_shape(w, "shape", &tensor);
    api_write_tensor(w, "values", &tensor);
    api_write_object_end(w);
}

static void trace_input(struct api_attend *a, const struct api_side *side) {
    bool tokens = strcmp(side->input_name, "tokens") == 0;
    step(a, tokens ? "x" : side->input_name, tokens ? "the embedding of tokens" : "input", *side->input);
}

static void trace_side(struct api_attend *a, const struct api_side *side) {
    struct formula f = {""};
    append(&f, strcmp(side->input_name, "tokens") == 0 ? "x" : side->input_name);
    if (strcmp(side->input_name, side->name) == 0)
        strcpy(f.text, "input");
    if (side->w) {
        append(&f, " ");
        append(&f, side->w_name);
        append(&f, a->out_in ? "ᵀ" : "");
    }
    if (side->b) {
        append(&f, " + ");
        append(&f, side->b_name);
    }
    if (a->headed && a->joined)
        append(&f, ", columns split into heads");
    struct attn_tensor tensor = api_attend_side(a, side);
    if (side->plain)
        tensor.data = side->plain;
    step(a, side->name, f.text, tensor);
}

static void trace_rotation(struct api_attend *a) {
    struct formula f = {""};
    char dims[64];
    snprintf(dims, sizeof dims, " of the first %zu columns turned by position · ", a->rope.dims);
    append(&f, a->rope.interleaved ? "pairs (2i, 2i + 1)" : "pairs (i, i + dims/2)");
    append(&f, dims);
    append_number(&f, a->rope.base);
    snprintf(dims, sizeof dims, "^(−2i/%zu)", a->rope.dims);
    append(&f, dims);
    step(a, "q_rotated", f.text, api_attend_side(a, &a->q));
    step(a, "k_rotated", f.text, api_attend_side(a, &a->k));
}

static void trace_past(struct api_attend *a) {
    const struct attn_dims *d = &a->call.dims;
    struct formula f = {"past_key, then "};
    append(&f, new_keys(a));
    step(a, "present_key", f.text, api_attend_heads_shape(a, d->kv_heads, d->n_k, d->d, a->keys));
    step(a, "present_value", "past_value, then v",
         api_attend_heads_shape(a, d->kv_heads, d->n_k, d->d_v, a->values_all));
}

static void trace_masked(struct api_attend *a, struct attn_tensor scores) {
    const struct attn_rule *rule = &a->call.rule;
    struct formula f = {""};
    append(&f, rule->softcap > 0 ? "capped_scores" : "scores");
    if (rule->bias.data)
        append(&f, " + attn_bias");
    if (rule->alibi)
        append(&f, " − slope · |j − p|");
    bool masked = rule->causal || rule->mask.data || rule->padding || rule->lengths || rule->left != ATTN_OPEN ||
                  rule->right != ATTN_OPEN;
    if (masked) {
        append(&f, " where key j may be seen, else ");
        if (rule->fill)
            append_number(&f, rule->fill_value);
        else
            append(&f, "−∞");
    }
    scores.data = a->call.masked;
    step(a, "masked_scores", f.text, scores);
}

/* "0.5 · q kᵀ", or "q kᵀ / √d" by default. */
static struct formula scores_formula(const struct api_attend *a) {
    bool scaled = api_given(&a->values[API_AT_SCALE]);
    struct formula f = {""};
    if (scaled) {
        append_number(&f, a->call.rule.scale);
        append(&f, " · ");
    }
    append(&f, queries(a));
    append(&f, " ");
    append(&f, keys(a));
    append(&f, "ᵀ");
    if (!scaled) {
        char root[32];
        snprintf(root, sizeof root, " / √%zu", a->call.dims.d);
        append(&f, root);
    }
    append_grouping(&f, a);
    return f;
}

static void trace_scores(struct api_attend *a) {
    const struct attn_dims *d = &a->call.dims;
    const struct attn_rule *rule = &a->call.rule;
    struct attn_tensor scores = api_attend_heads_shape(a, d->heads, d->n_q, d->n_k, a->call.scores);
    struct formula f = scores_formula(a);
    step(a, "scores", f.text, scores);
    if (rule->softcap > 0) {
        f = (struct formula){""};
        append_number(&f, rule->softcap);
        append(&f, " · tanh(scores / ");
        append_number(&f, rule->softcap);
        append(&f, ")");
        scores.data = a->call.capped;
        step(a, "capped_scores", f.text, scores);
    }
    trace_masked(a, scores);
    scores.data = a->call.weights;
    step(a, "weights", rule->sinks ? "softmax(masked_scores) over keys and the head's sink" : "softmax(masked_scores)",
         scores);
}

static void trace_output(struct api_attend *a) {
    const struct attn_dims *d = &a->call.dims;
    struct formula f = {"weights "};
    append(&f, values(a));
    append_grouping(&f, a);
    if (!a->mha) {
        append(&f, a->headed && a->joined ? ", heads joined in order" : "");
        step(a, "output", f.text, api_attend_output(a));
        return;
    }
    step(a, "heads", f.text, api_attend_split_heads(a));
    step(a, "joined", "heads side by side, in order",
         api_attend_rows_shape(a, d->n_q, d->heads * d->d_v, a->call.output.data));
    f = (struct formula){"joined wo"};
    append(&f, a->out_in ? "ᵀ" : "");
    append(&f, a->bo ? " + bo" : "");
    step(a, "output", f.text, api_attend_output(a));
}

void api_attend_write_trace(struct api_attend *a) {
    api_write_array(a->job->writer, "trace");
    if (strcmp(a->q.input_name, "q") != 0)
        trace_input(a, &a->q);
    if (a->crossed)
        trace_input(a, &a->k);
    trace_side(a, &a->q);
    trace_side(a, &a->k);
    trace_side(a, &a->v);
    if (a->roped)
        trace_rotation(a);
    if (a->n_past)
        trace_past(a);
    trace_scores(a);
    trace_output(a);
    api_write_array_end(a->job->writer);
}

static double rows_numbers(const struct api_side *side) {
    return (double)side->groups * (double)side->n * (double)(side->d_in + 2 * side->d_out);
}

double api_attend_trace_numbers(const struct api_attend *a) {
    const struct attn_dims *d = &a->call.dims;
    double batch = (double)d->batch, heads = (double)d->heads, n_q = (double)d->n_q, n_k = (double)d->n_k;
    double sides = rows_numbers(&a->q) + rows_numbers(&a->k) + rows_numbers(&a->v);
    double past = a->n_past ? batch * (double)d->kv_heads * n_k * (double)(d->d + d->d_v) : 0;
    double scores = (a->call.rule.softcap > 0 ? 4 : 3) * batch * heads * n_q * n_k;
    return sides + past + scores + batch * n_q * (2 * heads * (double)d->d_v + (double)a->d_out);
}
