/* golden.h - the cases in tests/golden: a request, where it goes, and its answer as NumPy computed it. */
#ifndef TESTS_API_GOLDEN_H
#define TESTS_API_GOLDEN_H

#include <jansson.h>
#include <stddef.h>

/* struct golden - one folder. A request may hold NaN as a bare word, so it is text. */
struct golden {
    const char *name;
    char method[16], path[64];
    char *request;
    size_t request_size;
    json_t *expected;
};

/* golden_each - calls `visit` with every case; one that cannot be read fails the test. Returns how many there are, at
 * least one (asserted). */
unsigned golden_each(void (*visit)(const struct golden *golden, void *arg), void *arg);

#endif
