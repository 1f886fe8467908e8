#include "core/rope.h"
#include "core/real.h"

void ATTN_REAL(attn_rope_turn)(const struct attn_rope *rope, size_t heads, real *row, size_t head_stride,
                               const double *cosine, const double *sine) {
    size_t half = rope->dims / 2, step = rope->interleaved ? 2 : 1, apart = rope->interleaved ? 1 : half;
    for (size_t h = 0; h < heads; h++) {
        real *x = row + h * head_stride;
        for (size_t c = 0; c < half; c++) {
            double x1 = x[c * step], x2 = x[c * step + apart];
            x[c * step] = (real)(cosine[c] * x1 - sine[c] * x2);
            x[c * step + apart] = (real)(sine[c] * x1 + cosine[c] * x2);
        }
    }
}
