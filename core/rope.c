#include "core/rope.h"

#include <math.h>

enum { ROWS_PER_TASK = 64 };

/* Work: frequencies [dims / 2], then for each slot cosines [dims / 2] and sines [dims / 2]. */
size_t attn_rope_work(const struct attn_rope *rope, size_t slots) {
    return (rope->dims / 2) * (1 + 2 * slots) * sizeof(double);
}

struct turning {
    enum attn_dtype dtype;
    const struct attn_rope *rope;
    const struct attn_rope_dims *dims;
    const struct attn_view *x;
    double *work;
};

static void turn_row(const struct turning *t, size_t b, size_t i, double *cosine, double *sine) {
    const struct attn_rope *rope = t->rope;
    double position = rope->positions ? rope->positions[b * rope->positions_batch + i] : rope->start + (double)i;
    for (size_t c = 0; c < rope->dims / 2; c++) {
        double angle = position * t->work[c];
        cosine[c] = cos(angle);
        sine[c] = sin(angle);
    }
    size_t at = b * t->x->batch + i * t->x->row;
    if (t->dtype == ATTN_F64)
        attn_rope_turn_f64(rope, t->dims->heads, (double *)t->x->data + at, t->x->head, cosine, sine);
    else
        attn_rope_turn_f32(rope, t->dims->heads, (float *)t->x->data + at, t->x->head, cosine, sine);
}

static void turn_rows(void *arg, size_t index, size_t slot) {
    const struct turning *t = arg;
    size_t half = t->rope->dims / 2;
    double *cosine = t->work + half * (1 + 2 * slot), *sine = cosine + half;
    size_t all = t->dims->batch * t->dims->rows, end = (index + 1) * ROWS_PER_TASK;
    for (size_t at = index * ROWS_PER_TASK; at < all && at < end; at++)
        turn_row(t, at / t->dims->rows, at % t->dims->rows, cosine, sine);
}

bool attn_rope_apply(enum attn_dtype dtype, const struct attn_rope *rope, const struct attn_rope_dims *dims,
                     const struct attn_view *x, const struct attn_exec *exec, void *work) {
    struct turning turning = {dtype, rope, dims, x, work};
    for (size_t c = 0; c < rope->dims / 2; c++)
        turning.work[c] = pow(rope->base, -2.0 * (double)c / (double)rope->dims);
    return attn_exec_run(exec, (dims->batch * dims->rows + ROWS_PER_TASK - 1) / ROWS_PER_TASK, turn_rows, &turning);
}
