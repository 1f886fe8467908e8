/* request.h - one HTTP request on its way through the server; and the server it belongs to. */
#ifndef SRV_REQUEST_H
#define SRV_REQUEST_H

#include "api/api.h"
#include "server/coding.h"
#include "server/connections.h"
#include "server/framing.h"
#include "server/keys.h"
#include "server/server.h"
#include "server/trace_context.h"
#include "server/work.h"

#include <microhttpd.h>

struct srv_document;
struct srv_route;

/* struct srv_head - the headers that somebody looks at; NULL when absent. They live in the library's memory until the
 * request is completed. */
struct srv_head {
    const char *content_type, *content_encoding, *accept_encoding, *authorization, *origin;
    const char *request_method, *if_none_match, *request_id, *traceparent;
    struct srv_framing framing;
};

/* Where a request is. */
enum srv_stage {
    SRV_STAGE_TARGET,   /* only the request line is known */
    SRV_STAGE_BODY,     /* the body is being collected */
    SRV_STAGE_DISCARD,  /* answer made; what remains of the body is thrown away first */
    SRV_STAGE_HANDOVER, /* to be given to a worker in the next call */
    SRV_STAGE_WORK,     /* a worker has it, the connection is suspended */
    SRV_STAGE_READY,    /* answer made */
    SRV_STAGE_SENT
};

/* struct srv_request - made when the request line is there, freed when the request is completed.
 *
 *     target           copy of the target: split and decoded in place into path and query
 *     body             malloc'd; `size` of `capacity` bytes are filled; freed as soon as it has been read
 *     lent             body is the library's memory, and only for the duration of one call
 *     dear             too costly for the thread that serves the connection
 *     by_library       refused by the library itself, which then reports its end as an error
 *     granted          bytes counted in the server's budget; body_granted of them for the body
 *     response         what is answered; unless `document` is set, then that
 *     coding           how response.body is packed
 *     ..._ns           nanoseconds: of the clock, then of each part
 *     deadline_ms      of the queue while the job waits, then of computing (srv_now_ms)
 */
struct srv_request {
    struct srv_server *server;
    struct MHD_Connection *connection;
    struct srv_connection *peer;
    enum srv_stage stage;
    const char *method, *path, *query;
    const struct srv_route *route;
    struct srv_head head;
    char *body;
    size_t size, capacity, discarded, body_granted, granted;
    uint64_t bytes_in;
    struct srv_job job;
    struct api_response response;
    const struct srv_document *document;
    const char *cache_control, *etag, *location;
    enum srv_coding coding, wanted;
    bool preflight, close, unauthorized, queued, lent, dear, by_library;
    atomic_uint_fast64_t deadline_ms;
    uint64_t began_ns, read_ns, queued_ns, queue_ns, compute_ns, pack_ns;
    struct srv_key key;
    struct srv_trace trace;
    char id[SRV_REQUEST_ID_SIZE];
    size_t target_size;
    char target[];
};

/* srv_refuse - makes the answer a problem document of the server's own, and counts why (SRV_REJECT_COUNT: not
 * counted). */
void srv_refuse(struct srv_request *request, const char *code, const char *detail, enum srv_reject reason);

/* srv_refuse_hint - the same with a hint. */
void srv_refuse_hint(struct srv_request *request, const char *code, const char *detail, const char *hint,
                     enum srv_reject reason);

/* srv_clock_ns - CLOCK_MONOTONIC. */
uint64_t srv_clock_ns(void);

#endif
