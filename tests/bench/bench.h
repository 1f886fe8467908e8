/* bench.h - what every benchmark shares: a clock, and one way to print a figure beside its goal. */
#ifndef TESTS_BENCH_H
#define TESTS_BENCH_H

#include <stdbool.h>

/* bench_now - seconds of a monotonic clock. */
double bench_now(void);

/* bench_median - seconds of one call of run(arg): median of `repeats` timings after one warm-up. */
double bench_median(void (*run)(void *arg), void *arg, int repeats);

/* bench_figure - prints "name  value unit" for information. */
void bench_figure(const char *name, double value, const char *unit);

/* bench_goal - prints a value beside the most it may be. `gate`: it does not depend on the machine's load, so missing
 * it by more than 20 % makes bench_exit return 1. */
void bench_goal(const char *name, double value, const char *unit, double most, bool gate);

/* bench_exit - the exit code of the benchmark program. */
int bench_exit(void);

#endif
