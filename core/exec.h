/* exec.h - how core/ spreads work without knowing threads: the caller lends a way to run numbered tasks. */
#ifndef ATTN_EXEC_H
#define ATTN_EXEC_H

#include <stdbool.h>
#include <stddef.h>

/* attn_task - does part `index` of a job. `slot` < exec.slots is held by no other running task of the same
 * run, so a task may use piece `slot` of the job's work memory. */
typedef void attn_task(void *arg, size_t index, size_t slot);

/* struct attn_exec - where tasks run. NULL wherever one is taken means: here, one after the other, never stopped.
 *
 *     slots   most tasks that run at once, >= 1
 *     run     runs task(arg, 0 .. n-1, slot), in any order, and returns when all are done; may call in this thread;
 *             NULL: one after the other in the calling thread
 *     stop    true once the result is no longer wanted (deadline, client gone); cheap; NULL: never.
 *             Once true it stays true.
 */
struct attn_exec {
    size_t slots;
    void (*run)(void *ctx, size_t n, attn_task *task, void *arg);
    bool (*stop)(void *ctx);
    void *ctx;
};

/* attn_exec_slots - number of slots, 1 for NULL. */
size_t attn_exec_slots(const struct attn_exec *exec);

/* attn_exec_stopped - has the result become unwanted? Kernels ask between blocks. */
bool attn_exec_stopped(const struct attn_exec *exec);

/* attn_exec_run - runs n tasks; tasks not yet begun are skipped once stopped.
 * Returns false if stopped: the results are then partial and must not be used. */
bool attn_exec_run(const struct attn_exec *exec, size_t n, attn_task *task, void *arg);

#endif
