/* latency.h - times of requests, and what may be concluded from them. */
#ifndef TESTS_LATENCY_H
#define TESTS_LATENCY_H

#include <stdbool.h>
#include <stddef.h>

enum { SAMPLES = 100000 };

/* struct latencies - `n` times in milliseconds, and how many requests failed. */
struct latencies {
    double ms[SAMPLES];
    size_t n, failed;
};

/* clock_ms - monotonic. */
double clock_ms(void);

/* percentile - of all times (0 .. 1), which are sorted; 0 without any. */
double percentile(struct latencies *all, double part);

/* is_measured - speed and memory of a program that is built for debugging, or with sanitizers, say nothing. */
bool is_measured(void);

#endif
