#include "tests/server/latency.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

double clock_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double percentile(struct latencies *all, double part) {
    qsort(all->ms, all->n, sizeof *all->ms, by_size);
    return all->n ? all->ms[(size_t)(part * (double)(all->n - 1))] : 0;
}

bool is_measured(void) {
    const char *program = getenv("PROGRAM");
    return !program || strstr(program, "release");
}
