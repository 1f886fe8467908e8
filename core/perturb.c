#include "core/perturb.h"

void attn_shift_last_rows(enum attn_dtype dtype, size_t groups, size_t n, size_t cols, const void *x, double shift,
                          void *out) {
    if (dtype == ATTN_F64)
        attn_shift_last_rows_f64(groups, n, cols, x, shift, out);
    else
        attn_shift_last_rows_f32(groups, n, cols, x, shift, out);
}

void attn_swap_rows(enum attn_dtype dtype, const struct attn_view *x, size_t batch, size_t heads, size_t row,
                    size_t cols, void *other) {
    size_t size = attn_dtype_size(dtype), bytes = cols * size;
    char *b = other;
    for (size_t block = 0; block < batch * heads; block++) {
        size_t at = block / heads * x->batch + block % heads * x->head + row * x->row;
        char *a = (char *)x->data + at * size;
        for (size_t i = 0; i < bytes; i++, b++) {
            char kept = a[i];
            a[i] = *b;
            *b = kept;
        }
    }
}
