#include "core/softmax.h"

#include "core/clones.h"
#include "core/real.h"

#include <math.h>

enum { LANES = 256 / sizeof(real) };

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
        for (size_t l = 0; l < LANES; l++)
            top = lane[l] > top ? lane[l] : top;
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
