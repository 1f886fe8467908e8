#include "core/clones.h"
#include "core/real.h"
#include "core/softmax.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* exp(x) = 2^k * exp(r), k = round(x / ln 2), r = x - k ln 2 in two pieces so that k * LN2_HIGH is exact.
 * Adding ROUNDER rounds to the integer k and leaves k + BIAS + SPARE in the low bits of the sum: shifted up, these are
 * the bits of 2^(k + SPARE), a normal number for every k that matters. */
#ifdef ATTN_SINGLE
typedef uint32_t bits;
enum { LANES = 16, CHAINS = 4, MANTISSA = 23, BIAS = 127, SPARE = 64 };
static const real LOG2_E = 0x1.715476p0F, LN2_HIGH = 0x1.63p-1F, LN2_LOW = -0x1.bd0106p-13F;
static const real ROUNDER = 0x1.8p23F + BIAS + SPARE;
static const real GONE = -105; /* exp(GONE) is below half the smallest subnormal */
static const real TANH_IS_ONE = 30;
#else
typedef uint64_t bits;
enum { LANES = 8, CHAINS = 4, MANTISSA = 52, BIAS = 1023, SPARE = 64 };
static const real LOG2_E = 0x1.71547652b82fep0, LN2_HIGH = 0x1.62e42feep-1, LN2_LOW = 0x1.a39ef35793c76p-33;
static const real ROUNDER = 0x1.8p52 + BIAS + SPARE;
static const real GONE = -746;
static const real TANH_IS_ONE = 44;
#endif

/* exp(r) - 1 - r, divided by r^2, for |r| <= ln(2) / 2. */
static inline real tail_of_exp(real r) {
#ifdef ATTN_SINGLE
    return 0x1p-1F + r * (0x1.5554dcp-3F + r * (0x1.55551ap-5F + r * (0x1.120ba2p-7F + r * 0x1.6d113cp-10F)));
#else
    real low = 0x1.0000000000001p-1 + r * 0x1.5555555555556p-3;
    real r2 = r * r;
    low += r2 * (0x1.5555555553d4fp-5 + r * 0x1.11111111109adp-7);
    real high = 0x1.6c16c17893833p-10 + r * 0x1.a01a01a7c8d47p-13;
    high += r2 * (0x1.a019b8ef67c6cp-16 + r * 0x1.71de0d9c145d0p-19);
    real r4 = r2 * r2;
    high += r4 * (0x1.2891a8c1d838dp-22 + r * 0x1.af38d53857513p-26);
    return low + r4 * high;
#endif
}

struct reduced {
    real power, r; /* 2^(k + SPARE) */
};

static inline struct reduced reduce(real x) {
    real sum = x * LOG2_E + ROUNDER;
    real k = sum - ROUNDER;
    bits b;
    memcpy(&b, &sum, sizeof b);
    b <<= MANTISSA;
    real power;
    memcpy(&power, &b, sizeof power);
    return (struct reduced){power, (x - k * LN2_HIGH) - k * LN2_LOW};
}

/* exp(x) for GONE <= x <= 0 or NaN. Only the last product can leave the normal range: a subnormal result is rounded
 * once. */
static inline real exp_of(real x) {
    struct reduced a = reduce(x);
    real y = 1 + (a.r + a.r * a.r * tail_of_exp(a.r));
    return y * a.power * (real)0x1p-64;
}

/* tanh(x) = t / (t + 2) with t = exp(2 |x|) - 1, which keeps its digits for small x. */
static inline real tanh_of(real x) {
#ifdef ATTN_SINGLE
    real twice = 2 * fabsf(x);
#else
    real twice = 2 * fabs(x);
#endif
    twice = twice > TANH_IS_ONE ? TANH_IS_ONE : twice;
    struct reduced a = reduce(twice);
    real power = a.power * (real)0x1p-64;
    real t = power * (a.r + a.r * a.r * tail_of_exp(a.r)) + (power - 1);
    real y = t / (t + 2);
#ifdef ATTN_SINGLE
    return copysignf(y, x);
#else
    return copysign(y, x);
#endif
}

/* The sum of the lanes, by four chains of additions. */
static inline double sum_of(const real part[LANES]) {
    double a[CHAINS];
    for (size_t c = 0; c < CHAINS; c++)
        a[c] = (double)part[c];
    for (size_t l = CHAINS; l < LANES; l += CHAINS)
        for (size_t c = 0; c < CHAINS; c++)
            a[c] += (double)part[l + c];
    return (a[0] + a[1]) + (a[2] + a[3]);
}

/* y[l] = exp(x[l] - top). The clamp is a loop of its own: within one the compiler would branch around the rest. */
static inline void exp_of_lanes(const real *x, real top, real y[LANES]) {
    real low[LANES];
#pragma omp simd
    for (size_t l = 0; l < LANES; l++) {
        real below = x[l] - top;
        low[l] = below < GONE ? GONE : below;
    }
#pragma omp simd
    for (size_t l = 0; l < LANES; l++)
        y[l] = exp_of(low[l]);
}

ATTN_CLONES
double ATTN_REAL(attn_row_exp)(real *x, size_t n, real top) {
    real part[LANES] = {0};
    size_t j = 0;
    for (; j + LANES <= n; j += LANES) {
        real e[LANES];
        exp_of_lanes(x + j, top, e);
        memcpy(x + j, e, sizeof e);
#pragma omp simd
        for (size_t l = 0; l < LANES; l++)
            part[l] += e[l];
    }
    size_t left = n - j;
    if (left > 0) {
        real rest[LANES] = {0}, e[LANES];
        for (size_t l = 0; l < left; l++)
            rest[l] = x[j + l];
        exp_of_lanes(rest, top, e);
        for (size_t l = 0; l < left; l++) {
            x[j + l] = e[l];
            part[l] += e[l];
        }
    }
    return sum_of(part);
}

ATTN_CLONES
void ATTN_REAL(attn_row_cap)(real *x, size_t n, real cap) {
#pragma omp simd
    for (size_t j = 0; j < n; j++)
        x[j] = cap * tanh_of(x[j] / cap);
}
