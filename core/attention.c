#include "core/attention_tile.h"

/* A stop must take effect within some milliseconds: a block of keys is not more than this many multiply-adds. */
static const size_t block_multiply_adds = 64u << 20;

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

static size_t most(size_t a, size_t b) {
    return a > b ? a : b;
}

static size_t blocks(size_t n, size_t size) {
    return (n + size - 1) / size;
}

static size_t aligned(size_t bytes) {
    return (bytes + 63) / 64 * 64;
}

static struct attn_plan plan_of(const struct attn_call *call) {
    const struct attn_dims *d = &call->dims;
    size_t element = attn_dtype_size(call->dtype);
    struct attn_plan plan = {0};
    plan.rows = most(1, least(d->n_q, d->n_q < ATTN_LONG ? ATTN_SHORT_TILE_ROWS : ATTN_TILE_ROWS));
    plan.keys = most(16, least(ATTN_BLOCK_KEYS, block_multiply_adds / (plan.rows * (d->d + d->d_v))));
    plan.keys = most(1, least(plan.keys, d->n_k));
    plan.q_blocks = blocks(d->n_q, plan.rows);
    plan.k_blocks = blocks(d->n_k, plan.keys);
    plan.clean = aligned(plan.rows * plan.keys * element);
    plan.tops = plan.clean + aligned(plan.keys * d->d_v * element);
    plan.slot_bytes = plan.tops + aligned(plan.k_blocks * plan.rows * element);
    return plan;
}

size_t attn_attention_work(const struct attn_call *call, size_t slots) {
    return plan_of(call).slot_bytes * slots;
}

struct job {
    const struct attn_call *call;
    const struct attn_exec *exec;
    struct attn_plan plan;
    unsigned char *work;
};

static void run_tile(void *arg, size_t index, size_t slot) {
    const struct job *job = arg;
    void *work = job->work + slot * job->plan.slot_bytes;
    if (job->call->dtype == ATTN_F32)
        attn_tile_f32(job->call, &job->plan, job->exec, index, work);
    else
        attn_tile_f64(job->call, &job->plan, job->exec, index, work);
}

bool attn_attention(const struct attn_call *call, const struct attn_exec *exec, void *work) {
    struct job job = {call, exec, plan_of(call), work};
    size_t tiles = call->dims.batch * call->dims.heads * job.plan.q_blocks;
    return attn_exec_run(exec, tiles, run_tile, &job);
}
