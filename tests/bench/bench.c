#include "tests/bench/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int missed;

double bench_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_median(void (*run)(void *arg), void *arg, int repeats) {
    enum { MOST = 101 };
    double seconds[MOST];
    if (repeats > MOST)
        repeats = MOST;
    run(arg);
    for (int r = 0; r < repeats; r++) {
        double start = bench_now();
        run(arg);
        seconds[r] = bench_now() - start;
    }
    qsort(seconds, (size_t)repeats, sizeof *seconds, by_value);
    return seconds[repeats / 2];
}

void bench_figure(const char *name, double value, const char *unit) {
    printf("  %-58s %10.3g %s\n", name, value, unit);
}

void bench_goal(const char *name, double value, const char *unit, double most, bool gate) {
    const char *verdict = value <= most ? "ok" : value <= 1.2 * most ? "close" : "MISSED";
    printf("  %-58s %10.3g %-6s goal <= %-8.3g %s\n", name, value, unit, most, verdict);
    fflush(stdout);
    if (gate && value > 1.2 * most)
        missed = 1;
}

int bench_exit(void) {
    return missed;
}
