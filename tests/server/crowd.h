/* crowd.h - many raw connections at once, held by one thread: what floods, slow clients and noise are made of. */
#ifndef TESTS_CROWD_H
#define TESTS_CROWD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MEMBER_TEXT = 1024 };

/* struct member - one connection.
 *
 *     status   of the first answer, 0: none yet
 *     began, ended   now_ms() of its opening and of the end of the connection (0: still open)
 *     reset    it ended without a clean close
 *     text     the beginning of what was received, NUL-terminated
 */
struct member {
    int fd, status;
    int64_t began, ended;
    bool reset;
    size_t size;
    char text[MEMBER_TEXT + 1];
};

struct crowd {
    struct member *members;
    size_t n;
};

/* crowd_open - begins n connections to the port on loopback, without waiting for them; raises this process' limit of
 * descriptors when it must. Returns false when that many cannot be had. */
bool crowd_open(struct crowd *crowd, uint16_t port, size_t n);

/* crowd_send - as much as the socket takes now; false when the server has gone. */
bool crowd_send(struct crowd *crowd, size_t i, const void *bytes, size_t size);

/* crowd_receive - takes what comes in until all have what they wait for, or until timeout_ms have passed. They wait for
 * the end of their connections, or (answers) for a first answer. Returns how many still wait. */
size_t crowd_receive(struct crowd *crowd, int timeout_ms, bool answers);

/* crowd_count - members with this status. */
size_t crowd_count(const struct crowd *crowd, int status);

void crowd_close(struct crowd *crowd);

#endif
