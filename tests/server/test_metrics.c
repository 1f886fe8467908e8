/* test_metrics - what was recorded comes out, in a form that Prometheus' own checker accepts, while threads record. */
#include "server/metrics.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 8, EACH = 200000 };

static const char *const routes[] = {"/mha", "/embed"};
static const struct srv_metrics_now now = {.version = "1.0",
                                           .commit = "a\"b\\c\nd",
                                           .kernel = "Haswell",
                                           .ready = true,
                                           .in_flight = 3,
                                           .queue_depth = 4,
                                           .queue_capacity = 64,
                                           .connections = 5,
                                           .memory_budget_bytes = 1u << 30,
                                           .log_lines_dropped = 6};

static char *rendered(struct srv_metrics *metrics) {
    size_t size = 0;
    char *text = srv_metrics_render(metrics, &now, &size);
    cr_assert(text);
    cr_assert_eq(strlen(text), size);
    cr_assert_eq(text[size - 1], '\n');
    return text;
}

/* The value of the line that begins with `series` and a space; -1 without one. */
static double value(const char *text, const char *series) {
    size_t n = strlen(series);
    for (const char *line = text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (strncmp(line, series, n) == 0 && line[n] == ' ')
            return strtod(line + n, NULL);
    return -1;
}

#define HAS(series, expected)                                                                                          \
    cr_assert_float_eq(value(text, series), expected, 1e-9, "%s is %.12g in\n%s", series, value(text, series), text)

static void record(struct srv_metrics *metrics) {
    struct srv_metrics_request r = {.route = "/mha",
                                    .status = 200,
                                    .queued = true,
                                    .total_ns = 3000000,
                                    .queue_ns = 100000,
                                    .compute_ns = 2000000,
                                    .bytes_in = 10,
                                    .bytes_out = 20,
                                    .numbers_in = 30,
                                    .numbers_out = 40,
                                    .multiply_adds = 50};
    srv_metrics_request(metrics, &r);
    r.total_ns = 31000000000; /* above the last bound */
    r.status = 422;
    r.queued = false;
    srv_metrics_request(metrics, &r);
    r.route = "/etc/passwd";
    r.status = 299;
    r.total_ns = 0;
    srv_metrics_request(metrics, &r);
    srv_metrics_rejected(metrics, SRV_REJECT_QUEUE_FULL);
    srv_metrics_rejected(metrics, SRV_REJECT_COUNT);
}

Test(metrics, what_was_recorded_comes_out) {
    struct srv_metrics *metrics = srv_metrics_new(routes, 2);
    record(metrics);
    char *text = rendered(metrics);
    HAS("dikkat_requests_total{route=\"/mha\",status=\"200\"}", 1);
    HAS("dikkat_requests_total{route=\"/mha\",status=\"422\"}", 1);
    HAS("dikkat_requests_total{route=\"unknown\",status=\"other\"}", 1);
    HAS("dikkat_request_duration_seconds_bucket{route=\"/mha\",le=\"0.0025\"}", 0);
    HAS("dikkat_request_duration_seconds_bucket{route=\"/mha\",le=\"0.005\"}", 1);
    HAS("dikkat_request_duration_seconds_bucket{route=\"/mha\",le=\"30\"}", 1);
    HAS("dikkat_request_duration_seconds_bucket{route=\"/mha\",le=\"+Inf\"}", 2);
    HAS("dikkat_request_duration_seconds_count{route=\"/mha\"}", 2);
    HAS("dikkat_request_duration_seconds_sum{route=\"/mha\"}", 31.003);
    HAS("dikkat_request_duration_seconds_bucket{route=\"unknown\",le=\"0.0001\"}", 1);
    HAS("dikkat_queue_duration_seconds_bucket{le=\"0.0001\"}", 1); /* bounds are inclusive */
    HAS("dikkat_queue_duration_seconds_count", 1);
    HAS("dikkat_compute_duration_seconds_count", 3);
    HAS("dikkat_request_bytes_total", 30);
    HAS("dikkat_response_bytes_total", 60);
    HAS("dikkat_numbers_read_total", 90);
    HAS("dikkat_numbers_written_total", 120);
    HAS("dikkat_multiply_adds_total", 150);
    HAS("dikkat_rejected_total{reason=\"queue_full\"}", 1);
    HAS("dikkat_rejected_total{reason=\"draining\"}", 0);
    HAS("dikkat_ready", 1);
    HAS("dikkat_requests_in_flight", 3);
    HAS("dikkat_queue_depth", 4);
    HAS("dikkat_connections", 5);
    HAS("dikkat_log_lines_dropped_total", 6);
    HAS("dikkat_build_info{version=\"1.0\",commit=\"a\\\"b\\\\c\\nd\",kernel=\"Haswell\"}", 1);
    cr_assert(!strstr(text, "passwd"), "a label must not come from the client");
    cr_assert(value(text, "dikkat_process_resident_memory_bytes") > 1e5);
    cr_assert(value(text, "dikkat_process_open_fds") >= 3);
    cr_assert(value(text, "dikkat_process_start_time_seconds") > 1e9);
    free(text);
    srv_metrics_free(metrics);
}

Test(metrics, promtool_accepts_the_text) {
    if (system("command -v promtool >/dev/null 2>&1") != 0) {
        fprintf(stderr, "SKIPPED: promtool (Debian's package prometheus) is not installed\n");
        cr_skip_test("promtool is not installed");
    }
    struct srv_metrics *metrics = srv_metrics_new(routes, 2);
    record(metrics);
    char *text = rendered(metrics);
    FILE *checker = popen("promtool check metrics 2>&1", "w");
    cr_assert(checker);
    fputs(text, checker);
    cr_assert_eq(pclose(checker), 0);
    free(text);
    srv_metrics_free(metrics);
}

static void *keep_recording(void *metrics) {
    for (int i = 0; i < EACH; i++) {
        struct srv_metrics_request r = {
            .route = routes[i % 2], .status = 200, .queued = true, .total_ns = (uint64_t)i * 5000};
        srv_metrics_request(metrics, &r);
    }
    return NULL;
}

static void buckets_agree(const char *text) {
    double below = 0;
    for (const char *line = text; (line = strstr(line, "dikkat_queue_duration_seconds_bucket{")); line++) {
        double n = strtod(strchr(line, ' '), NULL);
        cr_assert(n >= below, "buckets must be cumulative");
        below = n;
    }
    cr_assert_float_eq(below, value(text, "dikkat_queue_duration_seconds_count"), 0);
}

Test(metrics, threads_lose_no_count_and_inf_equals_count_meanwhile) {
    struct srv_metrics *metrics = srv_metrics_new(routes, 2);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, keep_recording, metrics);
    for (int i = 0; i < 50; i++) {
        char *text = rendered(metrics);
        buckets_agree(text);
        free(text);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    char *text = rendered(metrics);
    HAS("dikkat_queue_duration_seconds_count", THREADS * EACH);
    HAS("dikkat_requests_total{route=\"/embed\",status=\"200\"}", THREADS * EACH / 2);
    free(text);
    srv_metrics_free(metrics);
}

Test(metrics, null_is_accepted) {
    size_t size;
    record(NULL);
    cr_assert_null(srv_metrics_render(NULL, &now, &size));
    srv_metrics_free(NULL);
}
