#include "core/tensor.h"

size_t attn_dtype_size(enum attn_dtype dtype) {
    switch (dtype) {
    case ATTN_F32:
        return sizeof(float);
    case ATTN_BOOL:
        return sizeof(uint8_t);
    case ATTN_F64:
    case ATTN_I64:
        break;
    }
    return 8;
}

size_t attn_tensor_count(const struct attn_tensor *t) {
    size_t count = 1;
    for (unsigned a = 0; a < t->rank; a++)
        count *= t->shape[a];
    return count;
}

void attn_tensor_index(const struct attn_tensor *t, size_t i, size_t *at) {
    for (unsigned axis = t->rank; axis-- > 0; i /= t->shape[axis])
        at[axis] = i % t->shape[axis];
}

bool attn_same_shape(const struct attn_tensor *a, const struct attn_tensor *b) {
    bool same = a->rank == b->rank;
    for (unsigned axis = 0; same && axis < a->rank; axis++)
        same = a->shape[axis] == b->shape[axis];
    return same;
}
