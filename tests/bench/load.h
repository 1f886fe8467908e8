/* load.h - clients that keep a server busy, in one thread: each sends a request, reads the answer, and begins again. */
#ifndef TESTS_LOAD_H
#define TESTS_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* struct load_result - requests that were answered with 200, others, and the seconds it took. `body_size` of the last
 * answer. */
struct load_result {
    size_t served, failed, body_size;
    double seconds;
};

/* load_run - `connections` clients send `request` (head and body) to the port on loopback until `seconds` have passed
 * or `most` answers have come (0: no such bound). */
struct load_result load_run(uint16_t port, size_t connections, const char *request, size_t size, double seconds,
                            size_t most);

#endif
