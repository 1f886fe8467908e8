/* budget.h - memory that all requests in flight may hold together, counted before it is taken. */
#ifndef SRV_BUDGET_H
#define SRV_BUDGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* struct srv_budget - `limit` is set once, 0 = none; `used` goes up and down, `bodies` of it for announced bodies. */
struct srv_budget {
    size_t limit;
    atomic_size_t used, bodies;
};

/* srv_budget_take - true when `bytes` more stay within the limit; they are then counted. Threads: any. */
bool srv_budget_take(struct srv_budget *budget, size_t bytes);

/* srv_budget_give - gives back what was taken. */
void srv_budget_give(struct srv_budget *budget, size_t bytes);

/* srv_budget_reserve - takes `bytes` for a body that is announced. All these together get half of the limit, so that
 * what has arrived can be computed with the other half; a body that is larger than that is taken when it is alone.
 * Threads: any. */
bool srv_budget_reserve(struct srv_budget *budget, size_t bytes);

/* srv_budget_release - gives back what was reserved. */
void srv_budget_release(struct srv_budget *budget, size_t bytes);

#endif
