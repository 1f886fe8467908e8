#include "core/mask.h"

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t clamp(int64_t x, int64_t most) {
    return x < 0 ? 0 : least(x, most);
}

/* Written so that no sum overflows: a window may be as wide as int64_t. */
struct attn_sight attn_sight(const struct attn_rule *rule, const struct attn_dims *dims, size_t b, size_t h, size_t i) {
    int64_t n_k = (int64_t)dims->n_k;
    int64_t p = (int64_t)i + attn_offset(rule, dims, b);
    int64_t lo = 0, hi = n_k;
    if (rule->lengths)
        hi = clamp(rule->lengths[b], n_k);
    if (rule->causal)
        hi = least(hi, clamp(p + 1, n_k));
    if (rule->left >= 0 && p > rule->left)
        lo = clamp(p - rule->left, n_k);
    if (rule->right >= 0 && rule->right < n_k - p)
        hi = least(hi, clamp(p + rule->right + 1, n_k));
    struct attn_sight s = {(size_t)lo, (size_t)(hi > lo ? hi : lo), NULL, rule->mask.col, NULL};
    if (rule->mask.data) {
        const struct attn_grid *m = &rule->mask;
        s.mask = (const uint8_t *)m->data + b * m->batch + h * m->head + i * m->row;
    }
    if (rule->padding)
        s.padding = rule->padding + b * dims->n_k;
    return s;
}

bool attn_sees_any(const struct attn_sight *s, size_t j0, size_t j1) {
    if (j0 < s->lo)
        j0 = s->lo;
    if (j1 > s->hi)
        j1 = s->hi;
    if (!s->mask && !s->padding)
        return j0 < j1;
    for (size_t j = j0; j < j1; j++)
        if (attn_sees(s, j))
            return true;
    return false;
}

bool attn_allowed(const struct attn_rule *rule, const struct attn_dims *dims, size_t b, size_t h, size_t i, size_t j) {
    struct attn_sight s = attn_sight(rule, dims, b, h, i);
    return attn_sees(&s, j);
}
