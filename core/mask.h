/* mask.h - which keys a query may see, in the one form that kernels, checks and oracles share. */
#ifndef ATTN_MASK_H
#define ATTN_MASK_H

#include "core/attention.h"

/* struct attn_sight - what one query row sees: key j iff lo <= j < hi and neither byte array strikes it out.
 *
 *     lo, hi     from causal, window and lengths; lo <= hi <= n_k, lo == hi: nothing
 *     mask       key j may be seen iff mask[j * mask_step] is nonzero; NULL: every key
 *     padding    key j is dropped iff padding[j] is nonzero; NULL: none
 */
struct attn_sight {
    size_t lo, hi;
    const uint8_t *mask;
    size_t mask_step;
    const uint8_t *padding;
};

/* attn_sights - the sights of `rows` queries from i on, of head h in example b.
 *
 *     sight    [rows]    out
 */
void attn_sights(const struct attn_rule *rule, const struct attn_dims *dims, size_t b, size_t h, size_t i, size_t rows,
                 struct attn_sight *sight);

/* attn_sees - is key j within the sight? */
static inline bool attn_sees(const struct attn_sight *s, size_t j) {
    return j >= s->lo && j < s->hi && !(s->mask && !s->mask[j * s->mask_step]) && !(s->padding && s->padding[j]);
}

/* attn_sees_any - is any key j0 <= j < j1 within the sight? */
bool attn_sees_any(const struct attn_sight *s, size_t j0, size_t j1);

/* attn_strike - writes `value` to the scores of the keys j0 <= j < j1 that are out of sight.
 *
 *     x    score of key j at x[j - j0]
 */
void attn_strike_f64(const struct attn_sight *s, size_t j0, size_t j1, double *x, double value);
void attn_strike_f32(const struct attn_sight *s, size_t j0, size_t j1, float *x, float value);

#endif
