/* positions.real.c - position encodings; see positions.h. */
#include "core/positions.h"

#include "core/real.h"

#include <math.h>

bool ATTN_REAL(attn_positions_sinusoidal)(real *out, size_t batch, size_t n, size_t d, double base,
                                          const struct attn_exec *exec) {
    for (size_t j = 0; j < d; j++) {
        if (attn_exec_stopped(exec))
            return false;
        double wavelength = pow(base, (double)(j - j % 2) / (double)d);
        for (size_t i = 0; i < n; i++) {
            double angle = (double)i / wavelength;
            real value = (real)(j % 2 ? cos(angle) : sin(angle));
            for (size_t b = 0; b < batch; b++)
                out[(b * n + i) * d + j] += value;
        }
    }
    return true;
}

void ATTN_REAL(attn_positions_add)(real *out, size_t batch, const real *positions, size_t n, size_t d) {
    for (size_t b = 0; b < batch; b++)
        for (size_t i = 0; i < n * d; i++)
            out[b * n * d + i] += positions[i];
}
