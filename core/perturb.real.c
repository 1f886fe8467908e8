#include "core/perturb.h"
#include "core/real.h"

void ATTN_REAL(attn_shift_last_rows)(size_t groups, size_t n, size_t cols, const real *x, double shift, real *out) {
    for (size_t g = 0; g < groups; g++)
        for (size_t c = 0; c < cols; c++)
            out[g * cols + c] = x[(g * n + n - 1) * cols + c] + (real)shift;
}
