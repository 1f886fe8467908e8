/* project.h - linear projections of rows: y = x w + b. */
#ifndef ATTN_PROJECT_H
#define ATTN_PROJECT_H

#include "core/exec.h"
#include "core/tensor.h"

/* struct attn_projection - one projection.
 *
 *     y[i][o] = b[o] + sum_c x[i][c] * w[c][o]            (out_in: w[o][c])
 *
 *     x        [rows, d_in], rows x_row elements apart    in
 *     w        [d_in, d_out], or [d_out, d_in] if out_in  in
 *     b        [d_out], or NULL for none                  in
 *     y        [rows, d_out], rows y_row elements apart   out; overlaps no input
 *
 * All are of `dtype` (ATTN_F64 or ATTN_F32). A batch of rows that lie one behind the other is just more rows.
 */
struct attn_projection {
    enum attn_dtype dtype;
    size_t rows, d_in, d_out;
    const void *x;
    size_t x_row;
    const void *w;
    bool out_in;
    const void *b;
    void *y;
    size_t y_row;
};

/* attn_project - computes one projection, blocks of rows in parallel.
 *
 * Requires  rows, d_in, d_out >= 1 and below 2^31.
 * Errors    returns false if exec was stopped: y is then partial.
 * Accuracy  the usual bound of a dot product, d_in ulp of sum |x||w|.
 * Threads   safe for distinct y.
 * Source    definition; the product itself is cblas_dgemm or cblas_sgemm except for sizes where calling it costs more
 *           than the product.
 */
bool attn_project(const struct attn_projection *p, const struct attn_exec *exec);

/* attn_project_rows_f64, _f32 - rows first .. first + count - 1, in this thread. */
void attn_project_rows_f64(const struct attn_projection *p, size_t first, size_t count);
void attn_project_rows_f32(const struct attn_projection *p, size_t first, size_t count);

#endif
