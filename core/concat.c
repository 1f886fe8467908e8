#include "core/concat.h"

#include "core/heads.h"

#include <string.h>

void attn_concat(enum attn_dtype dtype, const struct attn_concat_dims *dims, const void *past,
                 const struct attn_view *fresh, void *out) {
    size_t row = dims->cols * attn_dtype_size(dtype);
    size_t past_bytes = dims->past * row, all_bytes = past_bytes + dims->fresh * row;
    const char *from = past;
    char *to = out;
    for (size_t block = 0; block < dims->batch * dims->heads; block++) {
        if (past_bytes)
            memcpy(to + block * all_bytes, from + block * past_bytes, past_bytes);
        attn_heads_copy_block(dtype, fresh, block / dims->heads, block % dims->heads, dims->fresh, dims->cols,
                              to + block * all_bytes + past_bytes);
    }
}
