/* bench_server_parts - what the server adds to every request around the computation: a log line, metrics, a trace, the
 * check of the headers, a key, a rate. Single calls are too short to time, so each figure is of BATCH of them. */
#include "server/framing.h"
#include "server/log.h"
#include "server/metrics.h"
#include "server/ratelimit.h"
#include "server/trace_context.h"

#include "tests/bench/bench.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { BATCH = 200, REPEATS = 51, KEYS = 100 };

struct parts {
    struct srv_log *log;
    struct srv_metrics *metrics;
    struct srv_keys *keys;
    struct srv_ratelimit *limit;
};

static void log_lines(void *arg) {
    const struct parts *parts = arg;
    static const struct srv_log_request request = {.id = "0123456789abcdef0123456789abcdef",
                                                   .trace_id = "0123456789abcdef0123456789abcdef",
                                                   .method = "POST",
                                                   .route = "/mha",
                                                   .client = "192.0.2.1",
                                                   .shape = "b1 h3 q6 k6 d4",
                                                   .status = 200,
                                                   .bytes_in = 14000,
                                                   .bytes_out = 20000,
                                                   .total_ns = 123456,
                                                   .compute_ns = 100000};
    for (int i = 0; i < BATCH; i++)
        srv_log_request(parts->log, &request);
}

static void metrics(void *arg) {
    const struct parts *parts = arg;
    static const struct srv_metrics_request request = {
        .route = "/mha", .status = 200, .queued = true, .total_ns = 123456, .compute_ns = 100000, .bytes_in = 14000};
    for (int i = 0; i < BATCH; i++)
        srv_metrics_request(parts->metrics, &request);
}

static void traces(void *arg) {
    (void)arg;
    for (int i = 0; i < BATCH; i++) {
        struct srv_trace trace = {.trace_id = ""};
        char id[SRV_REQUEST_ID_SIZE];
        srv_trace_begin(NULL, &trace);
        srv_request_id(NULL, id);
    }
}

static void headers(void *arg) {
    (void)arg;
    static const struct srv_field fields[] = {{"Host", "127.0.0.1:8080", 4, 14},
                                              {"User-Agent", "curl/7.88.1", 10, 11},
                                              {"Accept", "*/*", 6, 3},
                                              {"Content-Length", "14215", 14, 5},
                                              {"Content-Type", "application/x-www-form-urlencoded", 12, 33}};
    for (int i = 0; i < BATCH; i++) {
        struct srv_framing framing;
        if (srv_framing_check("HTTP/1.1", fields, 5, &framing) != SRV_FRAMING_OK)
            abort();
    }
}

static void key_and_rate(void *arg) {
    const struct parts *parts = arg;
    for (uint64_t i = 0; i < BATCH; i++) {
        struct srv_key key;
        if (!srv_keys_match(parts->keys, "Bearer key-number-0099-0123456789", &key) ||
            srv_ratelimit_take(parts->limit, key.identity, i) != 0)
            abort();
    }
}

static struct srv_keys *hundred_keys(void) {
    char path[] = "/tmp/dikkat-bench-XXXXXX", message[SRV_MESSAGE_MAX];
    FILE *file = fdopen(mkstemp(path), "w");
    for (int i = 0; i < KEYS; i++)
        fprintf(file, "key-number-%04d-0123456789\n", i);
    fclose(file);
    struct srv_keys *keys = srv_keys_open(path, message);
    unlink(path);
    return keys;
}

static double each_ns(void (*run)(void *), struct parts *parts) {
    return bench_median(run, parts, REPEATS) / BATCH * 1e9;
}

/* Leaves the writer time to empty the ring between two batches, so that lines are kept, not dropped. */
static double log_line_ns(struct parts *parts) {
    double fastest = 1;
    for (int i = 0; i < REPEATS; i++) {
        double begin = bench_now();
        log_lines(parts);
        double took = bench_now() - begin;
        fastest = took < fastest ? took : fastest;
        usleep(8000);
    }
    return fastest / BATCH * 1e9;
}

int main(void) {
    static const char *const routes[] = {"/embed", "/attention", "/mha"};
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    struct parts parts = {srv_log_open(null, SRV_LOG_JSON), srv_metrics_new(routes, 3), hundred_keys(),
                          srv_ratelimit_new(1e9, 1e9, 1024)};
    if (!parts.log || !parts.metrics || !parts.keys || !parts.limit)
        return 1;
    bench_goal("a log line", log_line_ns(&parts), "ns", 1000, false);
    bench_figure("log lines dropped meanwhile", (double)srv_log_dropped(parts.log), "lines");
    bench_goal("metrics of a request", each_ns(metrics, &parts), "ns", 500, false);
    bench_goal("a new trace and a request id", each_ns(traces, &parts), "ns", 500, false);
    bench_goal("checking the headers", each_ns(headers, &parts), "ns", 1000, false);
    bench_figure("one of 100 keys, and its rate", each_ns(key_and_rate, &parts), "ns");
    srv_log_close(parts.log);
    srv_metrics_free(parts.metrics);
    srv_keys_free(parts.keys);
    srv_ratelimit_free(parts.limit);
    close(null);
    return bench_exit();
}
