#include "core/softmax.h"

#include "core/clones.h"
#include "core/real.h"

#include <math.h>

enum { LANES = 128 / sizeof(real), CHAINS = 4 };

/* The largest lane, by four chains of comparisons. */
static inline real largest_of(const real lane[LANES]) {
    real a[CHAINS];
    for (size_t c = 0; c < CHAINS; c++)
        a[c] = lane[c];
    for (size_t l = CHAINS; l < LANES; l += CHAINS)
        for (size_t c = 0; c < CHAINS; c++)
            a[c] = lane[l + c] > a[c] ? lane[l + c] : a[c];
    real left = a[1] > a[0] ? a[1] : a[0], right = a[3] > a[2] ? a[3] : a[2];
    return right > left ? right : left;
}

ATTN_CLONES
real ATTN_REAL(attn_row_max)(const real *x, size_t n, real top) {
    size_t j = 0;
    if (n >= LANES) {
        real lane[LANES];
        for (size_t l = 0; l < LANES; l++)
            lane[l] = top;
        for (; j + LANES <= n; j += LANES) {
#pragma omp simd
            for (size_t l = 0; l < LANES; l++)
                lane[l] = x[j + l] > lane[l] ? x[j + l] : lane[l];
        }
        top = largest_of(lane);
    }
    for (; j < n; j++)
        top = x[j] > top ? x[j] : top;
    return top;
}

ATTN_CLONES
void ATTN_REAL(attn_row_divide)(real *x, size_t n, real factor, real sum) {
    if (factor == 1) {
#pragma omp simd
        for (size_t j = 0; j < n; j++)
            x[j] /= sum;
    } else {
#pragma omp simd
        for (size_t j = 0; j < n; j++)
            x[j] = x[j] * factor / sum;
    }
}

ATTN_CLONES
bool ATTN_REAL(attn_row_scale)(real *x, size_t n, real factor) {
    real odd[LANES] = {0};
    size_t j = 0;
    for (; j + LANES <= n; j += LANES) {
#pragma omp simd
        for (size_t l = 0; l < LANES; l++) {
            x[j + l] *= factor;
            odd[l] += x[j + l] * 0;
        }
    }
    for (size_t l = 0; j < n; j++, l++) {
        x[j] *= factor;
        odd[l] += x[j] * 0;
    }
    for (size_t l = 1; l < LANES; l++)
        odd[0] += odd[l];
    return odd[0] == 0;
}
