/* metrics.c - shards of counters, and their sum as text. */
#include "server/metrics.h"

#include <dirent.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { SHARDS = 16, ROUTES = 40, STATUSES = 24, BUCKETS = 17 };

/* Upper bounds in seconds; the last bucket, +Inf, follows. */
static const double bounds[BUCKETS - 1] = {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
                                           0.05,   0.1,     0.25,   0.5,   1,      2.5,   10,   30};

/* Statuses the service answers with; index 0 stands for any other. */
static const short statuses[STATUSES] = {0,   200, 204, 304, 400, 401, 403, 404, 405, 406, 408, 411,
                                         413, 414, 415, 417, 422, 429, 431, 499, 500, 501, 503, 505};

static const char *const reasons[SRV_REJECT_COUNT] = {
    [SRV_REJECT_QUEUE_FULL] = "queue_full",
    [SRV_REJECT_MEMORY] = "memory_budget",
    [SRV_REJECT_CONNECTIONS] = "connections",
    [SRV_REJECT_CONNECTIONS_PER_ADDRESS] = "connections_per_address",
    [SRV_REJECT_RATE] = "rate_limit",
    [SRV_REJECT_UNAUTHORIZED] = "unauthorized",
    [SRV_REJECT_FRAMING] = "framing",
    [SRV_REJECT_TOO_LARGE] = "too_large",
    [SRV_REJECT_COST] = "cost",
    [SRV_REJECT_HEADER_TIMEOUT] = "header_timeout",
    [SRV_REJECT_BODY_TIMEOUT] = "body_timeout",
    [SRV_REJECT_QUEUE_TIMEOUT] = "queue_timeout",
    [SRV_REJECT_COMPUTE_TIMEOUT] = "compute_timeout",
    [SRV_REJECT_RESPONSE_TIMEOUT] = "response_timeout",
    [SRV_REJECT_CLIENT_GONE] = "client_gone",
    [SRV_REJECT_DRAINING] = "draining",
};

typedef _Atomic uint64_t counter;

/* struct histogram - counts per bucket, not cumulated; the sum in nanoseconds. */
struct histogram {
    counter bucket[BUCKETS], sum_ns;
};

struct shard {
    _Alignas(64) counter requests[ROUTES][STATUSES];
    struct histogram duration[ROUTES], queue, compute;
    counter bytes_in, bytes_out, numbers_in, numbers_out, multiply_adds;
    counter rejected[SRV_REJECT_COUNT];
};

struct srv_metrics {
    struct shard shards[SHARDS];
    const char *routes[ROUTES]; /* the last is "unknown" */
    size_t route_count;
    double started;
};

/* --- recording --------------------------------------------------------------------------------------------------- */

static void add(counter *c, uint64_t n) {
    atomic_fetch_add_explicit(c, n, memory_order_relaxed);
}

static struct shard *my_shard(struct srv_metrics *metrics) {
    static atomic_uint next;
    static _Thread_local unsigned mine;
    if (!mine) {
        mine = 1 + atomic_fetch_add_explicit(&next, 1, memory_order_relaxed) % SHARDS;
    }
    return &metrics->shards[mine - 1];
}

static void observe(struct histogram *histogram, uint64_t ns) {
    double seconds = (double)ns * 1e-9;
    size_t i = 0;
    while (i < BUCKETS - 1 && seconds > bounds[i]) {
        i++;
    }
    add(&histogram->bucket[i], 1);
    add(&histogram->sum_ns, ns);
}

static size_t route_index(const struct srv_metrics *metrics, const char *route) {
    size_t last = metrics->route_count - 1, i = 0;
    while (i < last && route != metrics->routes[i]) {
        i++; /* nearly always the very string */
    }
    if (i == last && route) {
        for (i = 0; i < last && strcmp(route, metrics->routes[i]) != 0; i++) {
        }
    }
    return i;
}

static size_t status_index(int status) {
    size_t i = STATUSES - 1;
    while (i > 0 && statuses[i] != status) {
        i--;
    }
    return i;
}

struct srv_metrics *srv_metrics_new(const char *const *routes, size_t count) {
    size_t size = (sizeof(struct srv_metrics) + 63) / 64 * 64;
    struct srv_metrics *metrics = aligned_alloc(64, size);
    if (!metrics) {
        return NULL;
    }
    memset(metrics, 0, size);
    for (size_t i = 0; i < count && i < ROUTES - 1; i++) {
        metrics->routes[metrics->route_count++] = routes[i];
    }
    metrics->routes[metrics->route_count++] = "unknown";
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    metrics->started = (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
    return metrics;
}

void srv_metrics_free(struct srv_metrics *metrics) {
    free(metrics);
}

void srv_metrics_request(struct srv_metrics *metrics, const struct srv_metrics_request *request) {
    if (!metrics) {
        return;
    }
    struct shard *shard = my_shard(metrics);
    size_t route = route_index(metrics, request->route);
    add(&shard->requests[route][status_index(request->status)], 1);
    observe(&shard->duration[route], request->total_ns);
    if (request->queued) {
        observe(&shard->queue, request->queue_ns);
    }
    if (request->compute_ns) {
        observe(&shard->compute, request->compute_ns);
    }
    add(&shard->bytes_in, request->bytes_in);
    add(&shard->bytes_out, request->bytes_out);
    add(&shard->numbers_in, request->numbers_in);
    add(&shard->numbers_out, request->numbers_out);
    add(&shard->multiply_adds, request->multiply_adds > 0 ? (uint64_t)fmin(request->multiply_adds, 1e18) : 0);
}

void srv_metrics_rejected(struct srv_metrics *metrics, enum srv_reject reason) {
    if (metrics && (unsigned)reason < SRV_REJECT_COUNT) {
        add(&my_shard(metrics)->rejected[reason], 1);
    }
}

/* --- rendering --------------------------------------------------------------------------------------------------- */

/* Sum over the shards of the counter at `offset` of each. */
static uint64_t total(struct srv_metrics *metrics, size_t offset) {
    uint64_t sum = 0;
    for (size_t i = 0; i < SHARDS; i++) {
        counter *c = (counter *)(void *)((char *)&metrics->shards[i] + offset);
        sum += atomic_load_explicit(c, memory_order_relaxed);
    }
    return sum;
}

#define AT(member) offsetof(struct shard, member)

static void describe(FILE *out, const char *name, const char *type, const char *help) {
    fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void one_counter(FILE *out, const char *name, const char *help, uint64_t value) {
    describe(out, name, "counter", help);
    fprintf(out, "%s %llu\n", name, (unsigned long long)value);
}

static void one_gauge(FILE *out, const char *name, const char *help, uint64_t value) {
    describe(out, name, "gauge", help);
    fprintf(out, "%s %llu\n", name, (unsigned long long)value);
}

/* A label's value: backslash, quote and line feed escaped. */
static void label(FILE *out, const char *name, const char *value, const char *after) {
    fprintf(out, "%s=\"", name);
    for (const char *at = value ? value : ""; *at; at++) {
        fputs(*at == '"' ? "\\\"" : *at == '\\' ? "\\\\" : *at == '\n' ? "\\n" : (char[]){*at, 0}, out);
    }
    fprintf(out, "\"%s", after);
}

/* One histogram. The count is the sum of its own buckets, so +Inf and _count agree even while others record. */
static void histogram(struct srv_metrics *metrics, FILE *out, const char *name, const char *route, size_t offset) {
    unsigned long long below = 0;
    for (size_t i = 0; i < BUCKETS; i++) {
        below += total(metrics, offset + offsetof(struct histogram, bucket) + i * sizeof(counter));
        fprintf(out, "%s_bucket{", name);
        if (route) {
            label(out, "route", route, ",");
        }
        if (i < BUCKETS - 1) {
            fprintf(out, "le=\"%g\"} %llu\n", bounds[i], below);
        } else {
            fprintf(out, "le=\"+Inf\"} %llu\n", below);
        }
    }
    double sum = (double)total(metrics, offset + offsetof(struct histogram, sum_ns)) * 1e-9;
    const char *ends[] = {"_sum", "_count"};
    for (size_t i = 0; i < 2; i++) {
        fprintf(out, "%s%s", name, ends[i]);
        if (route) {
            fputc('{', out);
            label(out, "route", route, "}");
        }
        if (i == 0) {
            fprintf(out, " %.9f\n", sum);
        } else {
            fprintf(out, " %llu\n", below);
        }
    }
}

static bool route_was_used(struct srv_metrics *metrics, size_t route) {
    for (size_t i = 0; i < STATUSES; i++) {
        if (total(metrics, AT(requests) + (route * STATUSES + i) * sizeof(counter))) {
            return true;
        }
    }
    return false;
}

static void render_requests(struct srv_metrics *metrics, FILE *out) {
    describe(out, "dikkat_requests_total", "counter", "Requests answered, by route and status.");
    for (size_t r = 0; r < metrics->route_count; r++) {
        for (size_t i = 0; i < STATUSES; i++) {
            uint64_t n = total(metrics, AT(requests) + (r * STATUSES + i) * sizeof(counter));
            if (n) {
                fputs("dikkat_requests_total{", out);
                label(out, "route", metrics->routes[r], ",");
                if (i) {
                    fprintf(out, "status=\"%d\"} %llu\n", statuses[i], (unsigned long long)n);
                } else {
                    fprintf(out, "status=\"other\"} %llu\n", (unsigned long long)n);
                }
            }
        }
    }
    static const char duration[] = "dikkat_request_duration_seconds";
    describe(out, duration, "histogram", "From the first byte of a request to the last of its answer, by route.");
    for (size_t r = 0; r < metrics->route_count; r++) {
        if (route_was_used(metrics, r)) {
            histogram(metrics, out, duration, metrics->routes[r], AT(duration) + r * sizeof(struct histogram));
        }
    }
    describe(out, "dikkat_queue_duration_seconds", "histogram", "Time that requests waited for a worker.");
    histogram(metrics, out, "dikkat_queue_duration_seconds", NULL, AT(queue));
    describe(out, "dikkat_compute_duration_seconds", "histogram", "Time from reading a request's JSON to its answer.");
    histogram(metrics, out, "dikkat_compute_duration_seconds", NULL, AT(compute));
}

static void render_work(struct srv_metrics *metrics, FILE *out) {
    one_counter(out, "dikkat_request_bytes_total", "Bytes of request bodies received.", total(metrics, AT(bytes_in)));
    one_counter(out, "dikkat_response_bytes_total", "Bytes of response bodies sent.", total(metrics, AT(bytes_out)));
    one_counter(out, "dikkat_numbers_read_total", "Numbers read from requests.", total(metrics, AT(numbers_in)));
    one_counter(out, "dikkat_numbers_written_total", "Numbers written to answers.", total(metrics, AT(numbers_out)));
    one_counter(out, "dikkat_multiply_adds_total", "Multiply-adds computed, by estimate.",
                total(metrics, AT(multiply_adds)));
    describe(out, "dikkat_rejected_total", "counter", "Requests and connections turned away, by reason.");
    for (size_t i = 0; i < SRV_REJECT_COUNT; i++) {
        fprintf(out, "dikkat_rejected_total{reason=\"%s\"} %llu\n", reasons[i],
                (unsigned long long)total(metrics, AT(rejected) + i * sizeof(counter)));
    }
}

static void render_now(const struct srv_metrics_now *now, FILE *out) {
    one_gauge(out, "dikkat_ready", "1 while the service wants traffic.", now->ready);
    one_gauge(out, "dikkat_requests_in_flight", "Requests being received, computed or answered.", now->in_flight);
    one_gauge(out, "dikkat_queue_depth", "Requests waiting for a worker.", now->queue_depth);
    one_gauge(out, "dikkat_queue_capacity", "Requests that may wait for a worker.", now->queue_capacity);
    one_gauge(out, "dikkat_workers", "Threads that compute.", now->workers);
    one_gauge(out, "dikkat_workers_busy", "Threads computing now.", now->workers_busy);
    one_gauge(out, "dikkat_connections", "Connections open.", now->connections);
    one_gauge(out, "dikkat_connections_max", "Connections that may be open.", now->connections_max);
    one_gauge(out, "dikkat_memory_reserved_bytes", "Memory granted to requests in flight.", now->memory_reserved_bytes);
    one_gauge(out, "dikkat_memory_budget_bytes", "Memory that requests in flight may be granted.",
              now->memory_budget_bytes);
    one_counter(out, "dikkat_log_lines_dropped_total", "Log lines lost to a slow or broken reader.",
                now->log_lines_dropped);
    describe(out, "dikkat_build_info", "gauge", "Always 1; what is running, in its labels.");
    fputs("dikkat_build_info{", out);
    label(out, "version", now->version, ",");
    label(out, "commit", now->commit, ",");
    label(out, "kernel", now->kernel, "} 1\n");
}

static uint64_t resident_bytes(void) {
    char text[128], *at = text;
    FILE *statm = fopen("/proc/self/statm", "re");
    if (!statm) {
        return 0;
    }
    at = fgets(text, sizeof text, statm);
    fclose(statm);
    if (!at) {
        return 0;
    }
    strtoull(at, &at, 10); /* address space; resident follows, both in pages */
    return (uint64_t)strtoull(at, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t open_descriptors(void) {
    uint64_t n = 0;
    DIR *dir = opendir("/proc/self/fd");
    while (dir && readdir(dir)) {
        n++;
    }
    if (dir) {
        closedir(dir);
    }
    return n > 3 ? n - 3 : 0; /* ".", ".." and the directory itself */
}

static void render_process(const struct srv_metrics *metrics, FILE *out) {
    one_gauge(out, "dikkat_process_resident_memory_bytes", "Resident memory.", resident_bytes());
    one_gauge(out, "dikkat_process_open_fds", "Open file descriptors.", open_descriptors());
    struct rlimit files = {0};
    getrlimit(RLIMIT_NOFILE, &files);
    one_gauge(out, "dikkat_process_max_fds", "File descriptors that may be open.", (uint64_t)files.rlim_cur);
    struct rusage usage = {0};
    getrusage(RUSAGE_SELF, &usage);
    describe(out, "dikkat_process_cpu_seconds_total", "counter", "Processor time used, user and system.");
    fprintf(out, "dikkat_process_cpu_seconds_total %.6f\n",
            (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec));
    describe(out, "dikkat_process_start_time_seconds", "gauge", "When the service started, in seconds since 1970.");
    fprintf(out, "dikkat_process_start_time_seconds %.3f\n", metrics->started);
}

char *srv_metrics_render(struct srv_metrics *metrics, const struct srv_metrics_now *now, size_t *size) {
    char *text = NULL;
    FILE *out = metrics ? open_memstream(&text, size) : NULL;
    if (!out) {
        return NULL;
    }
    render_requests(metrics, out);
    render_work(metrics, out);
    render_now(now, out);
    render_process(metrics, out);
    bool failed = ferror(out);
    if (fclose(out) != 0 || failed) {
        free(text);
        return NULL;
    }
    return text;
}
