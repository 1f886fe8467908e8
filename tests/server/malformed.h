/* malformed.h - request bodies that are wrong, drawn from a grammar: nearly requests, wrong in bytes, in JSON, in
 * fields or in shapes. Some are right by accident. */
#ifndef TESTS_MALFORMED_H
#define TESTS_MALFORMED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MALFORMED_MAX = 16384 };

/* struct malformed - the generator's state; the same seed gives the same bodies. */
struct malformed {
    uint64_t random;
    char *out, *end;
    unsigned faults, rate;
};

struct malformed malformed_new(uint64_t seed);

/* malformed_next - writes the next body, at most MALFORMED_MAX bytes, not NUL-terminated. Returns its size, and in
 * `path` the endpoint that it is for. */
size_t malformed_next(struct malformed *state, char out[MALFORMED_MAX], const char **path);

/* malformed_draw - a number below n. */
unsigned malformed_draw(struct malformed *state, unsigned n);

#endif
