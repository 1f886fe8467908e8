#include "core/attention.h"

#include <math.h>

int64_t attn_offset(const struct attn_rule *rule, const struct attn_dims *dims, size_t b) {
    if (!rule->bottom_right)
        return rule->past;
    int64_t keys = rule->lengths ? rule->lengths[b] : (int64_t)dims->n_k;
    return keys - (int64_t)dims->n_q;
}

static const struct attn_err fine;

static struct attn_err refuse(enum attn_code code, const char *arg, const char *why) {
    return (struct attn_err){code, arg, why};
}

static struct attn_err check_dims(const struct attn_dims *dims) {
    if (dims->heads < 1)
        return refuse(ATTN_BAD_VALUE, "num_heads", "must be at least 1");
    if (dims->kv_heads < 1)
        return refuse(ATTN_BAD_VALUE, "num_kv_heads", "must be at least 1");
    if (dims->heads % dims->kv_heads != 0)
        return refuse(ATTN_SHAPE_MISMATCH, "num_kv_heads", "must divide the number of query heads");
    if (dims->d < 1)
        return refuse(ATTN_SHAPE_MISMATCH, "q", "needs at least one column per head");
    if (dims->d_v < 1)
        return refuse(ATTN_SHAPE_MISMATCH, "v", "needs at least one column per head");
    return fine;
}

static struct attn_err check_scoring(const struct attn_rule *rule, const struct attn_dims *dims) {
    if (!isfinite(rule->scale))
        return refuse(ATTN_BAD_VALUE, "scale", "must be a finite number");
    if (!(rule->softcap >= 0) || isinf(rule->softcap))
        return refuse(ATTN_BAD_VALUE, "softcap", "must be a positive finite number");
    for (size_t h = 0; rule->alibi && h < dims->heads; h++)
        if (!isfinite(rule->alibi[h]))
            return refuse(ATTN_BAD_VALUE, "alibi", "takes finite slopes only");
    for (size_t h = 0; rule->sinks && h < dims->heads; h++)
        if (isnan(rule->sinks[h]) || rule->sinks[h] == (double)INFINITY)
            return refuse(ATTN_BAD_VALUE, "sinks", "takes numbers below infinity only");
    if (rule->fill && (isnan(rule->fill_value) || rule->fill_value == (double)INFINITY))
        return refuse(ATTN_BAD_VALUE, "mask_value", "must be a number below infinity");
    return fine;
}

static struct attn_err check_sight(const struct attn_rule *rule, const struct attn_dims *dims) {
    if (rule->left < ATTN_OPEN || rule->right < ATTN_OPEN)
        return refuse(ATTN_BAD_VALUE, "window", "has sides of 0 or more keys, or null for no bound");
    if (rule->past < 0 || (uint64_t)rule->past > dims->n_k)
        return refuse(ATTN_SHAPE_MISMATCH, "past_key", "cannot be longer than all keys together");
    if (rule->past > 0 && rule->lengths)
        return refuse(ATTN_CONFLICT, "key_lengths",
                      "cannot be combined with past keys: positions count from the end of the past, which is the "
                      "same for every example");
    if (rule->past > 0 && rule->bottom_right)
        return refuse(ATTN_CONFLICT, "causal_alignment",
                      "cannot be combined with past keys: they already place the queries behind the past");
    for (size_t b = 0; rule->lengths && b < dims->batch; b++)
        if (rule->lengths[b] < 0 || (uint64_t)rule->lengths[b] > dims->n_k)
            return refuse(ATTN_BAD_VALUE, "key_lengths", "must lie between 0 and the number of keys");
    return fine;
}

struct attn_err attn_rule_check(const struct attn_rule *rule, const struct attn_dims *dims) {
    struct attn_err err = check_dims(dims);
    if (err.code == ATTN_OK)
        err = check_scoring(rule, dims);
    if (err.code == ATTN_OK)
        err = check_sight(rule, dims);
    return err;
}
