#include "core/attention_tile.h"
#include "core/product.h"
#include "core/softmax.h"

#include <math.h>
#include <string.h>

static real *out_row(const struct attn_tile *t, size_t i) {
    return t->out + i * t->call->output.row;
}

static const real *v_row(const struct attn_tile *t, size_t j) {
    return t->v + j * t->call->v.row;
}

static bool is_finite_row(const real *x, size_t n) {
    real odd = 0;
    for (size_t c = 0; c < n; c++)
        odd += x[c] * 0;
    return odd == 0;
}

/* The weights of a block once more, from the final maxima and sums. */
static void weigh_again(const struct attn_tile *t, const struct attn_block *block) {
    struct attn_span spans[ATTN_TILE_ROWS];
    real top[ATTN_TILE_ROWS], shrink[ATTN_TILE_ROWS];
    double sum[ATTN_TILE_ROWS];
    memcpy(top, t->top, sizeof top);
    memcpy(sum, t->sum, sizeof sum);
    ATTN_REAL(attn_tile_score)(t, block);
    ATTN_REAL(attn_tile_spans)(t, block, spans);
    ATTN_REAL(attn_rows_exp)(block->p, block->p_row, spans, t->rows, top, sum, shrink);
    for (size_t i = 0; i < t->rows; i++) {
        real *x = block->p + i * block->p_row;
        size_t n = block->j1 - block->j0;
        if (t->sum[i] > 0) {
            ATTN_REAL(attn_row_divide)(x, n, 1, (real)t->sum[i]);
            continue;
        }
        bool empty = ATTN_REAL(attn_tile_empty_row)(t, i);
        for (size_t j = 0; j < n; j++)
            x[j] = !empty && ATTN_REAL(attn_tile_sees)(t, i, block->j0 + j) ? (real)NAN : 0;
    }
}

/* Rows of v with anything that is not finite become zeros in the copy: a weight of 0 cannot cancel them. */
static void clean_values(const struct attn_tile *t, const struct attn_block *block) {
    size_t d_v = t->call->dims.d_v;
    for (size_t j = block->j0; j < block->j1; j++) {
        real *copy = t->clean + (j - block->j0) * d_v;
        if (is_finite_row(v_row(t, j), d_v))
            memcpy(copy, v_row(t, j), d_v * sizeof *copy);
        else
            memset(copy, 0, d_v * sizeof *copy);
    }
}

/* They are added one by one, to the rows that may look there. */
static void add_odd_values(const struct attn_tile *t, const struct attn_block *block) {
    size_t d_v = t->call->dims.d_v;
    for (size_t j = block->j0; j < block->j1; j++) {
        const real *v = v_row(t, j);
        if (is_finite_row(v, d_v))
            continue;
        for (size_t i = 0; i < t->rows; i++) {
            real w = block->p[i * block->p_row + (j - block->j0)];
            if (w == 0 && !ATTN_REAL(attn_tile_sees)(t, i, j))
                continue;
            for (size_t c = 0; c < d_v; c++)
                out_row(t, i)[c] += w * v[c];
        }
    }
}

bool ATTN_REAL(attn_tile_settle)(const struct attn_tile *t) {
    const struct attn_call *call = t->call;
    for (size_t i = 0; i < t->rows; i++)
        memset(out_row(t, i), 0, call->dims.d_v * sizeof(real));
    for (struct attn_block block = {.index = (size_t)-1}; ATTN_REAL(attn_tile_next)(t, &block);) {
        if (attn_exec_stopped(t->exec))
            return false;
        if (!call->weights)
            weigh_again(t, &block);
        clean_values(t, &block);
        struct attn_product wv = {t->rows,     call->dims.d_v, block.j1 - block.j0,
                                  block.p_row, call->dims.d_v, call->output.row};
        ATTN_REAL(attn_product_ab)(&wv, true, block.p, t->clean, t->out);
        add_odd_values(t, &block);
    }
    return true;
}
