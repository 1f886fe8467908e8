/* work.h - the threads that compute: a bounded queue of jobs, and idle workers that help with the job of another.
 *
 * A job that is alone may use all workers (srv_work_spread); as soon as another job waits, helpers leave at the next
 * task, so that a loaded server spends one core on each request.
 *
 * Who comes first. A job is due some time after it came, in proportion to what it is expected to cost; the one that is
 * due first is next. So a short job passes longer ones that wait, but none waits for ever: what comes after a job is
 * due is behind it. And since a worker that is busy stays so, one more thread, which the system prefers to the workers,
 * takes jobs that are brief when no worker is idle.
 */
#ifndef SRV_WORK_H
#define SRV_WORK_H

#include "core/exec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SRV_BRIEF_NS = 8000000 }; /* a job of this cost is brief */

struct srv_work;

/* struct srv_job - embedded in what is to be done; it stays the owner's memory.
 *
 *     came_ns   when (CLOCK_MONOTONIC)
 *     cost_ns   how long it is expected to take
 *     run       does the job, in a worker
 *     unwanted  looked at while the job waits: should it be given up? Called with the queue locked: no blocking
 *     drop      called instead of run when it is given up, by whoever found out
 */
struct srv_job {
    struct srv_job *next, *previous;
    uint64_t came_ns, cost_ns;
    void (*run)(struct srv_job *job);
    bool (*unwanted)(const struct srv_job *job);
    void (*drop)(struct srv_job *job);
};

/* srv_work_new - starts `workers` threads (>= 1), and the one for brief jobs, before a queue of at most `depth` waiting
 * jobs. Returns NULL when out of memory or threads. */
struct srv_work *srv_work_new(size_t workers, size_t depth);

/* srv_work_put - hands over a job; false when the queue is full. Threads: any. A depth of 0 still admits a job when a
 * worker is idle. */
bool srv_work_put(struct srv_work *work, struct srv_job *job);

/* srv_work_sweep - drops the waiting jobs that are no longer wanted. */
void srv_work_sweep(struct srv_work *work);

/* srv_work_spread - runs task(arg, 0 .. n-1, slot) in this worker and in those that are idle; returns when all are
 * done. slot < number of workers. Only from inside a job. */
void srv_work_spread(struct srv_work *work, size_t n, attn_task *task, void *arg);

size_t srv_work_workers(const struct srv_work *work);

/* srv_work_waiting, srv_work_busy - jobs in the queue, workers that compute (helpers among them), at this moment. */
size_t srv_work_waiting(struct srv_work *work);
size_t srv_work_busy(struct srv_work *work);

/* srv_work_free - ends the threads once the queue is empty. NULL is fine. */
void srv_work_free(struct srv_work *work);

#endif
