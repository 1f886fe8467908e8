/* positions.h - what tells a position from its neighbour: encodings that are added to embeddings. */
#ifndef ATTN_POSITIONS_H
#define ATTN_POSITIONS_H

#include "core/exec.h"

#include <stddef.h>

#define ATTN_POSITION_BASE 10000.0

/* attn_positions_sinusoidal - out[i][2c] += sin(i / base^(2c / d)), out[i][2c + 1] += cos(i / base^(2c / d)).
 *
 *     out     [batch, n, d]   in and out; positions start at 0 in each example; an odd d ends in a sine
 *     base    > 0
 *
 * Errors    returns false if exec (may be NULL) was stopped: out is then partial.
 * Accuracy  the angle and its sine are taken in double precision for both dtypes.
 * Threads   safe for distinct out.
 * Source    Vaswani et al. 2017, section 3.5.
 */
bool attn_positions_sinusoidal_f64(double *out, size_t batch, size_t n, size_t d, double base,
                                   const struct attn_exec *exec);
bool attn_positions_sinusoidal_f32(float *out, size_t batch, size_t n, size_t d, double base,
                                   const struct attn_exec *exec);

/* attn_positions_add - out[b][i][j] += positions[i][j]: learned positions, one row each.
 *
 *     out         [batch, n, d]   in and out
 *     positions   [n, d]          in
 */
void attn_positions_add_f64(double *out, size_t batch, const double *positions, size_t n, size_t d);
void attn_positions_add_f32(float *out, size_t batch, const float *positions, size_t n, size_t d);

#endif
