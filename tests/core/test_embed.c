/* test_embed.c - selecting rows of a table: exact, so every comparison is for equality. */
#include "core/embed.h"

#include <criterion/criterion.h>

enum { VOCAB = 5, D = 3, N = 7 };

static const int64_t ids[N] = {4, 0, 0, 2, 1, 4, 3};

Test(embed, rows_are_selected) {
    double table[VOCAB * D], out[N * D];
    for (size_t i = 0; i < VOCAB * D; i++)
        table[i] = (double)i / 7 - 1;
    attn_embed_f64(out, ids, N, table, D, 1);
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < D; j++)
            cr_assert_eq(out[i * D + j], table[(size_t)ids[i] * D + j]);
    attn_embed_f64(out, ids, N, table, D, -2.5);
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < D; j++)
            cr_assert_eq(out[i * D + j], -2.5 * table[(size_t)ids[i] * D + j]);
}

Test(embed, single_precision) {
    float table[VOCAB * D], out[N * D];
    for (size_t i = 0; i < VOCAB * D; i++)
        table[i] = (float)i / 7;
    attn_embed_f32(out, ids, N, table, D, 0.1);
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < D; j++)
            cr_assert_eq(out[i * D + j], 0.1f * table[(size_t)ids[i] * D + j]);
}
