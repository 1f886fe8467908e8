#include "server/budget.h"

#include <stdint.h>

static size_t limit_of(const struct srv_budget *budget) {
    return budget->limit ? budget->limit : SIZE_MAX / 2;
}

bool srv_budget_take(struct srv_budget *budget, size_t bytes) {
    size_t limit = limit_of(budget);
    if (bytes > limit)
        return false;
    size_t before = atomic_fetch_add_explicit(&budget->used, bytes, memory_order_relaxed);
    if (before <= limit - bytes)
        return true;
    atomic_fetch_sub_explicit(&budget->used, bytes, memory_order_relaxed);
    return false;
}

void srv_budget_give(struct srv_budget *budget, size_t bytes) {
    atomic_fetch_sub_explicit(&budget->used, bytes, memory_order_relaxed);
}

bool srv_budget_reserve(struct srv_budget *budget, size_t bytes) {
    size_t half = limit_of(budget) / 2;
    size_t before = atomic_fetch_add_explicit(&budget->bodies, bytes, memory_order_relaxed);
    bool fits = before == 0 || (bytes <= half && before <= half - bytes);
    if (fits && srv_budget_take(budget, bytes))
        return true;
    atomic_fetch_sub_explicit(&budget->bodies, bytes, memory_order_relaxed);
    return false;
}

void srv_budget_release(struct srv_budget *budget, size_t bytes) {
    atomic_fetch_sub_explicit(&budget->bodies, bytes, memory_order_relaxed);
    srv_budget_give(budget, bytes);
}
