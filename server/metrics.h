/* metrics.h - counters and histograms for Prometheus (text format 0.0.4).
 *
 * Recording takes no lock: each thread adds to a shard of its own (relaxed atomics); rendering sums the shards.
 * The set of series is fixed when it is made, so no client can grow it.
 */
#ifndef SRV_METRICS_H
#define SRV_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SRV_METRICS_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

struct srv_metrics;

/* Why a request or connection was turned away by the server (not by the api for what it says). */
enum srv_reject {
    SRV_REJECT_QUEUE_FULL,
    SRV_REJECT_MEMORY,                  /* budget of bytes in flight */
    SRV_REJECT_CONNECTIONS,             /* too many connections */
    SRV_REJECT_CONNECTIONS_PER_ADDRESS, /* ... of one address */
    SRV_REJECT_RATE,
    SRV_REJECT_UNAUTHORIZED,
    SRV_REJECT_FRAMING,   /* bad Host, Content-Length, Transfer-Encoding ... */
    SRV_REJECT_TOO_LARGE, /* body, headers or target */
    SRV_REJECT_COST,      /* estimated multiply-adds or memory of the request itself */
    SRV_REJECT_HEADER_TIMEOUT,
    SRV_REJECT_BODY_TIMEOUT,
    SRV_REJECT_QUEUE_TIMEOUT,
    SRV_REJECT_COMPUTE_TIMEOUT,
    SRV_REJECT_RESPONSE_TIMEOUT,
    SRV_REJECT_CLIENT_GONE,
    SRV_REJECT_DRAINING,
    SRV_REJECT_COUNT
};

/* struct srv_metrics_request - one finished request. `queued` says whether queue_ns counts for the queue histogram. */
struct srv_metrics_request {
    const char *route;
    int status;
    bool queued;
    uint64_t total_ns, queue_ns, compute_ns;
    uint64_t bytes_in, bytes_out, numbers_in, numbers_out;
    double multiply_adds;
};

/* struct srv_metrics_now - values that are looked at only when somebody asks. */
struct srv_metrics_now {
    const char *version, *commit, *kernel;
    bool ready;
    uint64_t in_flight, queue_depth, queue_capacity, workers, workers_busy;
    uint64_t connections, connections_max;
    uint64_t memory_reserved_bytes, memory_budget_bytes;
    uint64_t log_lines_dropped;
};

/* srv_metrics_new - `routes` are the values the route label may take (static strings, `count` of them); anything else
 * counts as "unknown". Returns NULL out of memory. All functions accept NULL and do nothing. */
struct srv_metrics *srv_metrics_new(const char *const *routes, size_t count);
void srv_metrics_free(struct srv_metrics *metrics);

/* srv_metrics_request, srv_metrics_rejected - record. Threads: any. */
void srv_metrics_request(struct srv_metrics *metrics, const struct srv_metrics_request *request);
void srv_metrics_rejected(struct srv_metrics *metrics, enum srv_reject reason);

/* srv_metrics_render - the text for GET /metrics, malloc'd (the caller frees it); NULL out of memory. */
char *srv_metrics_render(struct srv_metrics *metrics, const struct srv_metrics_now *now, size_t *size);

#endif
