#include "server/answer.h"

#include "server/documents.h"
#include "server/gate.h"
#include "server/refusals.h"
#include "server/routes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PACK_LEVEL = 1, PACK_EXCESS = 64 };

#define NOTHING_ALLOWED "default-src 'none'; frame-ancestors 'none'"

bool srv_answer_wants_packing(struct srv_request *request) {
    if (request->coding != SRV_IDENTITY || request->response.body_size < SRV_COMPRESS_MIN ||
        !request->head.accept_encoding)
        return false;
    request->wanted = srv_coding_negotiate(request->head.accept_encoding);
    return request->wanted == SRV_GZIP || request->wanted == SRV_DEFLATE;
}

void srv_answer_pack(struct srv_request *request, size_t below, bool (*stop)(void *ctx)) {
    struct api_response *response = &request->response;
    uint64_t began = srv_clock_ns();
    size_t size;
    const struct srv_packing how = {request->wanted, PACK_LEVEL, below, stop, request};
    void *packed = srv_compress(&how, response->body, response->body_size, &size);
    if (packed) {
        free(response->body);
        response->body = packed;
        response->body_size = size;
        request->coding = request->wanted;
    }
    request->pack_ns = srv_clock_ns() - began;
}

/* Who refuses an answer as it is gets a small one packed too. */
static void pack_what_must_be(struct srv_request *request) {
    const char *accept_encoding = request->head.accept_encoding;
    if (!accept_encoding || !request->response.body || request->coding != SRV_IDENTITY ||
        srv_coding_takes_identity(accept_encoding))
        return;
    request->wanted = srv_coding_negotiate(accept_encoding);
    if (request->wanted != SRV_NOT_ACCEPTABLE)
        srv_answer_pack(request, request->response.body_size + PACK_EXCESS, NULL);
}

void srv_answer_options(struct srv_request *request) {
    const struct srv_head *head = &request->head;
    struct api_response *response = &request->response;
    response->status = MHD_HTTP_NO_CONTENT;
    response->route = request->route ? request->route->path : "unknown";
    response->allow = request->route ? request->route->allow : "GET, HEAD, POST, OPTIONS";
    if (!request->route && strcmp(request->path, "*") != 0)
        srv_gate_refuse_path(request);
    else
        request->preflight = srv_cors_is_preflight(request->method, head->origin, head->request_method);
}

/* --- headers ----------------------------------------------------------------------------------------------------- */

static void put(struct MHD_Response *answer, const char *name, const char *value) {
    if (value)
        MHD_add_response_header(answer, name, value);
}

static void put_cors(struct srv_request *request, struct MHD_Response *answer) {
    const struct srv_cors *cors = request->server->cors;
    struct srv_cors_header headers[SRV_CORS_HEADERS];
    size_t n = request->preflight ? srv_cors_preflight(cors, request->head.origin, request->response.allow, headers)
                                  : srv_cors_answer(cors, request->head.origin, headers);
    for (size_t i = 0; i < n; i++)
        put(answer, headers[i].name, headers[i].value);
}

/* Microseconds as milliseconds with three decimals, without printf, which would cost more than a small request may. */
static char *duration(char *out, const char *name, uint64_t ns) {
    uint64_t us = ns / 1000;
    char digits[24];
    int n = 0;
    do
        digits[n++] = (char)('0' + us % 10);
    while ((us /= 10) || n < 4);
    out = stpcpy(out, name);
    while (n > 3)
        *out++ = digits[--n];
    *out++ = '.';
    while (n)
        *out++ = digits[--n];
    return out;
}

static void put_timing(const struct srv_request *request, struct MHD_Response *answer) {
    char text[160], *out = text;
    out = duration(out, "read;dur=", request->read_ns);
    out = duration(out, ", queue;dur=", request->queue_ns);
    out = duration(out, ", compute;dur=", request->compute_ns);
    out = duration(out, ", write;dur=", request->pack_ns);
    *out = 0;
    put(answer, "Server-Timing", text);
}

static void put_number(struct MHD_Response *answer, const char *name, unsigned value) {
    char text[16];
    snprintf(text, sizeof text, "%u", value);
    put(answer, name, text);
}

static void put_all(struct srv_request *request, struct MHD_Response *answer) {
    const struct api_response *response = &request->response;
    const struct srv_document *document = request->document;
    put(answer, "Content-Type", document ? document->type : response->content_type);
    put(answer, "X-Request-Id", request->id);
    put_timing(request, answer);
    put(answer, "X-Content-Type-Options", "nosniff");
    put(answer, "Content-Security-Policy", document && document->policy ? document->policy : NOTHING_ALLOWED);
    put(answer, "Referrer-Policy", "no-referrer");
    put(answer, "Cache-Control", document ? "no-cache" : "no-store");
    put(answer, "Vary", "Accept-Encoding");
    put(answer, "traceparent", request->trace.traceparent);
    if (request->coding != SRV_IDENTITY)
        put(answer, "Content-Encoding", srv_coding_name(request->coding));
    put(answer, "ETag", request->etag);
    put(answer, "Allow", response->allow);
    if (response->retry_after_s)
        put_number(answer, "Retry-After", response->retry_after_s);
    if (request->unauthorized)
        put(answer, "WWW-Authenticate", "Bearer realm=\"dikkat\"");
    if (response->status == MHD_HTTP_UNSUPPORTED_MEDIA_TYPE) {
        bool coding = response->code && strcmp(response->code, "unsupported_encoding") == 0;
        put(answer, coding ? "Accept-Encoding" : "Accept", coding ? "gzip, deflate" : "application/json");
    }
    if (request->server->cors)
        put_cors(request, answer);
    if (request->close || atomic_load_explicit(&request->server->draining, memory_order_relaxed))
        put(answer, "Connection", "close");
}

/* --- sending ----------------------------------------------------------------------------------------------------- */

static struct MHD_Response *document_answer(struct srv_request *request) {
    const struct srv_document *document = request->document;
    bool packed = document->packed && request->head.accept_encoding &&
                  srv_coding_negotiate(request->head.accept_encoding) == SRV_GZIP;
    request->coding = packed ? SRV_GZIP : SRV_IDENTITY;
    request->etag = packed ? document->packed_etag : document->etag;
    request->response.status = MHD_HTTP_OK;
    request->response.route = document->path;
    if (srv_etag_matches(request->head.if_none_match, request->etag)) {
        request->response.status = MHD_HTTP_NOT_MODIFIED;
        request->coding = SRV_IDENTITY;
        return MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
    }
    request->response.body_size = packed ? document->packed_size : document->size;
    void *data = packed ? document->packed : (void *)document->data;
    return MHD_create_response_from_buffer(request->response.body_size, data, MHD_RESPMEM_PERSISTENT);
}

static struct MHD_Response *response_answer(struct srv_request *request) {
    struct api_response *response = &request->response;
    pack_what_must_be(request);
    struct MHD_Response *answer =
        MHD_create_response_from_buffer(response->body ? response->body_size : 0, response->body,
                                        response->body ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
    if (answer)
        response->body = NULL; /* it belongs to the answer now; its size stays for the log */
    return answer;
}

enum MHD_Result srv_answer_send(struct srv_request *request) {
    if (!srv_connection_move(request->peer, SRV_WRITING, request->server->options.response_timeout_ms))
        return MHD_NO;
    struct MHD_Response *answer = request->document ? document_answer(request) : response_answer(request);
    if (!answer)
        return MHD_NO;
    put_all(request, answer);
    request->stage = SRV_STAGE_SENT;
    enum MHD_Result result = srv_queue(request, answer);
    MHD_destroy_response(answer);
    return result;
}

/* --- afterwards -------------------------------------------------------------------------------------------------- */

/* Status and size as the client has seen them. 499 stands, as with other servers, for a client that did not wait. */
static int final_status(const struct srv_request *request, bool whole) {
    bool doomed = false;
    enum srv_phase phase = srv_connection_phase(request->peer, &doomed);
    if (doomed && (phase == SRV_BODY || phase == SRV_HEAD))
        return MHD_HTTP_REQUEST_TIMEOUT;
    if (request->response.status && (whole || request->stage != SRV_STAGE_SENT))
        return request->response.status;
    if (request->stage == SRV_STAGE_SENT)
        return 499;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_HTTP_STATUS);
    return info && info->http_status ? (int)info->http_status : 499;
}

void srv_answer_record(struct srv_request *request, bool whole) {
    struct srv_server *server = request->server;
    const struct api_response *response = &request->response;
    uint64_t total_ns = srv_clock_ns() - request->began_ns;
    const char *route = response->route ? response->route : request->route ? request->route->path : "unknown";
    int status = final_status(request, whole);
    bool empty = request->stage != SRV_STAGE_SENT || (request->method && strcmp(request->method, "HEAD") == 0);
    uint64_t bytes_out = empty ? 0 : response->body_size;
    srv_metrics_request(server->metrics, &(struct srv_metrics_request){.route = route,
                                                                       .status = status,
                                                                       .queued = request->queued,
                                                                       .total_ns = total_ns,
                                                                       .queue_ns = request->queue_ns,
                                                                       .compute_ns = request->compute_ns,
                                                                       .bytes_in = request->bytes_in,
                                                                       .bytes_out = bytes_out,
                                                                       .numbers_in = response->numbers_in,
                                                                       .numbers_out = response->numbers_out,
                                                                       .multiply_adds = response->multiply_adds});
    if (!server->log)
        return;
    srv_log_request(server->log, &(struct srv_log_request){.id = request->id,
                                                           .trace_id = request->trace.trace_id,
                                                           .method = request->method,
                                                           .route = route,
                                                           .client = request->peer->text,
                                                           .key = request->key.name[0] ? request->key.name : NULL,
                                                           .shape = response->shape[0] ? response->shape : NULL,
                                                           .code = response->code,
                                                           .status = status,
                                                           .bytes_in = request->bytes_in,
                                                           .bytes_out = bytes_out,
                                                           .total_ns = total_ns,
                                                           .queue_ns = request->queue_ns,
                                                           .compute_ns = request->compute_ns});
}
