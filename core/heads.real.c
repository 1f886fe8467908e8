#include "core/heads.h"
#include "core/real.h"

#include <string.h>

void ATTN_REAL(attn_heads_mean)(size_t batch, size_t heads, size_t count, const real *restrict x, real *restrict out) {
    for (size_t b = 0; b < batch; b++, out += count) {
        memset(out, 0, count * sizeof *out);
        for (size_t h = 0; h < heads; h++, x += count)
#pragma omp simd
            for (size_t c = 0; c < count; c++)
                out[c] += x[c];
        for (size_t c = 0; c < count; c++)
            out[c] /= (real)heads;
    }
}
