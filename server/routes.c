/* routes.c - the table is the api's routes, the fixed documents, and the few answers that tell the server's state. */
#include "server/routes.h"

#include "server/documents.h"
#include "server/kernel.h"
#include "server/version.h"

#include <stdlib.h>
#include <string.h>

struct srv_routes {
    struct srv_route rows[SRV_ROUTES_MAX];
    size_t count;
    struct srv_document *documents;
    size_t document_count;
};

static void reply(struct srv_request *request, int status, const char *type, char *body, size_t size) {
    struct api_response *response = &request->response;
    response->status = status;
    response->content_type = type;
    response->body = body;
    response->body_size = body ? size : 0;
    response->route = request->route->path;
}

static void reply_text(struct srv_request *request, int status, const char *text) {
    reply(request, status, "application/json", strdup(text), strlen(text));
}

static void health_live(struct srv_request *request) {
    reply_text(request, 200, "{\"status\": \"live\"}\n");
}

static void health_ready(struct srv_request *request) {
    if (atomic_load(&request->server->draining))
        srv_refuse(request, "shutting_down", "The server is about to stop.", SRV_REJECT_COUNT);
    else
        reply_text(request, 200, "{\"status\": \"ready\"}\n");
}

static void metrics(struct srv_request *request) {
    struct srv_server *server = request->server;
    struct srv_metrics_now now = {
        .version = srv_version(),
        .commit = srv_commit(),
        .kernel = srv_kernel_name(),
        .ready = !atomic_load(&server->draining),
        .in_flight = atomic_load(&server->in_flight),
        .queue_depth = srv_work_waiting(server->work),
        .queue_capacity = server->options.queue_depth,
        .workers = srv_work_workers(server->work),
        .workers_busy = srv_work_busy(server->work),
        .connections = srv_clients_count(server->clients),
        .connections_max = server->options.max_connections,
        .memory_reserved_bytes = atomic_load(&server->budget.used),
        .memory_budget_bytes = server->budget.limit,
        .log_lines_dropped = srv_log_dropped(server->log),
    };
    size_t size = 0;
    char *text = srv_metrics_render(server->metrics, &now, &size);
    if (text)
        reply(request, 200, SRV_METRICS_CONTENT_TYPE, text, size);
    else
        srv_refuse(request, "out_of_memory", NULL, SRV_REJECT_MEMORY);
}

static const struct srv_route own[] = {
    {.path = "/health/live", .answer = health_live, .methods = SRV_GET},
    {.path = "/health/ready", .answer = health_ready, .methods = SRV_GET},
    {.path = "/metrics", .answer = metrics, .methods = SRV_GET},
};

static const char *allow_of(unsigned methods) {
    switch (methods) {
    case SRV_GET:
        return "GET, HEAD, OPTIONS";
    case SRV_POST:
        return "POST, OPTIONS";
    default:
        return "GET, HEAD, POST, OPTIONS";
    }
}

static void add(struct srv_routes *routes, struct srv_route route) {
    if (routes->count == SRV_ROUTES_MAX)
        return;
    route.allow = allow_of(route.methods);
    routes->rows[routes->count++] = route;
}

static void add_api(struct srv_routes *routes, struct api_route_info info) {
    unsigned method = strcmp(info.method, "POST") == 0 ? SRV_POST : SRV_GET;
    for (size_t i = 0; i < routes->count; i++) {
        struct srv_route *row = &routes->rows[i];
        if (strcmp(row->path, info.path) == 0) {
            row->methods |= method;
            row->allow = allow_of(row->methods);
            return;
        }
    }
    add(routes, (struct srv_route){.path = info.path, .methods = method, .guarded = method == SRV_POST});
}

struct srv_routes *srv_routes_new(void) {
    struct srv_routes *routes = calloc(1, sizeof *routes);
    if (!routes)
        return NULL;
    routes->documents = srv_documents_new(&routes->document_count);
    if (!routes->documents) {
        free(routes);
        return NULL;
    }
    for (size_t i = 0; api_route(i).method; i++)
        add_api(routes, api_route(i));
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        add(routes, own[i]);
    for (size_t i = 0; i < routes->document_count; i++) {
        const struct srv_document *document = &routes->documents[i];
        add(routes, (struct srv_route){.path = document->path, .document = document, .methods = SRV_GET});
    }
    return routes;
}

void srv_routes_free(struct srv_routes *routes) {
    if (!routes)
        return;
    srv_documents_free(routes->documents, routes->document_count);
    free(routes);
}

/* "/examples/" and "/examples/{name}" take one more segment. */
static bool matches(const char *row, const char *path) {
    const char *brace = strchr(row, '{');
    size_t n = brace ? (size_t)(brace - row) : strlen(row);
    if (strncmp(row, path, n) != 0)
        return false;
    return path[n] == 0 ? !brace : n > 1 && row[n - 1] == '/' && !strchr(path + n, '/');
}

const struct srv_route *srv_route_find(const struct srv_routes *routes, const char *path) {
    for (size_t i = 0; i < routes->count; i++)
        if (matches(routes->rows[i].path, path))
            return &routes->rows[i];
    return NULL;
}

const struct srv_route *srv_route_at(const struct srv_routes *routes, size_t index) {
    return index < routes->count ? &routes->rows[index] : NULL;
}

bool srv_route_computes(const struct srv_route *route) {
    return route && !route->answer && !route->document;
}

bool srv_route_allows(const struct srv_route *route, const char *method) {
    if (strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0)
        return route->methods & SRV_GET;
    return strcmp(method, "POST") == 0 && route->methods & SRV_POST;
}
