/* connections.h - what every open connection is doing and until when it may; found by its descriptor.
 *
 * libmicrohttpd knows only how long a connection was silent. Here each one has a phase with a deadline of its own, in
 * one atomic word: the thread that serves the connection moves it on, the housekeeping thread ends it when the deadline
 * has passed (srv_connections_look). Whoever changes the word first wins, the other one finds out.
 *
 * A deadline that has passed is answered by 408 where a request had begun, by bytes written straight to the socket:
 * libmicrohttpd has nothing to send then, and no way to be asked.
 */
#ifndef SRV_CONNECTIONS_H
#define SRV_CONNECTIONS_H

#include "server/address.h"
#include "server/budget.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct api_response;
struct srv_request;

/* Phases of a connection.
 *
 *     SRV_HEAD      headers are arriving, or are expected first thing after connecting
 *     SRV_IDLE      between two requests
 *     SRV_BODY      a body is arriving
 *     SRV_BUSY      suspended while the request waits or is computed
 *     SRV_WRITING   the answer is being sent
 *     SRV_HELD      for a moment the housekeeping thread writes to it
 *     SRV_DOOMED    ended by the housekeeping thread, on its way to being closed
 *     SRV_LINGER    not a connection any more: reads what a refused client still sends, so that no reset destroys the
 *                   answer it has not read yet
 */
enum srv_phase { SRV_FREE, SRV_HEAD, SRV_IDLE, SRV_BODY, SRV_BUSY, SRV_WRITING, SRV_HELD, SRV_DOOMED, SRV_LINGER };

/* struct srv_connection
 *
 *     word      deadline in milliseconds << 4 | phase; the deadline of SRV_DOOMED is the phase it was in
 *     gone      the client has closed or reset the connection: nobody will read the answer
 *     talks     the client may be sent an interim answer: HTTP/1.1 and no TLS
 *     request   what is being asked; NULL between requests. Only the thread that serves the connection
 *     reserved  bytes of the budget that wait for the rest of a body: whoever takes them out owns them
 *     seen...   the housekeeping thread's notes on a silent connection
 */
struct srv_connection {
    atomic_uint_fast64_t word;
    atomic_bool gone, talks;
    atomic_size_t reserved;
    int fd;
    struct srv_request *request;
    struct srv_address address;
    char text[SRV_ADDRESS_TEXT];
    uint64_t seen_word, seen_bytes, seen_first, seen_last, seen_moving;
};

struct srv_connections;

/* struct srv_connection_limits - milliseconds; 0 = none. `tls`: nothing can be written past the library. `budget`: what
 * is reserved for bodies is of it. */
struct srv_connection_limits {
    uint64_t header_ms;
    bool tls;
    struct srv_budget *budget;
};

/* srv_connections_new - room for descriptors 0 .. files-1. `ended` is told (in the housekeeping thread) the phase in
 * which a connection ran out of time. Returns NULL out of memory or descriptors. */
struct srv_connections *srv_connections_new(size_t files, const struct srv_connection_limits *limits,
                                            void (*ended)(void *ctx, enum srv_phase phase), void *ctx);
void srv_connections_free(struct srv_connections *connections);

/* srv_now_ms - a monotonic clock that is cheap and a few milliseconds coarse. */
uint64_t srv_now_ms(void);

/* srv_connections_at - the entry of a descriptor, NULL if out of range. */
struct srv_connection *srv_connections_at(struct srv_connections *connections, int fd);

/* srv_connection_open - fd was accepted. Only the housekeeping thread. */
void srv_connection_open(struct srv_connections *connections, struct srv_connection *connection, int fd,
                         const struct srv_address *address);

/* srv_connection_move - the next phase, which may last `limit_ms` (0: for ever). Returns false when the connection is
 * doomed. Waits while the housekeeping thread holds it (the length of one send that does not block). Only the thread
 * that serves the connection, or the worker that has its request. */
bool srv_connection_move(struct srv_connection *connection, enum srv_phase phase, uint64_t limit_ms);

/* srv_connection_phase - where it is now; for a doomed one the phase it was in, with `doomed` set (may be NULL). */
enum srv_phase srv_connection_phase(const struct srv_connection *connection, bool *doomed);

/* srv_connection_close - the descriptor is about to be closed. */
void srv_connection_close(struct srv_connections *connections, struct srv_connection *connection);

/* srv_connection_watch, _unwatch - between the two, `gone` becomes true soon after the client is. A client that only
 * stops sending (half close) is told "100 Continue", which it reads or refuses by a reset. */
void srv_connection_watch(struct srv_connections *connections, struct srv_connection *connection);
void srv_connection_unwatch(struct srv_connections *connections, struct srv_connection *connection);

/* srv_connections_linger - keeps a copy of fd open and reads from it until the client closes, for a bounded time and
 * number of bytes. `own`: not a copy, fd itself, which is then ours to close. Threads: any. */
void srv_connections_linger(struct srv_connections *connections, int fd, bool own);

/* srv_connections_fd - becomes readable when srv_connections_serve has something to do. */
int srv_connections_fd(const struct srv_connections *connections);

/* srv_connections_serve - handles what the watched and lingering sockets report. Returns true when a client has gone.
 * Only the housekeeping thread, before it accepts connections (which may reuse a descriptor). */
bool srv_connections_serve(struct srv_connections *connections);

/* srv_connections_look - ends what is over its time, and lets the reservation of a body lapse that hardly moves.
 * `idle_ms`: when not 0, also connections that have been silent for so long between requests or before the first.
 * Returns the number of sockets open, lingering ones among them. Only the housekeeping thread. */
size_t srv_connections_look(struct srv_connections *connections, uint64_t now_ms, uint64_t idle_ms);

/* srv_raw_send - writes a whole answer to the socket, past the library, without blocking; `id` (NULL: none) is its
 * X-Request-Id. False when not all of it fitted. */
bool srv_raw_send(int fd, const struct api_response *response, const char *id);

/* srv_raw_answer - the same with a problem document, of this code. */
bool srv_raw_answer(int fd, const char *code, const char *detail);

#endif
