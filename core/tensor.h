/* tensor.h - the one currency between api/ and core/: a dense row-major array with a shape. */
#ifndef ATTN_TENSOR_H
#define ATTN_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum attn_dtype {
    ATTN_F64,  /* double */
    ATTN_F32,  /* float */
    ATTN_BOOL, /* uint8_t, 0 or 1 */
    ATTN_I64   /* int64_t */
};

enum { ATTN_MAX_RANK = 4 };

/* struct attn_tensor - `data` is contiguous, row-major, aligned to 64 bytes; the tensor does not own it.
 * Rank 0 is a scalar (one element); a dimension may be 0 only where a function says so. */
struct attn_tensor {
    enum attn_dtype dtype;
    unsigned rank;
    size_t shape[ATTN_MAX_RANK];
    void *data;
};

/* struct attn_view - a [batch, heads, rows, cols] reading of memory whose columns are adjacent.
 * Strides count elements. The columns of head h of a joined (n, heads * d) matrix are
 * { data, n * heads * d, d, heads * d }: no copy is needed to split or join heads. */
struct attn_view {
    void *data;
    size_t batch, head, row;
};

/* attn_dtype_size - bytes of one element. */
size_t attn_dtype_size(enum attn_dtype dtype);

/* attn_tensor_count - number of elements; 1 for rank 0. */
size_t attn_tensor_count(const struct attn_tensor *t);

/* attn_tensor_index - where element i stands, in C order: t holds it at [at[0]][at[1]]...
 *
 *     at    [rank]    out
 */
void attn_tensor_index(const struct attn_tensor *t, size_t i, size_t *at);

/* attn_same_shape - as many dimensions, of the same sizes? Their dtypes may differ. */
bool attn_same_shape(const struct attn_tensor *a, const struct attn_tensor *b);

#endif
