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
enum { LANES = 16, MAX_LANES = 32, MANTISSA = 23, BIAS = 127, SPARE = 64 };
static const real LOG2_E = 0x1.715476p0F, LN2_HIGH = 0x1.63p-1F, LN2_LOW = -0x1.bd0106p-13F;
static const real ROUNDER = 0x1.8p23F + BIAS + SPARE;
static const real GONE = -105; /* exp(GONE) is below half the smallest subnormal */
static const real TANH_IS_ONE = 30;
#else
typedef uint64_t bits;
enum { LANES = 8, MAX_LANES = 16, MANTISSA = 52, BIAS = 1023, SPARE = 64 };
static const real LOG2_E = 0x1.71547652b82fep0, LN2_HIGH = 0x1.62e42feep-1, LN2_LOW = 0x1.a39ef35793c76p-33;
static const real ROUNDER = 0x1.8p52 + BIAS + SPARE;
static const real GONE = -746;
static const real TANH_IS_ONE = 44;
#endif

/* exp(r) - 1 - r, divided by r^2, for |r| <= ln(2) / 2. */
ATTN_PART real tail_of_exp(real r) {
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

ATTN_PART struct reduced reduce(real x) {
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
ATTN_PART real exp_of(real x) {
    struct reduced a = reduce(x);
    real y = 1 + (a.r + a.r * a.r * tail_of_exp(a.r));
    return y * a.power * (real)0x1p-64;
}

/* tanh(x) = t / (t + 2) with t = exp(2 |x|) - 1, which keeps its digits for small x. */
ATTN_PART real tanh_of(real x) {
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

/* The sum of the lanes: halves upon each other, in double as soon as there are few. */
ATTN_PART double sum_of(const real part[LANES]) {
    double half[LANES / 2];
#pragma omp simd
    for (size_t l = 0; l < LANES / 2; l++)
        half[l] = (double)part[l] + (double)part[l + LANES / 2];
    if (LANES > 8)
        for (size_t l = 0; l < 4; l++)
            half[l] += half[l + LANES / 4];
    return (half[0] + half[1]) + (half[2] + half[3]);
}

/* y[l] = exp(x[l] - top). The clamp is a loop of its own: within one the compiler would branch around the rest. */
ATTN_PART void exp_of_lanes(const real *x, real top, real y[LANES]) {
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

/* lane[l] = max(lane[l], lane[l + width]) */
ATTN_PART void fold_max(real *lane, size_t width) {
#pragma omp simd
    for (size_t l = 0; l < width; l++)
        lane[l] = lane[l + width] > lane[l] ? lane[l + width] : lane[l];
}

ATTN_PART real largest_of(real lane[MAX_LANES]) {
    fold_max(lane, MAX_LANES / 2);
    fold_max(lane, MAX_LANES / 4);
    if (MAX_LANES > 16)
        fold_max(lane, MAX_LANES / 8);
    real left = lane[1] > lane[0] ? lane[1] : lane[0], right = lane[3] > lane[2] ? lane[3] : lane[2];
    return right > left ? right : left;
}

/* The largest of top and x[0 .. n-1]; a NaN never compares larger. */
ATTN_PART real max_row(const real *x, size_t n, real top) {
    size_t j = 0;
    if (n >= MAX_LANES) {
        real lane[MAX_LANES];
        for (size_t l = 0; l < MAX_LANES; l++)
            lane[l] = top;
        for (; j + MAX_LANES <= n; j += MAX_LANES) {
#pragma omp simd
            for (size_t l = 0; l < MAX_LANES; l++)
                lane[l] = x[j + l] > lane[l] ? x[j + l] : lane[l];
        }
        top = largest_of(lane);
    }
    for (; j < n; j++)
        top = x[j] > top ? x[j] : top;
    return top;
}

/* x[j] = exp(x[j] - top); returns the sum. */
ATTN_PART double exp_row(real *x, size_t n, real top) {
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
        real rest[LANES], e[LANES];
#pragma omp simd
        for (size_t l = 0; l < LANES; l++)
            rest[l] = l < left ? x[j + l] : top;
        exp_of_lanes(rest, top, e);
#pragma omp simd
        for (size_t l = 0; l < LANES; l++)
            if (l < left) {
                x[j + l] = e[l];
                part[l] += e[l];
            }
    }
    return sum_of(part);
}

/* exp(x) for any x <= 0. */
ATTN_PART real fall(real x) {
    return x < GONE ? 0 : exp_of(x);
}

ATTN_CLONES
void ATTN_REAL(attn_rows_exp)(real *x, size_t row, const struct attn_span *span, size_t rows, real *top, double *sum,
                              real *shrink) {
    for (size_t i = 0; i < rows; i++) {
        real *x_i = x + i * row + span[i].from;
        size_t n = span[i].to - span[i].from;
        real before = top[i], now = max_row(x_i, n, before);
        shrink[i] = before < now ? fall(before - now) : 1;
        sum[i] = sum[i] * (double)shrink[i] + exp_row(x_i, n, now == -(real)INFINITY ? 0 : now);
        top[i] = now;
    }
}

ATTN_CLONES
void ATTN_REAL(attn_row_cap)(real *x, size_t n, real cap) {
    const real least = sizeof(real) == sizeof(float) ? (real)0x1p-13 : (real)0x1p-28; /* below it tanh(y) rounds to y */
#pragma omp simd
    for (size_t j = 0; j < n; j++) {
        real y = x[j] / cap, capped = cap * tanh_of(y);
        x[j] = y < least && y > -least ? x[j] : capped;
    }
}
