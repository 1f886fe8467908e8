/* product.h - the two matrix products of attention, over row-major blocks whose rows may lie apart.
 *
 * Small ones are computed by plain loops: they cost less than the library's call. IEEE throughout: 0 * NaN is NaN.
 * Leading sizes (`_row`) count elements.
 */
#ifndef ATTN_PRODUCT_H
#define ATTN_PRODUCT_H

#include <stdbool.h>
#include <stddef.h>

struct attn_product {
    size_t rows, cols, inner;
    size_t a_row, b_row, c_row;
};

/* attn_product_abt - c[i][j] = scale * sum_x a[i][x] * b[j][x]; a [rows, inner], b [cols, inner], c [rows, cols]. */
void attn_product_abt_f64(const struct attn_product *p, double scale, const double *a, const double *b, double *c);
void attn_product_abt_f32(const struct attn_product *p, float scale, const float *a, const float *b, float *c);

/* attn_product_ab - c[i][j] (+)= sum_x a[i][x] * b[x][j]; a [rows, inner], b [inner, cols]; `add` keeps what c holds.
 */
void attn_product_ab_f64(const struct attn_product *p, bool add, const double *a, const double *b, double *c);
void attn_product_ab_f32(const struct attn_product *p, bool add, const float *a, const float *b, float *c);

#endif
