#include "core/project.h"

/* A block is large enough to repay packing w for it, and small enough for a stop to be noticed within milliseconds. */
static const double largest_block = 0x1p28, smallest_block = 0x1p22; /* multiply-adds */
static const size_t fewest_rows = 32;

static size_t rows_per_block(const struct attn_projection *p, size_t slots) {
    double row = (double)p->d_in * (double)p->d_out, block = largest_block;
    if (slots > 1) {
        double share = row * (double)p->rows / (double)(2 * slots);
        block = share < smallest_block ? smallest_block : share < largest_block ? share : largest_block;
    }
    double rows = block / row;
    if (rows >= (double)p->rows)
        return p->rows;
    return rows < (double)fewest_rows ? fewest_rows : (size_t)rows;
}

struct blocks {
    const struct attn_projection *p;
    size_t rows;
};

static void project_block(void *arg, size_t index, size_t slot) {
    (void)slot;
    const struct blocks *blocks = arg;
    size_t first = index * blocks->rows, left = blocks->p->rows - first;
    size_t count = left < blocks->rows ? left : blocks->rows;
    if (blocks->p->dtype == ATTN_F64)
        attn_project_rows_f64(blocks->p, first, count);
    else
        attn_project_rows_f32(blocks->p, first, count);
}

bool attn_project(const struct attn_projection *p, const struct attn_exec *exec) {
    struct blocks blocks = {p, rows_per_block(p, attn_exec_slots(exec))};
    return attn_exec_run(exec, (p->rows + blocks.rows - 1) / blocks.rows, project_block, &blocks);
}
