#include "core/mask.h"
#include "core/clones.h"
#include "core/real.h"

ATTN_CLONES
static void strike_interval(real *x, size_t from, size_t to, real value) {
    for (size_t j = from; j < to; j++)
        x[j] = value;
}

ATTN_CLONES
static void strike_masked(real *restrict x, const uint8_t *restrict mask, size_t step, size_t n, real value) {
    if (step == 1) {
#pragma omp simd
        for (size_t j = 0; j < n; j++)
            x[j] = mask[j] ? x[j] : value;
    } else {
        for (size_t j = 0; j < n; j++)
            x[j] = mask[j * step] ? x[j] : value;
    }
}

ATTN_CLONES
static void strike_padding(real *restrict x, const uint8_t *restrict padding, size_t n, real value) {
#pragma omp simd
    for (size_t j = 0; j < n; j++)
        x[j] = padding[j] ? value : x[j];
}

void ATTN_REAL(attn_strike)(const struct attn_sight *s, size_t j0, size_t j1, real *x, real value) {
    size_t lo = s->lo < j0 ? j0 : s->lo > j1 ? j1 : s->lo;
    size_t hi = s->hi < lo ? lo : s->hi > j1 ? j1 : s->hi;
    strike_interval(x, 0, lo - j0, value);
    strike_interval(x, hi - j0, j1 - j0, value);
    if (s->mask)
        strike_masked(x + (lo - j0), s->mask + lo * s->mask_step, s->mask_step, hi - lo, value);
    if (s->padding)
        strike_padding(x + (lo - j0), s->padding + lo, hi - lo, value);
}
