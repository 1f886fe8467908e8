#include "core/product.h"

#include "core/real.h"

#include <assert.h>
#include <cblas.h>
#include <limits.h>

/* Below this many multiply-adds the plain loops win. */
static const size_t plain_below = 1024;

static bool is_plain(const struct attn_product *p) {
    return p->rows * p->cols * p->inner < plain_below;
}

static void gemm(const struct attn_product *p, CBLAS_TRANSPOSE b_is, real alpha, const real *a, const real *b,
                 real beta, real *c) {
    assert(p->a_row <= INT_MAX && p->b_row <= INT_MAX && p->c_row <= INT_MAX);
    int m = (int)p->rows, n = (int)p->cols, k = (int)p->inner;
    int lda = (int)p->a_row, ldb = (int)p->b_row, ldc = (int)p->c_row;
#ifdef ATTN_SINGLE
    cblas_sgemm(CblasRowMajor, CblasNoTrans, b_is, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
#else
    cblas_dgemm(CblasRowMajor, CblasNoTrans, b_is, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
#endif
}

/* A library may skip the product when alpha is 0 and lose its NaN: then the scale is applied here. */
void ATTN_REAL(attn_product_abt)(const struct attn_product *p, real scale, const real *a, const real *b, real *c) {
    bool plain = is_plain(p);
    if (!plain)
        gemm(p, CblasTrans, scale == 0 ? 1 : scale, a, b, 0, c);
    if (!plain && scale != 0)
        return;
    for (size_t i = 0; i < p->rows; i++)
        for (size_t j = 0; j < p->cols; j++) {
            real sum = plain ? 0 : c[i * p->c_row + j];
            for (size_t x = 0; plain && x < p->inner; x++)
                sum += a[i * p->a_row + x] * b[j * p->b_row + x];
            c[i * p->c_row + j] = scale * sum;
        }
}

/* c[j] (+)= sum_x a[x] * b[x][j], four columns at a time. */
static void add_row(const struct attn_product *p, bool add, const real *a, const real *b, real *c) {
    size_t j = 0;
    for (; j + 4 <= p->cols; j += 4) {
        real sum[4] = {0};
        for (size_t x = 0; x < p->inner; x++)
            for (size_t l = 0; l < 4; l++)
                sum[l] += a[x] * b[x * p->b_row + j + l];
        for (size_t l = 0; l < 4; l++)
            c[j + l] = add ? c[j + l] + sum[l] : sum[l];
    }
    for (; j < p->cols; j++) {
        real sum = 0;
        for (size_t x = 0; x < p->inner; x++)
            sum += a[x] * b[x * p->b_row + j];
        c[j] = add ? c[j] + sum : sum;
    }
}

void ATTN_REAL(attn_product_ab)(const struct attn_product *p, bool add, const real *a, const real *b, real *c) {
    if (!is_plain(p)) {
        gemm(p, CblasNoTrans, 1, a, b, add ? 1 : 0, c);
        return;
    }
    for (size_t i = 0; i < p->rows; i++)
        add_row(p, add, a + i * p->a_row, b, c + i * p->c_row);
}
