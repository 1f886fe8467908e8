/* embed.real.c - rows of an embedding table; see embed.h. */
#include "core/embed.h"

#include "core/real.h"

void ATTN_REAL(attn_embed)(real *out, const int64_t *ids, size_t n, const real *table, size_t d, double scale) {
    real factor = (real)scale;
    for (size_t i = 0; i < n; i++) {
        const real *row = table + (size_t)ids[i] * d;
        for (size_t j = 0; j < d; j++)
            out[i * d + j] = factor * row[j];
    }
}
