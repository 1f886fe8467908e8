#include "core/softmax.h"

#include "core/clones.h"
#include "core/real.h"

#include <stdint.h>
#include <string.h>

#ifdef ATTN_SINGLE
typedef uint32_t bits;
static const bits EXPONENT = 0x7f800000, ONE = 0x00800000, SIGN = 0x80000000;
#else
typedef uint64_t bits;
static const bits EXPONENT = 0x7ff0000000000000, ONE = 0x0010000000000000, SIGN = 0x8000000000000000;
#endif

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

/* Adding one to an exponent of all ones carries into the sign bit, and for no other exponent. */
ATTN_CLONES
bool ATTN_REAL(attn_rows_scale)(real *x, size_t row, size_t rows, size_t n, const real *factor) {
    bits carried = 0;
    for (size_t i = 0; i < rows; i++) {
        real *x_i = x + i * row, factor_i = factor[i];
#pragma omp simd reduction(| : carried)
        for (size_t j = 0; j < n; j++) {
            real y = x_i[j] * factor_i;
            bits b;
            memcpy(&b, &y, sizeof b);
            carried |= (b & EXPONENT) + ONE;
            x_i[j] = y;
        }
    }
    return !(carried & SIGN);
}
