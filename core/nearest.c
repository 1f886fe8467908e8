#include "core/nearest.h"

enum { ROWS_PER_TASK = 16 };

struct search {
    enum attn_dtype dtype;
    size_t rows, count, cols;
    const void *x, *values;
    int64_t *out;
};

static void search_rows(void *arg, size_t index, size_t slot) {
    (void)slot;
    const struct search *s = arg;
    size_t end = (index + 1) * ROWS_PER_TASK;
    for (size_t i = index * ROWS_PER_TASK; i < s->rows && i < end; i++)
        s->out[i] = s->dtype == ATTN_F64
                        ? attn_nearest_row_f64(s->count, s->cols, (const double *)s->x + i * s->cols, s->values)
                        : attn_nearest_row_f32(s->count, s->cols, (const float *)s->x + i * s->cols, s->values);
}

bool attn_nearest(enum attn_dtype dtype, size_t rows, size_t count, size_t cols, const void *x, const void *values,
                  int64_t *out, const struct attn_exec *exec) {
    struct search search = {dtype, rows, count, cols, x, values, out};
    return attn_exec_run(exec, (rows + ROWS_PER_TASK - 1) / ROWS_PER_TASK, search_rows, &search);
}
