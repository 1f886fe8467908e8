/* serving.h - the program at the beginning and at the end of a Criterion test. */
#ifndef TESTS_SERVING_H
#define TESTS_SERVING_H

#include "tests/server/client.h"

#include <criterion/criterion.h>
#include <unistd.h>

/* LIVE - the smallest whole request. */
#define LIVE "GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n"

/* start - asserts that it serves; end - expects a clean exit. */
static inline void start(struct program *p, const char *const *options) {
    cr_assert(program_start(p, options));
}

static inline void end(struct program *p) {
    cr_expect_eq(program_stop(p), 0);
    close(p->output);
}

#endif
