/* budget.h - memory that all requests in flight may hold together, counted before it is taken. */
#ifndef SRV_BUDGET_H
#define SRV_BUDGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* struct srv_budget - `limit` is set once, 0 = none; `used` goes up and down. */
struct srv_budget {
    size_t limit;
    atomic_size_t used;
};

/* srv_budget_take - true when `bytes` more stay within the limit; they are then counted. Threads: any. */
bool srv_budget_take(struct srv_budget *budget, size_t bytes);

/* srv_budget_give - gives back what was taken. */
void srv_budget_give(struct srv_budget *budget, size_t bytes);

#endif
