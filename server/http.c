/* http.c - the callbacks. Nothing here waits: what takes long goes to a worker while the connection is suspended.
 *
 * The handler is called when the headers are there, for each piece of the body, when the body is complete, and again
 * when a suspended connection is resumed. An answer may be queued in the first and the last two cases only. A
 * first-call answer makes the library close the connection, so small bodies are read to their end before a refusal is
 * sent.
 */
#include "server/http.h"

#include "server/answer.h"
#include "server/body.h"
#include "server/compute.h"
#include "server/gate.h"
#include "server/head.h"
#include "server/refusals.h"
#include "server/routes.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum {
    INLINE_BODY = 65536,       /* larger bodies are never computed by a thread that serves connections */
    POLITE_BODY = 65536,       /* a refused request's body up to this length is read, and the connection kept */
    CONNECTION_MEMORY = 32768, /* headers, and the piece of a body that is read at once */
    CONNECTION_STEP = 4096,
    STRICT = 1 /* refuse a bare LF, folded lines and white space in the target */
};

uint64_t srv_clock_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void srv_refuse(struct srv_request *request, const char *code, const char *detail, enum srv_reject reason) {
    srv_refuse_hint(request, code, detail, NULL, reason);
}

void srv_refuse_hint(struct srv_request *request, const char *code, const char *detail, const char *hint,
                     enum srv_reject reason) {
    api_response_free(&request->response);
    request->response = (struct api_response){0};
    request->document = NULL;
    api_problem_response(&request->response, code, detail, hint);
    request->response.route = request->route ? request->route->path : "unknown";
    if (reason != SRV_REJECT_COUNT)
        srv_metrics_rejected(request->server->metrics, reason);
}

/* --- a request begins -------------------------------------------------------------------------------------------- */

static struct srv_connection *peer_of(struct MHD_Connection *connection) {
    return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

struct srv_request *srv_request_begin(struct srv_server *server, struct MHD_Connection *connection,
                                      const char *target) {
    size_t size = target ? strlen(target) : 0;
    size_t kept = size > SRV_TARGET_MAX ? SRV_TARGET_MAX : size;
    struct srv_request *request = calloc(1, sizeof *request + kept + 1);
    if (!request)
        return NULL;
    request->server = server;
    request->connection = connection;
    request->peer = peer_of(connection);
    request->began_ns = srv_clock_ns();
    request->target_size = size;
    if (target)
        memcpy(request->target, target, kept);
    request->peer->request = request;
    atomic_fetch_add_explicit(&server->in_flight, 1, memory_order_relaxed);
    return request;
}

/* Called with the request line, before the library decodes it. What is returned becomes the handler's context.
 *
 * A query that stays would be split into arguments that nobody looks at, until the memory of the connection is full:
 * which 0.9 answers by not answering at all. It is cut off where the library keeps it. */
static void *request_line(void *ctx, const char *target, struct MHD_Connection *connection) {
    struct srv_request *request = srv_request_begin(ctx, connection, target);
    char *mark = target ? strchr(target, '?') : NULL;
    if (mark)
        mark[1] = 0;
    return request;
}

enum MHD_Result srv_request_refused(struct srv_request *request) {
    request->close = true;
    srv_connections_linger(request->server->connections, request->peer->fd, false);
    return srv_answer_send(request);
}

static bool has_body(const struct srv_framing *framing) {
    return framing->chunked || (framing->has_length && framing->length > 0);
}

static enum MHD_Result refused_early(struct srv_request *request) {
    const struct srv_framing *framing = &request->head.framing;
    if (!has_body(framing)) {
        request->stage = SRV_STAGE_READY;
        return MHD_YES;
    }
    if (framing->chunked || framing->expect_continue || framing->length > POLITE_BODY)
        return srv_request_refused(request);
    request->stage = SRV_STAGE_DISCARD;
    return MHD_YES;
}

static enum MHD_Result headers_are_here(struct srv_request *request, const char *url, const char *method,
                                        const char *version) {
    struct srv_server *server = request->server;
    const char *detail;
    const char *fault = srv_head_read(request, url, method, version, &detail);
    bool body = has_body(&request->head.framing);
    if (!srv_connection_move(request->peer, body ? SRV_BODY : SRV_BUSY, body ? server->options.body_timeout_ms : 0))
        return MHD_NO;
    atomic_store_explicit(&request->peer->talks, strcmp(version, MHD_HTTP_VERSION_1_1) == 0, memory_order_relaxed);
    if (fault) {
        srv_refuse(request, fault, detail, SRV_REJECT_FRAMING);
        return srv_request_refused(request);
    }
    request->route = srv_route_find(server->routes, request->path);
    request->stage = SRV_STAGE_BODY;
    if (!srv_gate_pass(request))
        return refused_early(request);
    return MHD_YES;
}

/* --- the body arrives -------------------------------------------------------------------------------------------- */

static bool is_options(const struct srv_request *request) {
    return strcmp(request->method, "OPTIONS") == 0;
}

/* A small body that comes in one piece is read where the library keeps it. */
static bool comes_whole(const struct srv_request *request, size_t size) {
    const struct srv_framing *framing = &request->head.framing;
    return request->stage == SRV_STAGE_BODY && framing->has_length && framing->length == size && size <= INLINE_BODY &&
           !request->head.content_encoding && srv_route_computes(request->route) && !is_options(request);
}

static enum srv_body compute_lent(struct srv_request *request, const char *data, size_t size) {
    request->read_ns = srv_clock_ns() - request->began_ns;
    srv_body_lend(request, data, size);
    if (srv_compute_here(request)) {
        request->stage = SRV_STAGE_READY;
        return SRV_BODY_TAKEN;
    }
    request->dear = true;
    srv_body_drop(request);
    return request->response.body ? SRV_BODY_TAKEN : srv_body_add(request, data, size);
}

static enum MHD_Result piece_is_here(struct srv_request *request, const char *data, size_t *size) {
    size_t n = *size;
    *size = 0;
    request->bytes_in += n;
    switch (comes_whole(request, n) ? compute_lent(request, data, n) : srv_body_add(request, data, n)) {
    case SRV_BODY_TAKEN:
        return MHD_YES;
    case SRV_BODY_REFUSED:
        request->stage = SRV_STAGE_DISCARD;
        return MHD_YES;
    case SRV_BODY_ENDLESS:
        break;
    }
    /* Too much even to throw away. The library cannot answer in the middle of a body. */
    if (!request->server->tls_cert) {
        srv_raw_send(request->peer->fd, &request->response, request->id);
        srv_connections_linger(request->server->connections, request->peer->fd, false);
    }
    return MHD_NO;
}

/* --- all is there ------------------------------------------------------------------------------------------------ */

static bool belongs_to_a_worker(struct srv_request *request) {
    return request->dear || request->size > INLINE_BODY || request->head.content_encoding || !srv_compute_here(request);
}

static enum MHD_Result request_is_here(struct srv_request *request) {
    if (!srv_connection_move(request->peer, SRV_BUSY, 0))
        return MHD_NO;
    if (!request->read_ns)
        request->read_ns = srv_clock_ns() - request->began_ns;
    const struct srv_route *route = request->route;
    if (is_options(request)) {
        srv_answer_options(request);
    } else if (srv_route_computes(route)) {
        if (belongs_to_a_worker(request)) {
            request->stage = SRV_STAGE_HANDOVER;
            return MHD_YES;
        }
    } else {
        request->document = route->document;
        if (route->answer)
            route->answer(request);
    }
    request->stage = SRV_STAGE_READY;
    return srv_answer_send(request);
}

static enum MHD_Result handle(void *ctx, struct MHD_Connection *connection, const char *url, const char *method,
                              const char *version, const char *data, size_t *size, void **req_cls) {
    (void)ctx, (void)connection;
    struct srv_request *request = *req_cls;
    if (!request)
        return MHD_NO; /* no memory for it */
    if (request->stage == SRV_STAGE_TARGET)
        return headers_are_here(request, url, method, version);
    if (*size)
        return piece_is_here(request, data, size);
    switch (request->stage) {
    case SRV_STAGE_BODY:
        return request_is_here(request);
    case SRV_STAGE_HANDOVER:
        return srv_compute_elsewhere(request);
    case SRV_STAGE_DISCARD:
    case SRV_STAGE_READY:
        return srv_answer_send(request);
    default:
        return MHD_YES; /* still with a worker */
    }
}

/* --- and ends ---------------------------------------------------------------------------------------------------- */

void srv_request_end(struct srv_request *request, bool whole) {
    struct srv_server *server = request->server;
    srv_answer_record(request, whole);
    request->peer->request = NULL;
    srv_connection_move(request->peer, SRV_IDLE, server->options.idle_timeout_ms);
    srv_body_drop(request);
    srv_budget_give(&server->budget, request->granted);
    api_response_free(&request->response);
    free(request);
    atomic_fetch_sub(&server->in_flight, 1);
}

static void completed(void *ctx, struct MHD_Connection *connection, void **req_cls,
                      enum MHD_RequestTerminationCode how) {
    (void)ctx, (void)connection;
    struct srv_request *request = *req_cls;
    *req_cls = NULL;
    if (request)
        srv_request_end(request, how == MHD_REQUEST_TERMINATED_COMPLETED_OK || request->by_library);
}

static void connection_changed(void *ctx, struct MHD_Connection *connection, void **socket_context,
                               enum MHD_ConnectionNotificationCode what) {
    struct srv_server *server = ctx;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        int fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
        *socket_context = srv_connections_at(server->connections, fd);
    } else {
        struct srv_connection *peer = *socket_context;
        if (server->tls_cert)
            shutdown(peer->fd, SHUT_WR); /* the library does so without TLS; a lingering copy would keep it open */
        struct srv_address address = peer->address; /* its entry may be taken again at once */
        if (peer->request)
            srv_request_end(peer->request, false); /* the library has lost it: 1.0 does, of what it refuses twice */
        srv_connection_close(server->connections, peer);
        srv_clients_leave(server->clients, &address);
    }
}

static void no_log(void *ctx, const char *format, va_list arguments) {
    (void)ctx, (void)format, (void)arguments;
}

bool srv_http_start(struct srv_server *server) {
    const struct srv_options *options = &server->options;
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_NO_LISTEN_SOCKET | MHD_USE_ITC | MHD_ALLOW_SUSPEND_RESUME;
    if (server->tls_cert)
        flags |= MHD_USE_TLS;
    struct MHD_OptionItem tls[] = {{MHD_OPTION_HTTPS_MEM_CERT, 0, server->tls_cert},
                                   {MHD_OPTION_HTTPS_MEM_KEY, 0, server->tls_key},
                                   {MHD_OPTION_END, 0, NULL}};
    unsigned threads = (unsigned)options->io_threads;
    /* 0.9 answers twice when it is strict; what it lets pass is found in head.c. */
    int strict = server->old_layout ? 0 : STRICT;
    srv_refusals_start(server);
    server->daemon = MHD_start_daemon(
        flags, 0, NULL, NULL, handle, server, MHD_OPTION_EXTERNAL_LOGGER, no_log, NULL, MHD_OPTION_THREAD_POOL_SIZE,
        threads > 1 ? threads : 0u, MHD_OPTION_CONNECTION_LIMIT, (unsigned)(options->max_connections + 64) * threads,
        MHD_OPTION_CONNECTION_TIMEOUT, 0u, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY,
        MHD_OPTION_CONNECTION_MEMORY_INCREMENT, (size_t)CONNECTION_STEP, MHD_OPTION_STRICT_FOR_CLIENT, strict,
        MHD_OPTION_URI_LOG_CALLBACK, request_line, server, MHD_OPTION_NOTIFY_COMPLETED, completed, server,
        MHD_OPTION_NOTIFY_CONNECTION, connection_changed, server, MHD_OPTION_ARRAY, server->tls_cert ? tls : &tls[2],
        MHD_OPTION_END);
    return server->daemon != NULL;
}
