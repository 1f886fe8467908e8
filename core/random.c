/* random.c - PCG64, SeedSequence and the ziggurat; see random.h. */
#include "core/random.h"

#include <math.h>
#include <stdbool.h>

__extension__ typedef unsigned __int128 wide;

enum { POOL = 4 };

static uint32_t mix_in(uint32_t value, uint32_t *constant) {
    value ^= *constant;
    *constant *= 0x931e8875u;
    value *= *constant;
    return value ^ value >> 16;
}

static uint32_t mix(uint32_t x, uint32_t y) {
    uint32_t result = 0xca01f9ddu * x - 0x4973f715u * y;
    return result ^ result >> 16;
}

/* The pool of SeedSequence: every word of entropy influences every word of the pool. */
static void fill_pool(uint32_t *pool, const uint32_t *words, size_t count) {
    uint32_t constant = 0x43b0d7e5u;
    for (size_t i = 0; i < POOL; i++)
        pool[i] = mix_in(i < count ? words[i] : 0, &constant);
    for (size_t from = 0; from < POOL; from++)
        for (size_t to = 0; to < POOL; to++)
            if (from != to)
                pool[to] = mix(pool[to], mix_in(pool[from], &constant));
    for (size_t from = POOL; from < count; from++)
        for (size_t to = 0; to < POOL; to++)
            pool[to] = mix(pool[to], mix_in(words[from], &constant));
}

static uint64_t draw_word(const uint32_t *pool, size_t index, uint32_t *constant) {
    uint64_t halves[2];
    for (size_t i = 0; i < 2; i++) {
        uint32_t value = pool[(2 * index + i) % POOL] ^ *constant;
        *constant *= 0x58f38dedu;
        value *= *constant;
        halves[i] = value ^ value >> 16;
    }
    return halves[0] | halves[1] << 32;
}

static void step(struct attn_rng *rng) {
    const wide multiplier = (wide)2549297995355413924u << 64 | 4865540595714422341u;
    wide state = (wide)rng->state_high << 64 | rng->state_low;
    state = state * multiplier + ((wide)rng->inc_high << 64 | rng->inc_low);
    rng->state_high = (uint64_t)(state >> 64);
    rng->state_low = (uint64_t)state;
}

void attn_rng_seed(struct attn_rng *rng, const uint32_t *words, size_t count) {
    uint32_t pool[POOL], constant = 0x8b51f9ddu;
    fill_pool(pool, words, count);
    uint64_t seed[4];
    for (size_t i = 0; i < 4; i++)
        seed[i] = draw_word(pool, i, &constant);
    wide inc = ((wide)seed[2] << 64 | seed[3]) << 1 | 1;
    rng->inc_high = (uint64_t)(inc >> 64);
    rng->inc_low = (uint64_t)inc;
    rng->state_high = rng->state_low = 0;
    step(rng);
    wide state = ((wide)rng->state_high << 64 | rng->state_low) + ((wide)seed[0] << 64 | seed[1]);
    rng->state_high = (uint64_t)(state >> 64);
    rng->state_low = (uint64_t)state;
    step(rng);
}

uint64_t attn_rng_next(struct attn_rng *rng) {
    step(rng);
    uint64_t folded = rng->state_high ^ rng->state_low;
    unsigned turn = (unsigned)(rng->state_high >> 58);
    return folded >> turn | folded << (-turn & 63);
}

static double next_uniform(struct attn_rng *rng) {
    return (double)(attn_rng_next(rng) >> 11) * 0x1p-53;
}

/* Beyond the last layer: Marsaglia 1964, two exponential variates. */
static double tail(struct attn_rng *rng, bool negative) {
    for (;;) {
        double x = -attn_ziggurat_end_inverse * log1p(-next_uniform(rng));
        double y = -log1p(-next_uniform(rng));
        if (y + y > x * x)
            return negative ? -(attn_ziggurat_end + x) : attn_ziggurat_end + x;
    }
}

static double next_normal(struct attn_rng *rng) {
    const struct attn_ziggurat *z = &attn_ziggurat;
    for (;;) {
        uint64_t bits = attn_rng_next(rng);
        unsigned layer = bits & 0xff;
        bool negative = bits >> 8 & 1;
        uint64_t abscissa = bits >> 9 & 0xfffffffffffffu;
        double x = (double)abscissa * z->width[layer];
        if (negative)
            x = -x;
        if (abscissa < z->accept[layer])
            return x;
        if (layer == 0)
            return tail(rng, abscissa >> 8 & 1);
        double low = z->height[layer], high = z->height[layer - 1];
        if ((high - low) * next_uniform(rng) + low < exp(-0.5 * x * x))
            return x;
    }
}

void attn_rng_uniform(struct attn_rng *rng, double *out, size_t n, double loc, double scale) {
    for (size_t i = 0; i < n; i++)
        out[i] = loc + scale * next_uniform(rng);
}

void attn_rng_normal(struct attn_rng *rng, double *out, size_t n, double loc, double scale) {
    for (size_t i = 0; i < n; i++)
        out[i] = loc + scale * next_normal(rng);
}
