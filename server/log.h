/* log.h - one line a request, and the life of the service, on a file descriptor.
 *
 * Logging never blocks and never fails as far as the service can see: a line is formatted on the caller's stack and put
 * into a bounded ring without a lock; one thread writes the ring out. When the reader is slow, the disk full or the
 * descriptor closed, lines are dropped and counted, nothing else happens.
 *
 * A request's body never reaches a line.
 */
#ifndef SRV_LOG_H
#define SRV_LOG_H

#include "server/options.h"

#include <stdint.h>

struct srv_log;

/* struct srv_log_request - what a request's line says; strings may be NULL (left out), are cut to a bounded length and
 * are escaped.
 *
 *     id, trace_id   X-Request-Id and the trace's 32 hex digits
 *     route          the matched route ("/mha"), never the raw target
 *     client         address of the peer, as text
 *     key            name of the bearer key, never the key
 *     shape, code    of the api's response
 *     ..._ns         total, of that waiting in the queue, computing; queue and compute may be 0
 */
struct srv_log_request {
    const char *id, *trace_id, *method, *route, *client, *key, *shape, *code;
    int status;
    uint64_t bytes_in, bytes_out, total_ns, queue_ns, compute_ns;
};

/* srv_log_open - starts the writer. `fd` is borrowed, usually STDOUT_FILENO.
 * Returns NULL when there is no memory or thread. All functions accept NULL and do nothing. */
struct srv_log *srv_log_open(int fd, enum srv_log_format format);

/* srv_log_request - logs one request. Threads: any. Signal handlers: no. */
void srv_log_request(struct srv_log *log, const struct srv_log_request *request);

/* struct srv_log_field - one member of an event's line: a text, or a number when text is NULL. */
struct srv_log_field {
    const char *name, *text;
    double number;
};

/* srv_log_event - one line about the service itself ("start", "stop", "reload_failed" ...).
 *
 *     level    "info", "warning" or "error"
 *     message  a sentence for people
 *     fields   `count` members besides; may be NULL with count 0
 */
void srv_log_event(struct srv_log *log, const char *level, const char *event, const char *message,
                   const struct srv_log_field *fields, size_t count);

/* srv_log_dropped - lines lost so far. */
uint64_t srv_log_dropped(const struct srv_log *log);

/* srv_log_close - writes out what is in the ring, for at most about a second, and releases everything. No other call
 * may be in progress or follow. */
void srv_log_close(struct srv_log *log);

#endif
