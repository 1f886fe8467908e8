#include "core/project.h"

#include "core/clones.h"
#include "core/real.h"

#include <assert.h>
#include <cblas.h>
#include <limits.h>
#include <string.h>

/* Below this many multiply-adds the plain loops win: a gemm call costs about as much as they do at this size. */
static const size_t plain_below = 4096;

/* Outputs that are summed at once, in a register. Said outright, since compilers vectorise the loop over c instead. */
typedef real lanes __attribute__((vector_size(32)));
enum { LANES = sizeof(lanes) / sizeof(real) };

ATTN_PART void add_lanes(const struct attn_projection *p, const real *x, const real *w, real *y) {
    lanes sum, w_c;
    memcpy(&sum, y, sizeof sum);
    for (size_t c = 0; c < p->d_in; c++, w += p->d_out) {
        memcpy(&w_c, w, sizeof w_c);
        sum += x[c] * w_c;
    }
    memcpy(y, &sum, sizeof sum);
}

ATTN_CLONES static void plain_in_out(const struct attn_projection *p, const real *x, real *y) {
    const real *w = p->w;
    size_t o = 0;
    for (; o + LANES <= p->d_out; o += LANES)
        add_lanes(p, x, w + o, y + o);
    for (; o < p->d_out; o++)
        for (size_t c = 0; c < p->d_in; c++)
            y[o] += x[c] * w[c * p->d_out + o];
}

ATTN_CLONES static void plain_out_in(const struct attn_projection *p, const real *restrict x, real *restrict y) {
    const real *restrict w = p->w;
    for (size_t o = 0; o < p->d_out; o++) {
        real sum = 0;
#pragma omp simd reduction(+ : sum)
        for (size_t c = 0; c < p->d_in; c++)
            sum += x[c] * w[o * p->d_in + c];
        y[o] += sum;
    }
}

static void gemm(const struct attn_projection *p, const real *x, real *y, size_t rows) {
    assert(rows <= INT_MAX && p->d_in <= INT_MAX && p->d_out <= INT_MAX);
    CBLAS_TRANSPOSE transpose = p->out_in ? CblasTrans : CblasNoTrans;
    int m = (int)rows, n = (int)p->d_out, k = (int)p->d_in;
    int ldx = (int)p->x_row, ldw = p->out_in ? k : n, ldy = (int)p->y_row;
    real beta = p->b ? 1 : 0;
#ifdef ATTN_SINGLE
    cblas_sgemm(CblasRowMajor, CblasNoTrans, transpose, m, n, k, 1, x, ldx, p->w, ldw, beta, y, ldy);
#else
    cblas_dgemm(CblasRowMajor, CblasNoTrans, transpose, m, n, k, 1, x, ldx, p->w, ldw, beta, y, ldy);
#endif
}

void ATTN_REAL(attn_project_rows)(const struct attn_projection *p, size_t first, size_t count) {
    const real *x = (const real *)p->x + first * p->x_row;
    real *y = (real *)p->y + first * p->y_row;
    bool plain = count * p->d_in * p->d_out < plain_below || p->x_row > INT_MAX || p->y_row > INT_MAX;
    if (plain || p->b)
        for (size_t i = 0; i < count; i++) {
            if (p->b)
                memcpy(y + i * p->y_row, p->b, p->d_out * sizeof *y);
            else
                memset(y + i * p->y_row, 0, p->d_out * sizeof *y);
        }
    if (!plain) {
        gemm(p, x, y, count);
        return;
    }
    for (size_t i = 0; i < count; i++)
        (p->out_in ? plain_out_in : plain_in_out)(p, x + i * p->x_row, y + i * p->y_row);
}
