#include "core/clones.h"
#include "core/real.h"
#include "core/softmax.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* exp(x) = 2^k * exp(r), k = round(x / ln 2), r = x - k ln 2 in two pieces so that k * LN2_HIGH is exact.
 * Adding ROUNDER leaves the integer k in the low bits of the sum. */
#ifdef ATTN_SINGLE
typedef uint32_t bits;
enum { LANES = 16, MANTISSA = 23, BIAS = 127, LEAST_NORMAL = -126 };
static const real LOG2_E = 0x1.715476p0F, LN2_HIGH = 0x1.63p-1F, LN2_LOW = -0x1.bd0106p-13F, ROUNDER = 0x1.8p23F;
static const real GONE = -105; /* exp(GONE) is below half the smallest subnormal */
static const real TANH_IS_ONE = 30;
#else
typedef uint64_t bits;
enum { LANES = 8, MANTISSA = 52, BIAS = 1023, LEAST_NORMAL = -1022 };
static const real LOG2_E = 0x1.71547652b82fep0, LN2_HIGH = 0x1.62e42feep-1, LN2_LOW = 0x1.a39ef35793c76p-33,
                  ROUNDER = 0x1.8p52;
static const real GONE = -746;
static const real TANH_IS_ONE = 44;
#endif

/* 2^k for an integer k within the normal range. */
static inline real two_to(real k) {
    real shifted = k + (ROUNDER + BIAS);
    bits b;
    memcpy(&b, &shifted, sizeof b);
    b <<= MANTISSA;
    memcpy(&shifted, &b, sizeof b);
    return shifted;
}

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
    real k, r;
};

static inline struct reduced reduce(real x) {
    real k = (x * LOG2_E + ROUNDER) - ROUNDER;
    return (struct reduced){k, (x - k * LN2_HIGH) - k * LN2_LOW};
}

/* exp(x) for x <= 0 or NaN. The scaling is done in two steps so that a subnormal result is rounded once. */
static inline real exp_of(real x) {
    x = x < GONE ? GONE : x;
    struct reduced a = reduce(x);
    real y = 1 + (a.r + a.r * a.r * tail_of_exp(a.r));
    real normal = a.k < LEAST_NORMAL ? LEAST_NORMAL : a.k;
    return y * two_to(a.k - normal) * two_to(normal);
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
    real power = two_to(a.k);
    real t = power * (a.r + a.r * a.r * tail_of_exp(a.r)) + (power - 1);
    real y = t / (t + 2);
#ifdef ATTN_SINGLE
    return copysignf(y, x);
#else
    return copysign(y, x);
#endif
}

static inline double sum_of(const real part[LANES]) {
    double half[LANES / 2];
    for (int l = 0; l < LANES / 2; l++)
        half[l] = (double)part[l] + (double)part[l + LANES / 2];
    for (int width = LANES / 4; width > 0; width /= 2)
        for (int l = 0; l < width; l++)
            half[l] += half[l + width];
    return half[0];
}

ATTN_CLONES
double ATTN_REAL(attn_row_exp)(real *x, size_t n, real top) {
    real part[LANES] = {0};
    size_t j = 0;
    for (; j + LANES <= n; j += LANES) {
#pragma omp simd
        for (size_t l = 0; l < LANES; l++) {
            real e = exp_of(x[j + l] - top);
            x[j + l] = e;
            part[l] += e;
        }
    }
    if (j < n) {
        real rest[LANES];
        for (size_t l = 0; l < LANES; l++)
            rest[l] = -(real)INFINITY;
        memcpy(rest, x + j, (n - j) * sizeof *x);
#pragma omp simd
        for (size_t l = 0; l < LANES; l++)
            rest[l] = exp_of(rest[l] - top);
        for (size_t l = 0; l < n - j; l++)
            part[l] += rest[l];
        memcpy(x + j, rest, (n - j) * sizeof *x);
    }
    return sum_of(part);
}

ATTN_CLONES
void ATTN_REAL(attn_row_cap)(real *x, size_t n, real cap) {
#pragma omp simd
    for (size_t j = 0; j < n; j++)
        x[j] = cap * tanh_of(x[j] / cap);
}
