#include "core/perturb.h"

#include <string.h>

void attn_shift_last_rows(enum attn_dtype dtype, size_t groups, size_t n, size_t cols, const void *x, double shift,
                          void *out) {
    if (dtype == ATTN_F64)
        attn_shift_last_rows_f64(groups, n, cols, x, shift, out);
    else
        attn_shift_last_rows_f32(groups, n, cols, x, shift, out);
}

static void swap_bytes(char *a, char *b, size_t size) {
    char kept[64];
    for (; size >= sizeof kept; size -= sizeof kept, a += sizeof kept, b += sizeof kept) {
        memcpy(kept, a, sizeof kept);
        memcpy(a, b, sizeof kept);
        memcpy(b, kept, sizeof kept);
    }
    memcpy(kept, a, size);
    memcpy(a, b, size);
    memcpy(b, kept, size);
}

void attn_swap_rows(enum attn_dtype dtype, const struct attn_view *x, size_t batch, size_t heads, size_t row,
                    size_t cols, void *other) {
    size_t size = attn_dtype_size(dtype), bytes = cols * size;
    char *to = other;
    for (size_t block = 0; block < batch * heads; block++, to += bytes) {
        size_t at = block / heads * x->batch + block % heads * x->head + row * x->row;
        swap_bytes((char *)x->data + at * size, to, bytes);
    }
}
