#include "server/refusals.h"

#include "server/head.h"
#include "server/http.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/socket.h>

typedef enum MHD_Result queue_response(struct MHD_Connection *connection, unsigned status, struct MHD_Response *answer);

static struct srv_server *served; /* NULL: this program only shares our archive, as the benchmarks do */
static queue_response *queue;     /* the library's own */

__attribute__((constructor)) static void find_queue(void) {
    void *found = dlsym(RTLD_NEXT, "MHD_queue_response");
    memcpy(&queue, &found, sizeof queue);
}

void srv_refusals_start(struct srv_server *server) {
    served = server;
}

enum MHD_Result srv_queue(struct srv_request *request, struct MHD_Response *answer) {
    return queue(request->connection, (unsigned)request->response.status, answer);
}

/* struct saying - what a refusal of the library's means, while the head arrives and while the body does. */
struct saying {
    unsigned status;
    const char *code;
    enum srv_reject reason;
    const char *head, *body;
};

/* 500 is said of a chunk's line that fills all memory: of nothing else, since every piece of a body is taken. */
static const struct saying sayings[] = {
    {400, "bad_request", SRV_REJECT_FRAMING, "The request line or a header line is malformed, or Host is missing.",
     "The chunked body is malformed."},
    {413, "body_too_large", SRV_REJECT_TOO_LARGE, "Content-Length is out of range.",
     "The size of a chunk is out of range, or its line is too long."},
    {500, "body_too_large", SRV_REJECT_TOO_LARGE, NULL, "The line with the size of a chunk is too long."},
    {414, "uri_too_long", SRV_REJECT_TOO_LARGE, "A request target may have at most 8192 bytes.", NULL},
    {431, "headers_too_large", SRV_REJECT_TOO_LARGE, "At most 100 header lines and 16384 bytes of them are read.",
     "The trailer section is too large."},
    {501, "not_implemented", SRV_REJECT_FRAMING, "Of the transfer codings only chunked is known here.", NULL},
    {505, "http_version", SRV_REJECT_FRAMING, "This service speaks HTTP/1.1 and HTTP/1.0.", NULL},
};

static const struct saying *saying_of(unsigned status, bool in_head) {
    for (size_t i = 0; i < sizeof sayings / sizeof *sayings; i++)
        if (sayings[i].status == status && (in_head ? sayings[i].head : sayings[i].body))
            return &sayings[i];
    return status < 500 ? sayings : NULL;
}

/* Has the library read the whole head of this request? */
static bool head_is_whole(const struct srv_request *request) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    return request->stage == SRV_STAGE_TARGET && info && info->header_size > 0;
}

static void say(struct srv_request *request, unsigned status) {
    bool in_head = request->stage == SRV_STAGE_TARGET;
    const struct saying *saying = saying_of(status, in_head);
    const char *detail, *fault = status == 400 && head_is_whole(request) ? srv_head_fault(request, &detail) : NULL;
    if (request->response.code)
        return; /* refused already; its body was to be read first, and is broken */
    if (fault)
        srv_refuse(request, fault, detail, SRV_REJECT_FRAMING);
    else if (saying)
        srv_refuse(request, saying->code, in_head ? saying->head : saying->body, saying->reason);
    else
        srv_refuse(request, "internal", NULL, SRV_REJECT_COUNT);
}

/* 0.9 sends the head of an answer twice when it refuses a whole head, and 1.0 refuses a chunk's long extension twice,
 * by which the answer is lost. Then the answer goes past the library, which finds the socket closed. TLS knows no way
 * past it: there the first is sent without a body, so that it ends where its head does. */
static void go_past(struct srv_request *request, unsigned status) {
    bool old = request->server->old_layout;
    bool twice = old ? head_is_whole(request) : status == 413 && request->stage != SRV_STAGE_TARGET;
    if (!twice)
        return;
    if (!request->server->tls_cert) {
        srv_raw_send(request->peer->fd, &request->response, request->id);
        shutdown(request->peer->fd, SHUT_WR);
    } else if (old) {
        api_response_free(&request->response);
    }
}

static enum MHD_Result refuse(struct srv_request *request, unsigned status) {
    if (!request->id[0]) { /* the head was never read */
        srv_request_id(NULL, request->id);
        srv_trace_begin(NULL, &request->trace);
    }
    say(request, status);
    go_past(request, status);
    request->by_library = true;
    return srv_request_refused(request);
}

/* Called by the library only; see refusals.h. */
enum MHD_Result MHD_queue_response(struct MHD_Connection *connection, unsigned status, struct MHD_Response *answer) {
    if (!served)
        return queue(connection, status, answer);
    struct srv_connection *peer =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
    if (peer->request)
        return refuse(peer->request, status);
    struct srv_request *unread = srv_request_begin(served, connection, NULL);
    if (!unread)
        return queue(connection, status, answer);
    enum MHD_Result result = refuse(unread, status);
    srv_request_end(unread, result == MHD_YES); /* nobody else knows of it */
    srv_connection_move(peer, SRV_WRITING, served->options.response_timeout_ms);
    return result;
}
