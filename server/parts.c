#include "server/parts.h"

#include "server/kernel.h"
#include "server/machine.h"
#include "server/routes.h"
#include "server/version.h"

#include <malloc.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    OTHER_FILES = 384, /* beside the connections: lingering sockets, epoll sets, log, libraries */
    LEAST_CONNECTIONS = 16,
    CONNECTION_BYTES = 48 << 10,
    RATE_CLIENTS = 65536,
    LARGE_BLOCK = 256 << 10,
    ROUTE_NAMES = 64
};

#define SMALL_MACHINE (512ull << 20)

/* What is left for OpenBLAS's own buffers, the program, stacks and the allocator's slack is a larger part of a small
 * machine. */
uint64_t srv_memory_share(uint64_t bytes) {
    return bytes < SMALL_MACHINE ? bytes / 2 : bytes / 4 * 3;
}

/* Large blocks come from the system and go back to it, so that memory stays flat; a few arenas serve the small ones. */
static void tune_allocator(size_t threads) {
    mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK);
    mallopt(M_TRIM_THRESHOLD, 4 * LARGE_BLOCK);
    mallopt(M_ARENA_MAX, (int)threads);
}

static void resolve(struct srv_options *options) {
    size_t cores = srv_machine_cores();
    if (options->workers == 0)
        options->workers = cores;
    if (options->io_threads == 0)
        options->io_threads = cores;
    if (options->max_memory_bytes == 0)
        options->max_memory_bytes = srv_memory_share(srv_machine_memory());
    if (options->max_body_bytes == 0 || options->max_body_bytes > options->max_memory_bytes)
        options->max_body_bytes = options->max_memory_bytes; /* more will never be granted: 413, not 503 */
    /* A connection may hold some 48 KiB before its request counts: all together at most a quarter of the memory. */
    uint64_t fitting = options->max_memory_bytes / 4 / CONNECTION_BYTES;
    if (options->max_connections == 0 || options->max_connections > fitting)
        options->max_connections = fitting > LEAST_CONNECTIONS ? fitting : LEAST_CONNECTIONS;
    size_t files = srv_machine_files(options->max_connections + OTHER_FILES);
    size_t room = files > OTHER_FILES + LEAST_CONNECTIONS ? files - OTHER_FILES : LEAST_CONNECTIONS;
    if (options->max_connections > room)
        options->max_connections = room;
}

static struct api_limits limits_of(const struct srv_options *options) {
    struct api_limits limits = api_limits_default();
    limits.body_bytes = options->max_body_bytes;
    limits.multiply_adds = options->max_multiply_adds;
    limits.memory_bytes = options->max_request_memory_bytes;
    if (limits.memory_bytes == 0 || limits.memory_bytes > options->max_memory_bytes)
        limits.memory_bytes = options->max_memory_bytes; /* more will never be granted: 413, not 503 */
    return limits;
}

/* --- version ----------------------------------------------------------------------------------------------------- */

static char *version_json(const struct srv_options *o) {
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    fprintf(out,
            "{\"name\": \"dikkat\", \"version\": \"%s\", \"commit\": \"%s\", \"kernel\": \"%s\", \"kernel_choice\": "
            "\"%s\", "
            "\"libmicrohttpd\": \"%s\", \"workers\": %llu, \"io_threads\": %llu, \"limits\": {",
            srv_version(), srv_commit(), srv_kernel_name(), srv_kernel_how(), MHD_get_version(),
            (unsigned long long)o->workers, (unsigned long long)o->io_threads);
    const struct {
        const char *name;
        uint64_t value;
    } limits[] = {{"queue_depth", o->queue_depth},
                  {"max_body_bytes", o->max_body_bytes},
                  {"max_request_memory_bytes", o->max_request_memory_bytes},
                  {"max_memory_bytes", o->max_memory_bytes},
                  {"max_connections", o->max_connections},
                  {"max_connections_per_address", o->max_connections_per_address},
                  {"header_timeout_ms", o->header_timeout_ms},
                  {"body_timeout_ms", o->body_timeout_ms},
                  {"queue_timeout_ms", o->queue_timeout_ms},
                  {"compute_timeout_ms", o->compute_timeout_ms},
                  {"response_timeout_ms", o->response_timeout_ms},
                  {"idle_timeout_ms", o->idle_timeout_ms}};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        fprintf(out, "\"%s\": %llu, ", limits[i].name, (unsigned long long)limits[i].value);
    fprintf(out, "\"max_multiply_adds\": %.0f, \"rate_limit\": %g}}", o->max_multiply_adds, o->rate_limit);
    return fclose(out) == 0 ? text : NULL;
}

/* --- files ------------------------------------------------------------------------------------------------------- */

static char *read_file(const char *path, char message[SRV_MESSAGE_MAX]) {
    enum { MOST = 1 << 20 };
    FILE *file = fopen(path, "re");
    char *text = file ? calloc(1, MOST) : NULL;
    size_t size = text ? fread(text, 1, MOST - 1, file) : 0;
    if (file)
        fclose(file);
    if (size)
        return text;
    free(text);
    snprintf(message, SRV_MESSAGE_MAX, "cannot read %.200s", path);
    return NULL;
}

static bool open_tls(struct srv_server *server, char message[SRV_MESSAGE_MAX]) {
    const struct srv_options *options = &server->options;
    if (!*options->tls_cert && !*options->tls_key)
        return true;
    if (!*options->tls_cert || !*options->tls_key) {
        snprintf(message, SRV_MESSAGE_MAX, "--tls-cert and --tls-key belong together");
        return false;
    }
    if (MHD_is_feature_supported(MHD_FEATURE_TLS) != MHD_YES) {
        snprintf(message, SRV_MESSAGE_MAX, "this libmicrohttpd was built without TLS");
        return false;
    }
    server->tls_cert = read_file(options->tls_cert, message);
    server->tls_key = server->tls_cert ? read_file(options->tls_key, message) : NULL;
    return server->tls_key != NULL;
}

/* --- all of them ------------------------------------------------------------------------------------------------- */

static void note_end(void *ctx, enum srv_phase phase) {
    struct srv_server *server = ctx;
    srv_metrics_rejected(server->metrics, phase == SRV_HEAD   ? SRV_REJECT_HEADER_TIMEOUT
                                          : phase == SRV_BODY ? SRV_REJECT_BODY_TIMEOUT
                                                              : SRV_REJECT_RESPONSE_TIMEOUT);
}

static bool open_metrics(struct srv_server *server) {
    const char *names[ROUTE_NAMES];
    size_t n = 0;
    for (const struct srv_route *row; n < ROUTE_NAMES && (row = srv_route_at(server->routes, n)); n++)
        names[n] = row->path;
    server->metrics = srv_metrics_new(names, n);
    return server->metrics != NULL;
}

static bool open_doors(struct srv_server *server, char message[SRV_MESSAGE_MAX]) {
    const struct srv_options *options = &server->options;
    if (*options->keys_file && !(server->keys = srv_keys_open(options->keys_file, message)))
        return false;
    if (*options->cors_origins && !(server->cors = srv_cors_open(options->cors_origins, message)))
        return false;
    if (options->rate_limit > 0 &&
        !(server->ratelimit = srv_ratelimit_new(options->rate_limit, options->rate_burst, RATE_CLIENTS)))
        return false;
    return open_tls(server, message);
}

bool srv_parts_open(struct srv_server *server, char message[SRV_MESSAGE_MAX]) {
    struct srv_options *options = &server->options;
    snprintf(message, SRV_MESSAGE_MAX, "out of memory or threads");
    resolve(options);
    tune_allocator(options->workers + options->io_threads);
    server->old_layout = strncmp(MHD_get_version(), "0.9.", 4) == 0;
    server->budget.limit = options->max_memory_bytes;
    if (!open_doors(server, message))
        return false;
    server->version_json = version_json(options);
    server->env = (struct api_env){.limits = limits_of(options), .version_json = server->version_json};
    const struct srv_connection_limits limits = {options->header_timeout_ms, server->tls_cert != NULL, &server->budget};
    size_t files = options->max_connections + OTHER_FILES;
    return server->version_json && (server->routes = srv_routes_new()) && open_metrics(server) &&
           (server->connections = srv_connections_new(files, &limits, note_end, server)) &&
           (server->clients = srv_clients_new(options->max_connections, options->max_connections_per_address)) &&
           (options->log_format == SRV_LOG_OFF || (server->log = srv_log_open(STDOUT_FILENO, options->log_format))) &&
           (server->work = srv_work_new(options->workers, options->queue_depth));
}

void srv_parts_close(struct srv_server *server) {
    srv_work_free(server->work);
    srv_log_close(server->log);
    srv_clients_free(server->clients);
    srv_connections_free(server->connections);
    srv_metrics_free(server->metrics);
    srv_routes_free(server->routes);
    srv_ratelimit_free(server->ratelimit);
    srv_cors_free(server->cors);
    srv_keys_free(server->keys);
    free(server->version_json);
    free(server->tls_cert);
    free(server->tls_key);
}
