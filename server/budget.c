#include "server/budget.h"

#include <stdint.h>

bool srv_budget_take(struct srv_budget *budget, size_t bytes) {
    size_t limit = budget->limit ? budget->limit : SIZE_MAX / 2;
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
