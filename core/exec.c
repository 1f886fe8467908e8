#include "core/exec.h"

size_t attn_exec_slots(const struct attn_exec *exec) {
    return exec ? exec->slots : 1;
}

bool attn_exec_stopped(const struct attn_exec *exec) {
    return exec && exec->stop && exec->stop(exec->ctx);
}

struct guarded {
    const struct attn_exec *exec;
    attn_task *task;
    void *arg;
};

static void run_unless_stopped(void *arg, size_t index, size_t slot) {
    const struct guarded *g = arg;
    if (!attn_exec_stopped(g->exec))
        g->task(g->arg, index, slot);
}

bool attn_exec_run(const struct attn_exec *exec, size_t n, attn_task *task, void *arg) {
    struct guarded guarded = {exec, task, arg};
    if (exec && exec->run && exec->slots > 1 && n > 1) {
        exec->run(exec->ctx, n, run_unless_stopped, &guarded);
    } else {
        for (size_t i = 0; i < n; i++)
            run_unless_stopped(&guarded, i, 0);
    }
    return !attn_exec_stopped(exec);
}
