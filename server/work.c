/* work.c - one mutex guards the queue and the list of jobs that others may help with; tasks themselves are handed out
 * by an atomic counter. */
#include "server/work.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>

/* struct spread - tasks that several workers share; lives on the stack of the worker whose job it is. */
struct spread {
    struct spread *next;
    attn_task *task;
    void *arg;
    size_t count;
    atomic_size_t taken;
    size_t helpers;
};

struct srv_work {
    pthread_mutex_t lock;
    pthread_cond_t wake, brief_waits, helper_left;
    struct srv_job *first, *last;
    struct spread *spreads;
    size_t depth, idle, workers;
    atomic_size_t waiting;
    bool stopping, has_brief;
    pthread_t *threads, brief;
    atomic_size_t started;
};

/* Which worker this thread is, and whether it already runs a task: tasks that spread further do so by themselves. */
static _Thread_local size_t own_slot;
static _Thread_local bool in_task;

/* In whole times the job's own cost: how long others may pass it. At most a second, however dear it is. */
enum { PATIENCE = 8, PATIENCE_MOST_NS = 1000000000 };

static uint64_t due(const struct srv_job *job) {
    uint64_t most = PATIENCE_MOST_NS / PATIENCE;
    return job->came_ns + PATIENCE * (job->cost_ns < most ? job->cost_ns : most);
}

/* Behind all that are due no later. */
static void enqueue(struct srv_work *work, struct srv_job *job) {
    struct srv_job *before = work->last;
    while (before && due(before) > due(job))
        before = before->previous;
    job->previous = before;
    job->next = before ? before->next : work->first;
    *(job->next ? &job->next->previous : &work->last) = job;
    *(before ? &before->next : &work->first) = job;
    atomic_fetch_add_explicit(&work->waiting, 1, memory_order_relaxed);
}

static void unlink_job(struct srv_work *work, struct srv_job *job) {
    *(job->previous ? &job->previous->next : &work->first) = job->next;
    *(job->next ? &job->next->previous : &work->last) = job->previous;
    atomic_fetch_sub_explicit(&work->waiting, 1, memory_order_relaxed);
}

/* The first brief job, unless an idle worker will take it. */
static struct srv_job *next_brief(const struct srv_work *work) {
    struct srv_job *job = work->idle ? NULL : work->first;
    while (job && job->cost_ns > SRV_BRIEF_NS)
        job = job->next;
    return job;
}

static void call_brief(struct srv_work *work) {
    if (next_brief(work))
        pthread_cond_signal(&work->brief_waits);
}

/* Runs a job that waits, without the lock, which is held before and after. */
static void run_next(struct srv_work *work, struct srv_job *job) {
    unlink_job(work, job);
    call_brief(work); /* this thread may have counted as idle when the next one came */
    pthread_mutex_unlock(&work->lock);
    job->run(job);
    pthread_mutex_lock(&work->lock);
}

static struct spread *helpable(struct srv_work *work) {
    for (struct spread *s = work->spreads; s; s = s->next)
        if (atomic_load_explicit(&s->taken, memory_order_relaxed) < s->count)
            return s;
    return NULL;
}

/* Takes tasks until none is left or, for a helper, a job waits. */
static void take_tasks(struct srv_work *work, struct spread *spread, bool helper) {
    in_task = true;
    while (!helper || atomic_load_explicit(&work->waiting, memory_order_relaxed) == 0) {
        size_t index = atomic_fetch_add_explicit(&spread->taken, 1, memory_order_relaxed);
        if (index >= spread->count)
            break;
        spread->task(spread->arg, index, own_slot);
    }
    in_task = false;
}

static void help(struct srv_work *work, struct spread *spread) {
    spread->helpers++;
    pthread_mutex_unlock(&work->lock);
    take_tasks(work, spread, true);
    pthread_mutex_lock(&work->lock);
    if (--spread->helpers == 0)
        pthread_cond_broadcast(&work->helper_left);
}

static void *worker(void *arg) {
    struct srv_work *work = arg;
    own_slot = atomic_fetch_add(&work->started, 1);
    /* Threads that serve connections go first: workers are batch threads, and a little nicer than they. */
    sched_setscheduler(0, SCHED_BATCH, &(struct sched_param){0});
    setpriority(PRIO_PROCESS, 0, 5);
    pthread_mutex_lock(&work->lock);
    for (;;) {
        struct spread *spread;
        if (work->first) {
            run_next(work, work->first);
        } else if ((spread = helpable(work))) {
            help(work, spread);
        } else if (work->stopping) {
            break;
        } else {
            work->idle++;
            pthread_cond_wait(&work->wake, &work->lock);
            work->idle--;
        }
    }
    pthread_mutex_unlock(&work->lock);
    return NULL;
}

/* Not a batch thread: that is how it gets a core when all of them are busy. Its jobs keep to it. */
static void *brief_worker(void *arg) {
    struct srv_work *work = arg;
    in_task = true;
    pthread_mutex_lock(&work->lock);
    while (!work->stopping) {
        struct srv_job *job = next_brief(work);
        if (job)
            run_next(work, job);
        else
            pthread_cond_wait(&work->brief_waits, &work->lock);
    }
    pthread_mutex_unlock(&work->lock);
    return NULL;
}

struct srv_work *srv_work_new(size_t workers, size_t depth) {
    struct srv_work *work = calloc(1, sizeof *work);
    if (!work)
        return NULL;
    work->threads = calloc(workers, sizeof *work->threads);
    if (!work->threads) {
        free(work);
        return NULL;
    }
    work->depth = depth;
    pthread_mutex_init(&work->lock, NULL);
    pthread_cond_init(&work->wake, NULL);
    pthread_cond_init(&work->brief_waits, NULL);
    pthread_cond_init(&work->helper_left, NULL);
    while (work->workers < workers) {
        if (pthread_create(&work->threads[work->workers], NULL, worker, work) != 0) {
            srv_work_free(work);
            return NULL;
        }
        work->workers++;
    }
    work->has_brief = pthread_create(&work->brief, NULL, brief_worker, work) == 0;
    if (work->has_brief)
        return work;
    srv_work_free(work);
    return NULL;
}

bool srv_work_put(struct srv_work *work, struct srv_job *job) {
    pthread_mutex_lock(&work->lock);
    size_t waiting = atomic_load_explicit(&work->waiting, memory_order_relaxed);
    bool room = waiting < work->depth + work->idle;
    if (room) {
        enqueue(work, job);
        pthread_cond_signal(&work->wake);
        call_brief(work);
    }
    pthread_mutex_unlock(&work->lock);
    return room;
}

void srv_work_sweep(struct srv_work *work) {
    if (srv_work_waiting(work) == 0)
        return;
    struct srv_job *dropped = NULL;
    pthread_mutex_lock(&work->lock);
    for (struct srv_job *job = work->first, *next; job; job = next) {
        next = job->next;
        if (job->unwanted(job)) {
            unlink_job(work, job);
            job->next = dropped;
            dropped = job;
        }
    }
    pthread_mutex_unlock(&work->lock);
    while (dropped) {
        struct srv_job *job = dropped;
        dropped = job->next;
        job->drop(job);
    }
}

void srv_work_spread(struct srv_work *work, size_t n, attn_task *task, void *arg) {
    struct spread spread = {.task = task, .arg = arg, .count = n};
    if (n < 2 || work->workers == 1 || in_task) {
        for (size_t i = 0; i < n; i++)
            task(arg, i, own_slot);
        return;
    }
    pthread_mutex_lock(&work->lock);
    spread.next = work->spreads;
    work->spreads = &spread;
    size_t wanted = n - 1;
    for (size_t i = 0; i < work->idle && i < wanted; i++)
        pthread_cond_signal(&work->wake);
    pthread_mutex_unlock(&work->lock);

    take_tasks(work, &spread, false);

    pthread_mutex_lock(&work->lock);
    struct spread **link = &work->spreads;
    while (*link != &spread)
        link = &(*link)->next;
    *link = spread.next;
    while (spread.helpers)
        pthread_cond_wait(&work->helper_left, &work->lock);
    pthread_mutex_unlock(&work->lock);
}

size_t srv_work_workers(const struct srv_work *work) {
    return work->workers;
}

size_t srv_work_waiting(struct srv_work *work) {
    return atomic_load_explicit(&work->waiting, memory_order_relaxed);
}

size_t srv_work_busy(struct srv_work *work) {
    pthread_mutex_lock(&work->lock);
    size_t busy = work->workers - work->idle;
    pthread_mutex_unlock(&work->lock);
    return busy;
}

void srv_work_free(struct srv_work *work) {
    if (!work)
        return;
    pthread_mutex_lock(&work->lock);
    work->stopping = true;
    pthread_cond_broadcast(&work->wake);
    pthread_cond_broadcast(&work->brief_waits);
    pthread_mutex_unlock(&work->lock);
    for (size_t i = 0; i < work->workers; i++)
        pthread_join(work->threads[i], NULL);
    if (work->has_brief)
        pthread_join(work->brief, NULL);
    pthread_cond_destroy(&work->helper_left);
    pthread_cond_destroy(&work->brief_waits);
    pthread_cond_destroy(&work->wake);
    pthread_mutex_destroy(&work->lock);
    free(work->threads);
    free(work);
}
