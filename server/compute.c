#include "server/compute.h"

#include "server/answer.h"
#include "server/body.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const double inline_cost = 2e6; /* about a millisecond */

/* What a job is expected to take, for the order in the queue only. An unread body may ask for anything. */
enum { UNITS_A_NS = 2, PACKED_BYTE_NS = 10, UNREAD_BYTE_NS = 50 };

enum { INLINE_PACK = 32768, MEMORY_WAIT_MS = 500, MEMORY_LOOK_US = 1000 };

static struct srv_request *request_of(const struct srv_job *job) {
    return (struct srv_request *)((const char *)job - offsetof(struct srv_request, job));
}

/* --- the api's view of the server -------------------------------------------------------------------------------- */

static bool unwanted(const struct srv_request *request) {
    return atomic_load_explicit(&request->peer->gone, memory_order_relaxed) ||
           atomic_load_explicit(&request->server->abandon, memory_order_relaxed) ||
           srv_now_ms() >= atomic_load_explicit(&request->deadline_ms, memory_order_relaxed);
}

static bool stop(void *ctx) {
    return unwanted(ctx);
}

static void run(void *ctx, size_t n, attn_task *task, void *arg) {
    const struct srv_request *request = ctx;
    srv_work_spread(request->server->work, n, task, arg);
}

static void body_was_read(void *ctx) {
    srv_body_drop(ctx);
}

/* Memory that others hold comes back when they are done: a worker waits for it a little, before it refuses what has
 * arrived already. The thread of a connection does not. */
static bool grant_soon(void *ctx, size_t bytes) {
    const struct srv_request *request = ctx;
    for (uint64_t end = srv_now_ms() + MEMORY_WAIT_MS; !srv_grant(ctx, bytes); usleep(MEMORY_LOOK_US))
        if (unwanted(request) || srv_now_ms() >= end)
            return false;
    return true;
}

static void ask_api(struct srv_request *request, const struct attn_exec *exec, double most) {
    struct api_env env = request->server->env;
    env.exec = exec;
    env.inline_cost = most;
    env.reserve = most == 0 ? grant_soon : srv_grant;
    env.reserve_ctx = request;
    /* What the whole budget cannot hold beside this body is refused for good (413), not for now (503). */
    size_t beside = request->server->budget.limit - request->granted;
    if (env.limits.memory_bytes > beside)
        env.limits.memory_bytes = beside;
    if (most == 0) { /* nobody will ask again */
        env.body_read = body_was_read;
        env.body_read_ctx = request;
    }
    struct api_request question = {
        .method = strcmp(request->method, "HEAD") == 0 ? "GET" : request->method,
        .path = request->path,
        .query = request->query,
        .content_type = request->head.content_type,
        .body = request->body ? request->body : "",
        .body_size = request->size,
    };
    uint64_t began = srv_clock_ns();
    api_handle(&env, &question, &request->response);
    request->compute_ns += srv_clock_ns() - began;
}

static void count_refusal(struct srv_request *request) {
    static const struct {
        const char *code;
        enum srv_reject reason;
    } counted[] = {{"memory_budget", SRV_REJECT_MEMORY},
                   {"out_of_memory", SRV_REJECT_MEMORY},
                   {"too_costly", SRV_REJECT_COST},
                   {"answer_too_large", SRV_REJECT_COST},
                   {"memory_limit", SRV_REJECT_COST}};
    for (size_t i = 0; request->response.code && i < sizeof counted / sizeof *counted; i++)
        if (strcmp(counted[i].code, request->response.code) == 0)
            srv_metrics_rejected(request->server->metrics, counted[i].reason);
}

/* Gives back what is granted beyond `bytes`. */
static void keep_granted(struct srv_request *request, size_t bytes) {
    if (request->granted <= bytes)
        return;
    srv_budget_give(&request->server->budget, request->granted - bytes);
    request->granted = bytes;
}

/* The answer is there: what it was made from is not needed any more, and only the answer is counted on. */
static void settle(struct srv_request *request) {
    srv_body_drop(request);
    count_refusal(request);
    keep_granted(request, request->response.body_size);
}

/* --- here -------------------------------------------------------------------------------------------------------- */

bool srv_compute_here(struct srv_request *request) {
    ask_api(request, NULL, inline_cost);
    if (request->response.deferred) {
        request->job.cost_ns = (uint64_t)fmin(request->response.estimate / UNITS_A_NS, 1e15);
        api_response_free(&request->response);
        request->response = (struct api_response){0};
        keep_granted(request, request->body_granted);
        return false;
    }
    settle(request);
    if (srv_answer_wants_packing(request)) {
        if (request->response.body_size > INLINE_PACK)
            return false;
        srv_answer_pack(request, 0, NULL);
    }
    return true;
}

/* --- elsewhere --------------------------------------------------------------------------------------------------- */

static void give_up(struct srv_request *request, enum srv_reject late, const char *detail) {
    struct srv_server *server = request->server;
    if (atomic_load(&request->peer->gone))
        srv_refuse(request, "stopped", "The client has gone.", SRV_REJECT_CLIENT_GONE);
    else if (atomic_load(&server->abandon))
        srv_refuse(request, "shutting_down", NULL, SRV_REJECT_DRAINING);
    else
        srv_refuse(request, "deadline", detail, late);
}

static const char compute_timeout[] = "Computing took longer than the server allows.";

static bool unpack(struct srv_request *request) {
    enum srv_coding coding;
    struct srv_unpack_limit limit = {request->server->options.max_body_bytes, srv_grant, stop, request};
    char *body = NULL;
    size_t size = 0;
    srv_content_coding(request->head.content_encoding, &coding);
    if (limit.bytes == 0)
        limit.bytes = SIZE_MAX / 4;
    enum srv_unpack result = srv_unpack(coding, request->body, request->size, &limit, &body, &size);
    srv_body_drop(request); /* the packed one; what was granted for the other goes with the answer */
    switch (result) {
    case SRV_UNPACKED:
        request->body = body;
        request->size = size;
        return true;
    case SRV_UNPACK_TOO_LARGE:
        srv_refuse(request, "body_too_large", "The unpacked body is longer than the limit.", SRV_REJECT_TOO_LARGE);
        return false;
    case SRV_UNPACK_STOPPED:
        give_up(request, SRV_REJECT_COMPUTE_TIMEOUT, compute_timeout);
        return false;
    case SRV_UNPACK_NO_MEMORY:
        srv_refuse(request, "memory_budget", NULL, SRV_REJECT_MEMORY);
        return false;
    default:
        srv_refuse(request, "bad_request", "The body is not what its Content-Encoding says.", SRV_REJECT_COUNT);
        return false;
    }
}

static void compute(struct srv_request *request) {
    const struct srv_server *server = request->server;
    struct attn_exec exec = {srv_work_workers(server->work), run, stop, request};
    uint64_t most = server->options.compute_timeout_ms;
    atomic_store(&request->deadline_ms, most ? srv_now_ms() + most : UINT64_MAX);
    if (request->head.content_encoding && !unpack(request))
        return;
    ask_api(request, &exec, 0);
    settle(request);
    if (request->response.code && strcmp(request->response.code, "stopped") == 0)
        give_up(request, SRV_REJECT_COMPUTE_TIMEOUT, compute_timeout);
}

/* Back to the thread that serves the connection; from here on the request is its own again. */
static void hand_back(struct srv_request *request) {
    struct MHD_Connection *connection = request->connection;
    srv_connection_unwatch(request->server->connections, request->peer);
    request->stage = SRV_STAGE_READY;
    struct srv_server *server = request->server;
    srv_connection_move(request->peer, SRV_WRITING, server->options.response_timeout_ms);
    MHD_resume_connection(connection);
    atomic_fetch_sub(&server->suspended, 1);
}

static void drop(struct srv_job *job) {
    struct srv_request *request = request_of(job);
    request->queue_ns = srv_clock_ns() - request->queued_ns;
    srv_body_drop(request);
    give_up(request, SRV_REJECT_QUEUE_TIMEOUT, "No worker was free in time.");
    hand_back(request);
}

/* What is stopped goes out as it is. To who refuses that it cannot: to pack it after all would keep the thread of the
 * connection, and all others there, for as long as it takes. */
static void pack(struct srv_request *request) {
    srv_answer_pack(request, 0, stop);
    if (request->coding == SRV_IDENTITY && unwanted(request) &&
        !srv_coding_takes_identity(request->head.accept_encoding))
        give_up(request, SRV_REJECT_COMPUTE_TIMEOUT, "Packing took longer than the server allows.");
}

static void work(struct srv_job *job) {
    struct srv_request *request = request_of(job);
    request->queue_ns = srv_clock_ns() - request->queued_ns;
    if (!request->response.body && unwanted(request)) {
        drop(job);
        return;
    }
    if (!request->response.body)
        compute(request);
    if (srv_answer_wants_packing(request))
        pack(request);
    hand_back(request);
}

static uint64_t expected_ns(const struct srv_request *request) {
    if (request->response.body)
        return request->response.body_size * PACKED_BYTE_NS;
    if (request->job.cost_ns)
        return request->job.cost_ns;
    uint64_t unread = request->size * UNREAD_BYTE_NS;
    return unread > SRV_BRIEF_NS ? unread : SRV_BRIEF_NS + 1;
}

static bool job_unwanted(const struct srv_job *job) {
    return unwanted(request_of(job));
}

enum MHD_Result srv_compute_elsewhere(struct srv_request *request) {
    struct srv_server *server = request->server;
    atomic_fetch_add(&server->suspended, 1);
    if (atomic_load(&server->abandon)) {
        atomic_fetch_sub(&server->suspended, 1);
        return MHD_NO; /* the library is about to be stopped */
    }
    uint64_t wait = server->options.queue_timeout_ms;
    request->stage = SRV_STAGE_WORK;
    request->queued = true;
    request->queued_ns = srv_clock_ns();
    atomic_store(&request->deadline_ms, wait ? srv_now_ms() + wait : UINT64_MAX);
    request->job = (struct srv_job){.came_ns = request->queued_ns,
                                    .cost_ns = expected_ns(request),
                                    .run = work,
                                    .unwanted = job_unwanted,
                                    .drop = drop};
    MHD_suspend_connection(request->connection);
    srv_connection_watch(server->connections, request->peer);
    if (!srv_work_put(server->work, &request->job)) {
        if (!request->response.body) {
            srv_body_drop(request);
            srv_refuse(request, "busy", NULL, SRV_REJECT_QUEUE_FULL);
        }
        request->queued = false;
        hand_back(request);
    }
    return MHD_YES;
}
