#include "core/heads.h"

#include <string.h>

void attn_heads_copy_block(enum attn_dtype dtype, const struct attn_view *x, size_t b, size_t h, size_t rows,
                           size_t cols, void *out) {
    size_t size = attn_dtype_size(dtype);
    const char *from = (const char *)x->data + (b * x->batch + h * x->head) * size;
    char *to = out;
    if (x->row == cols) {
        memcpy(to, from, rows * cols * size);
        return;
    }
    for (size_t i = 0; i < rows; i++)
        memcpy(to + i * cols * size, from + i * x->row * size, cols * size);
}

void attn_heads_copy(enum attn_dtype dtype, const struct attn_view *x, const size_t shape[4], void *out) {
    size_t block = shape[2] * shape[3] * attn_dtype_size(dtype);
    for (size_t b = 0; b < shape[0]; b++)
        for (size_t h = 0; h < shape[1]; h++)
            attn_heads_copy_block(dtype, x, b, h, shape[2], shape[3], (char *)out + (b * shape[1] + h) * block);
}

void attn_heads_mean(enum attn_dtype dtype, size_t batch, size_t heads, size_t count, const void *x, void *out) {
    if (dtype == ATTN_F64)
        attn_heads_mean_f64(batch, heads, count, x, out);
    else
        attn_heads_mean_f32(batch, heads, count, x, out);
}
