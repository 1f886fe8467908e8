/* rope.h - rotary position embedding. */
#ifndef ATTN_ROPE_H
#define ATTN_ROPE_H

#include "core/exec.h"
#include "core/tensor.h"

/* struct attn_rope - how pairs of columns turn with the position.
 *
 *     dims         even, 2 .. cols: this many leading columns turn, the rest stay as they are
 *     base         > 0; the angle of pair c at position p is p * base^(-2c / dims)
 *     interleaved  pair c is columns (2c, 2c + 1); else (c, c + dims / 2)
 *     positions    row i of example b stands at positions[b * positions_batch + i]; NULL: at start + i
 */
struct attn_rope {
    size_t dims;
    double base;
    bool interleaved;
    const double *positions;
    size_t positions_batch;
    double start;
};

/* struct attn_rope_dims - [batch, heads, rows, cols] of the array that turns. */
struct attn_rope_dims {
    size_t batch, heads, rows;
};

/* attn_rope_work - bytes of work memory for `slots` slots. */
size_t attn_rope_work(const struct attn_rope *rope, size_t slots);

/* attn_rope_apply - turns x [batch, heads, rows, >= rope->dims] in place.
 *
 *     x1' = cos x1 - sin x2,  x2' = sin x1 + cos x2
 *
 *     dtype   of x: ATTN_F64 or ATTN_F32; angles are double precision for both
 *     work    attn_rope_work(rope, attn_exec_slots(exec)) bytes
 *
 * Errors    returns false if exec was stopped: x is then partly turned.
 * Accuracy  2 ulp of the pair's length plus position ulp of the angle.
 * Threads   safe for distinct x and work.
 * Source    Su et al. 2021, "RoFormer", section 3.2.2, equation 34.
 */
bool attn_rope_apply(enum attn_dtype dtype, const struct attn_rope *rope, const struct attn_rope_dims *dims,
                     const struct attn_view *x, const struct attn_exec *exec, void *work);

/* attn_rope_turn_f64, _f32 - turns one row of every head by the given cosines and sines [dims / 2]. */
void attn_rope_turn_f64(const struct attn_rope *rope, size_t heads, double *row, size_t head_stride,
                        const double *cosine, const double *sine);
void attn_rope_turn_f32(const struct attn_rope *rope, size_t heads, float *row, size_t head_stride,
                        const double *cosine, const double *sine);

#endif
