/* test_work - the queue and its workers: every job once, never more than the queue holds, every task of a shared job
 * once with a slot of its own, helpers that leave when a job waits, never more tasks at once than workers. */
#include "server/budget.h"
#include "server/work.h"

#include <criterion/criterion.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

TestSuite(work, .timeout = 30);

enum { LONG_NS = SRV_BRIEF_NS + 1 };

struct counted {
    struct srv_job job;
    atomic_int run, dropped;
    atomic_bool unwanted, release;
    struct srv_work *work;
};

static struct counted *counted_of(const struct srv_job *job) {
    return (struct counted *)(uintptr_t)job;
}

static void count_run(struct srv_job *job) {
    struct counted *c = counted_of(job);
    atomic_fetch_add(&c->run, 1);
    while (!atomic_load(&c->release))
        usleep(100);
}

static bool is_unwanted(const struct srv_job *job) {
    return atomic_load(&counted_of(job)->unwanted);
}

static void count_drop(struct srv_job *job) {
    atomic_fetch_add(&counted_of(job)->dropped, 1);
}

static struct counted fresh(bool release) {
    struct counted c = {.job = {.cost_ns = LONG_NS, .run = count_run, .unwanted = is_unwanted, .drop = count_drop}};
    atomic_init(&c.release, release);
    return c;
}

Test(work, every_job_runs_once) {
    enum { JOBS = 2000 };
    struct srv_work *work = srv_work_new(3, JOBS);
    struct counted *jobs = calloc(JOBS, sizeof *jobs);
    for (int i = 0; i < JOBS; i++) {
        jobs[i] = fresh(true);
        cr_assert(srv_work_put(work, &jobs[i].job));
    }
    srv_work_free(work); /* ends only when the queue is empty */
    for (int i = 0; i < JOBS; i++)
        cr_assert_eq(atomic_load(&jobs[i].run), 1);
    free(jobs);
}

Test(work, the_queue_is_bounded_and_swept) {
    enum { DEPTH = 3 };
    struct srv_work *work = srv_work_new(1, DEPTH);
    struct counted busy = fresh(false), jobs[DEPTH], extra = fresh(true);
    while (srv_work_busy(work))
        usleep(100); /* the worker has begun to wait */
    cr_assert(srv_work_put(work, &busy.job));
    while (!atomic_load(&busy.run))
        usleep(100);
    for (int i = 0; i < DEPTH; i++) {
        jobs[i] = fresh(true);
        cr_assert(srv_work_put(work, &jobs[i].job));
    }
    cr_expect_not(srv_work_put(work, &extra.job));
    cr_expect_eq(srv_work_waiting(work), DEPTH);
    atomic_store(&jobs[1].unwanted, true);
    srv_work_sweep(work);
    cr_expect_eq(atomic_load(&jobs[1].dropped), 1);
    cr_expect_eq(srv_work_waiting(work), DEPTH - 1);
    cr_expect(srv_work_put(work, &extra.job));
    atomic_store(&busy.release, true);
    srv_work_free(work);
    cr_expect_eq(atomic_load(&jobs[0].run) + atomic_load(&jobs[2].run) + atomic_load(&extra.run), 3);
    cr_expect_eq(atomic_load(&jobs[1].run), 0);
}

/* --- who comes first --------------------------------------------------------------------------------------------- */

struct ordered {
    struct srv_job job;
    int place;
};

static atomic_int places;

static void take_place(struct srv_job *job) {
    ((struct ordered *)(uintptr_t)job)->place = atomic_fetch_add(&places, 1);
}

/* With the worker busy: puts jobs that come and cost so many milliseconds, then lets them run. */
static void run_in_order(struct ordered *jobs, size_t n, const int (*came_and_cost)[2]) {
    struct srv_work *work = srv_work_new(1, n);
    struct counted busy = fresh(false);
    cr_assert(srv_work_put(work, &busy.job));
    while (!atomic_load(&busy.run))
        usleep(100);
    atomic_store(&places, 0);
    for (size_t i = 0; i < n; i++) {
        uint64_t came = (uint64_t)came_and_cost[i][0] * 1000000, cost = (uint64_t)came_and_cost[i][1] * 1000000;
        jobs[i].job = (struct srv_job){.came_ns = came, .cost_ns = cost, .run = take_place, .unwanted = is_unwanted};
        cr_assert(srv_work_put(work, &jobs[i].job));
    }
    atomic_store(&busy.release, true);
    srv_work_free(work);
    cr_assert_eq(atomic_load(&places), (int)n);
}

/* Shorter ones pass, equals keep their order, and what has waited for eight times its cost, or for a second, is passed
 * by none. */
Test(work, short_jobs_pass_long_ones_that_do_not_starve) {
    enum { JOBS = 7 };
    static const int jobs[JOBS][2] = {{0, 100}, {1, 100}, {2, 10}, {3, 10}, {4, 20}, {799, 10}, {0, 5000}};
    static const int order[JOBS] = {3, 4, 0, 1, 2, 5, 6}; /* due: 800, 801, 82, 83, 164, 879, 1000 */
    struct ordered ran[JOBS];
    run_in_order(ran, JOBS, jobs);
    for (size_t i = 0; i < JOBS; i++)
        cr_expect_eq(ran[i].place, order[i], "job %zu ran as number %d, not %d", i, ran[i].place, order[i]);
    static const int late[3][2] = {{0, 5000}, {900, 10}, {1001, 10}};
    run_in_order(ran, 3, late);
    cr_expect(ran[1].place == 0 && ran[0].place == 1 && ran[2].place == 2);
}

/* All workers are busy: what is brief runs all the same, what is not waits. */
Test(work, brief_jobs_need_no_idle_worker) {
    struct srv_work *work = srv_work_new(2, 8);
    struct counted busy[2] = {fresh(false), fresh(false)}, brief[3] = {fresh(true), fresh(true), fresh(true)};
    struct counted longer = fresh(true);
    for (int i = 0; i < 2; i++)
        cr_assert(srv_work_put(work, &busy[i].job));
    while (!atomic_load(&busy[0].run) || !atomic_load(&busy[1].run))
        usleep(100);
    cr_assert(srv_work_put(work, &longer.job));
    for (int i = 0; i < 3; i++) {
        brief[i].job.cost_ns = SRV_BRIEF_NS;
        cr_assert(srv_work_put(work, &brief[i].job));
    }
    while (!atomic_load(&brief[0].run) || !atomic_load(&brief[1].run) || !atomic_load(&brief[2].run))
        usleep(100); /* for ever, if they waited */
    usleep(20000);
    cr_expect_eq(atomic_load(&longer.run), 0);
    atomic_store(&busy[0].release, true);
    atomic_store(&busy[1].release, true);
    srv_work_free(work);
    cr_expect_eq(atomic_load(&longer.run), 1);
}

/* --- shared jobs ------------------------------------------------------------------------------------------------- */

enum { TASKS = 300, WORKERS = 4 };

struct shared {
    struct srv_job job;
    struct srv_work *work;
    atomic_int done[TASKS], in_slot[WORKERS], clashes, at_once, most_at_once;
    atomic_bool finished, nested;
    int pause_us;
};

static void task(void *arg, size_t index, size_t slot) {
    struct shared *s = arg;
    atomic_fetch_add(&s->done[index], 1);
    int now = atomic_fetch_add(&s->at_once, 1) + 1, most = atomic_load(&s->most_at_once);
    while (now > most && !atomic_compare_exchange_weak(&s->most_at_once, &most, now))
        ;
    if (slot >= WORKERS || atomic_fetch_add(&s->in_slot[slot], 1) != 0)
        atomic_fetch_add(&s->clashes, 1);
    usleep((useconds_t)s->pause_us);
    atomic_fetch_sub(&s->in_slot[slot % WORKERS], 1);
    atomic_fetch_sub(&s->at_once, 1);
}

static void spread(struct srv_job *job) {
    struct shared *s = (struct shared *)(uintptr_t)job;
    srv_work_spread(s->work, TASKS, task, s);
    atomic_store(&s->finished, true);
}

static struct shared *share(struct srv_work *work, int pause_us) {
    struct shared *s = calloc(1, sizeof *s);
    s->job = (struct srv_job){.cost_ns = LONG_NS, .run = spread, .unwanted = is_unwanted, .drop = count_drop};
    s->work = work;
    s->pause_us = pause_us;
    return s;
}

Test(work, tasks_are_shared_each_once_in_slots_of_their_own) {
    struct srv_work *work = srv_work_new(WORKERS, 8);
    struct shared *jobs[6];
    for (int i = 0; i < 6; i++) {
        jobs[i] = share(work, 100);
        cr_assert(srv_work_put(work, &jobs[i]->job));
        if (i < 2)
            usleep(20000); /* alone at first, then all together */
    }
    srv_work_free(work);
    for (int i = 0; i < 6; i++) {
        for (int j = 0; j < TASKS; j++)
            cr_assert_eq(atomic_load(&jobs[i]->done[j]), 1);
        cr_expect_eq(atomic_load(&jobs[i]->clashes), 0);
        free(jobs[i]);
    }
}

Test(work, an_idle_server_helps_and_a_loaded_one_does_not) {
    struct srv_work *work = srv_work_new(WORKERS, 8);
    struct shared *alone = share(work, 1000);
    while (srv_work_busy(work))
        usleep(100);
    cr_assert(srv_work_put(work, &alone->job));
    while (!atomic_load(&alone->finished))
        usleep(1000);
    cr_expect_eq(atomic_load(&alone->most_at_once), WORKERS);

    struct shared *jobs[WORKERS];
    for (int i = 0; i < WORKERS; i++) {
        jobs[i] = share(work, 1000);
        cr_assert(srv_work_put(work, &jobs[i]->job));
    }
    for (int seen = 0; seen < 100; seen++) {
        int running = 0;
        for (int i = 0; i < WORKERS; i++)
            running += atomic_load(&jobs[i]->at_once);
        cr_expect_leq(running, WORKERS);
        usleep(500);
    }
    srv_work_free(work);
    for (int i = 0; i < WORKERS; i++)
        free(jobs[i]);
    free(alone);
}

/* --- the budget -------------------------------------------------------------------------------------------------- */

Test(work, the_budget_grants_up_to_its_limit) {
    struct srv_budget budget = {.limit = 100};
    cr_expect(srv_budget_take(&budget, 60));
    cr_expect_not(srv_budget_take(&budget, 41));
    cr_expect(srv_budget_take(&budget, 40));
    cr_expect_not(srv_budget_take(&budget, 1));
    cr_expect_not(srv_budget_take(&budget, SIZE_MAX));
    srv_budget_give(&budget, 60);
    cr_expect(srv_budget_take(&budget, 60));
    cr_expect_eq(atomic_load(&budget.used), 100);
    srv_budget_give(&budget, 100);
    cr_expect(srv_budget_reserve(&budget, 30));
    cr_expect_not(srv_budget_reserve(&budget, 21)); /* bodies get half together */
    cr_expect(srv_budget_reserve(&budget, 20));
    cr_expect(srv_budget_take(&budget, 50)); /* the other half is for the rest */
    srv_budget_release(&budget, 50);
    cr_expect_not(srv_budget_reserve(&budget, 60));
    srv_budget_give(&budget, 50);
    cr_expect(srv_budget_reserve(&budget, 100)); /* more than half, alone */
    cr_expect_not(srv_budget_reserve(&budget, 1));
    srv_budget_release(&budget, 100);
    cr_expect(atomic_load(&budget.used) == 0 && atomic_load(&budget.bodies) == 0);
    struct srv_budget unlimited = {0};
    cr_expect(srv_budget_take(&unlimited, (size_t)1 << 40));
}
