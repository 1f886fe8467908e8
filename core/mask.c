#include "core/mask.h"

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t clamp(int64_t x, int64_t most) {
    return x < 0 ? 0 : least(x, most);
}

/* Written so that no sum overflows: a window may be as wide as int64_t. */
static void see(const struct attn_rule *rule, const struct attn_dims *dims, size_t b, size_t h, size_t i,
                struct attn_sight *s) {
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
    const struct attn_grid *m = &rule->mask;
    s->lo = (size_t)lo;
    s->hi = (size_t)(hi > lo ? hi : lo);
    s->mask = m->data ? (const uint8_t *)m->data + b * m->batch + h * m->head + i * m->row : NULL;
    s->mask_step = m->col;
    s->padding = rule->padding ? rule->padding + b * dims->n_k : NULL;
}

void attn_sights(const struct attn_rule *rule, const struct attn_dims *dims, size_t b, size_t h, size_t i, size_t rows,
                 struct attn_sight *sight) {
    for (size_t r = 0; r < rows; r++)
        see(rule, dims, b, h, i + r, &sight[r]);
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
    struct attn_sight s;
    see(rule, dims, b, h, i, &s);
    return attn_sees(&s, j);
}
