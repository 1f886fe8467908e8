/* test_log - lines are whole, escaped and complete; a log that cannot be written is dropped and counted while the
 * service goes on. Each case writes to a pipe or file of its own. */
#include "server/log_line.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <jansson.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 4, LINES = 2000 };

static const struct srv_log_request sample = {.id = "abc-1",
                                              .trace_id = "0123456789abcdef0123456789abcdef",
                                              .method = "POST",
                                              .route = "/mha",
                                              .client = "192.0.2.1",
                                              .key = "course",
                                              .shape = "b1 h3 q6 k6 d4",
                                              .code = "unknown_field",
                                              .status = 422,
                                              .bytes_in = 14000,
                                              .bytes_out = 20000,
                                              .total_ns = 1234567,
                                              .queue_ns = 50000,
                                              .compute_ns = 1002003};

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* All that stands in the file, malloc'd. */
static char *content(int fd) {
    off_t size = lseek(fd, 0, SEEK_END);
    char *text = calloc(1, (size_t)size + 1);
    cr_assert_eq(pread(fd, text, (size_t)size, 0), size);
    return text;
}

static int scratch(void) {
    char path[] = "/tmp/dikkat-log-XXXXXX";
    int fd = mkostemp(path, O_APPEND);
    cr_assert(fd >= 0);
    unlink(path);
    return fd;
}

static char *logged(enum srv_log_format format, const struct srv_log_request *request) {
    int fd = scratch();
    struct srv_log *log = srv_log_open(fd, format);
    srv_log_request(log, request);
    cr_assert_eq(srv_log_dropped(log), 0);
    srv_log_close(log);
    char *text = content(fd);
    close(fd);
    return text;
}

Test(log, a_request_in_json) {
    char *text = logged(SRV_LOG_JSON, &sample);
    json_error_t error = {0};
    json_t *line = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    cr_assert(line, "%s: %s", error.text, text);
    cr_assert_eq(text[strlen(text) - 1], '\n');
    const char *event, *id, *trace, *method, *route, *client, *key, *shape, *code, *when, *level;
    json_int_t status, in, out;
    double ms, queue, compute;
    cr_assert_eq(json_unpack_ex(
                     line, &error, JSON_STRICT, "{s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:I,s:I,s:I,s:F,s:F,s:F}",
                     "time", &when, "level", &level, "event", &event, "id", &id, "trace_id", &trace, "method", &method,
                     "route", &route, "client", &client, "key", &key, "shape", &shape, "code", &code, "status", &status,
                     "bytes_in", &in, "bytes_out", &out, "ms", &ms, "queue_ms", &queue, "compute_ms", &compute),
                 0, "%s", error.text);
    cr_assert_str_eq(event, "request");
    cr_assert_str_eq(id, sample.id);
    cr_assert_str_eq(trace, sample.trace_id);
    cr_assert_str_eq(route, "/mha");
    cr_assert_str_eq(shape, sample.shape);
    cr_assert_eq(status, 422);
    cr_assert_eq(in, 14000);
    cr_assert_eq(out, 20000);
    cr_assert_float_eq(ms, 1.234, 1e-12);
    cr_assert_float_eq(queue, 0.050, 1e-12);
    cr_assert_float_eq(compute, 1.002, 1e-12);
    json_decref(line);
    free(text);
}

Test(log, time_is_rfc3339_utc_and_now) {
    time_t before = time(NULL);
    char *text = logged(SRV_LOG_JSON, &sample);
    time_t after = time(NULL);
    struct tm tm = {0};
    int ms = -1, used = 0;
    cr_assert_eq(sscanf(text, "{\"time\":\"%4d-%2d-%2dT%2d:%2d:%2d.%3dZ\"%n", &tm.tm_year, &tm.tm_mon, &tm.tm_mday,
                        &tm.tm_hour, &tm.tm_min, &tm.tm_sec, &ms, &used),
                 7);
    cr_assert_eq(used, (int)strlen("{\"time\":\"2000-01-01T00:00:00.000Z\""));
    tm.tm_year -= 1900, tm.tm_mon -= 1;
    time_t written = timegm(&tm);
    cr_assert(before <= written && written <= after, "%s", text);
    free(text);
}

/* Every day of two centuries at changing hours, against the C library. */
Test(log, dates) {
    long days = 0;
    for (time_t at = 0; at < 7258118400; at += 86400 - 3601 + days % 7, days++) {
        char text[SRV_LOG_LINE_MAX], expected[64];
        struct tm tm;
        strftime(expected, sizeof expected, "{\"time\":\"%Y-%m-%dT%H:%M:%S.007Z\"", gmtime_r(&at, &tm));
        srv_log_line_request(text, SRV_LOG_JSON, (struct timespec){at, 7999999}, &sample);
        cr_assert(strncmp(text, expected, strlen(expected)) == 0, "%.40s for %s", text, expected);
    }
    cr_assert(days > 84000);
}

Test(log, text_for_people) {
    char *text = logged(SRV_LOG_TEXT, &sample);
    cr_assert(strstr(text, "Z 422 POST /mha 1.234 ms (queue 0.050, compute 1.002) in 14000 out 20000 unknown_field "
                           "shape b1 h3 q6 k6 d4 from 192.0.2.1 key course id abc-1\n"),
              "%s", text);
    free(text);
}

Test(log, off_writes_nothing) {
    char *text = logged(SRV_LOG_OFF, &sample);
    cr_assert_str_eq(text, "");
    free(text);
}

Test(log, hostile_texts_stay_one_valid_line) {
    char loud[4000];
    memset(loud, '\x01', sizeof loud - 1);
    loud[sizeof loud - 1] = 0;
    const char *texts[] = {
        "\"},{\"status\":200", "a\nb\r\tc\\", "\xff\xfe\xc0\x80\xed\xa0\x80", "\xe2\x82", loud, "ığş"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *t = texts[i];
        struct srv_log_request r = {t, t,   t,          t,          t,          t,          t,
                                    t, 200, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};
        char *text = logged(SRV_LOG_JSON, &r);
        json_error_t error = {0};
        /* Numbers beyond 2^63 are not for jansson's integers. */
        json_t *line = json_loads(text, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, &error);
        cr_assert(line, "text %zu: %s in %s", i, error.text, text);
        cr_assert_eq(strchr(text, '\n'), text + strlen(text) - 1, "text %zu", i);
        cr_assert(json_object_get(line, "key"), "the last member must fit: %s", text);
        json_decref(line);
        free(text);
    }
}

Test(log, events) {
    int fd = scratch();
    struct srv_log *log = srv_log_open(fd, SRV_LOG_JSON);
    char loud[2000];
    memset(loud, 'x', sizeof loud - 1);
    loud[sizeof loud - 1] = 0;
    struct srv_log_field fields[] = {{"kernel", "Has\"well", 0}, {"port", NULL, 8080}, {"share", NULL, 0.5},
                                     {"long", loud, 0},          {"again", loud, 0},   {"more", loud, 0},
                                     {"last", "kept", 0}};
    srv_log_event(log, "warning", "start", "serving \"here\"", fields, 7);
    srv_log_event(log, "info", "stop", loud, NULL, 0);
    srv_log_close(log);
    char *text = content(fd), *second = strchr(text, '\n') + 1;
    json_t *line = json_loads(text, JSON_DISABLE_EOF_CHECK, NULL), *other = json_loads(second, 0, NULL);
    cr_assert(line && other, "%s", text);
    cr_assert_str_eq(json_string_value(json_object_get(line, "message")), "serving \"here\"");
    cr_assert_str_eq(json_string_value(json_object_get(line, "level")), "warning");
    cr_assert_str_eq(json_string_value(json_object_get(line, "kernel")), "Has\"well");
    cr_assert_float_eq(json_number_value(json_object_get(line, "share")), 0.5, 0);
    cr_assert_eq(json_string_length(json_object_get(line, "long")), 400);
    cr_assert(!json_object_get(line, "more"), "a member that does not fit is left out");
    json_decref(line);
    json_decref(other);
    free(text);
    close(fd);
}

static void *many(void *log) {
    for (int i = 0; i < LINES; i++) {
        struct srv_log_request r = sample;
        r.bytes_in = (uint64_t)i;
        srv_log_request(log, &r);
    }
    return NULL;
}

/* Every line is either in the file, whole, or counted as dropped. */
Test(log, threads_lose_nothing_unseen) {
    int fd = scratch();
    struct srv_log *log = srv_log_open(fd, SRV_LOG_JSON);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, many, log);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    uint64_t dropped = srv_log_dropped(log);
    srv_log_close(log);
    char *text = content(fd);
    uint64_t lines = 0;
    for (char *at = text, *end; *at; at = end + 1, lines++) {
        end = strchr(at, '\n');
        cr_assert(end, "the last line is cut");
        cr_assert(strncmp(at, "{\"time\":\"", 9) == 0);
        cr_assert_eq(end[-1], '}');
    }
    cr_assert_eq(lines + dropped, THREADS * LINES, "%lu lines, %lu dropped", lines, dropped);
    cr_assert(lines > 0);
    free(text);
    close(fd);
}

/* Writes until lines get lost; the time a call takes stays small all the while. */
static void logs_on(int fd) {
    struct srv_log *log = srv_log_open(fd, SRV_LOG_JSON);
    double begin = now_s();
    while (srv_log_dropped(log) < 100) {
        srv_log_request(log, &sample);
        cr_assert(now_s() - begin < 10, "no line was ever counted as dropped");
    }
    double worst = 0;
    for (int i = 0; i < 1000; i++) {
        double t = now_s();
        srv_log_request(log, &sample);
        double took = now_s() - t;
        worst = took > worst ? took : worst;
    }
    cr_assert(worst < 0.5, "a call took %g s", worst);
    double t = now_s();
    srv_log_close(log);
    cr_assert(now_s() - t < 3, "closing took %g s", now_s() - t);
}

Test(log, a_reader_that_stopped_reading) {
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    logs_on(ends[1]);
}

Test(log, a_reader_that_is_gone) { /* EPIPE; SIGPIPE must not reach anybody */
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    close(ends[0]);
    logs_on(ends[1]);
}

Test(log, a_descriptor_that_is_closed) {
    int fd = scratch();
    close(fd);
    logs_on(fd);
}

Test(log, a_full_disk) {
    int fd = open("/dev/full", O_WRONLY);
    cr_assert(fd >= 0);
    logs_on(fd);
}

/* The disk fills up in the middle of a line, then has room again: only whole lines follow the torn one. */
Test(log, goes_on_after_a_torn_line) {
    signal(SIGXFSZ, SIG_IGN);
    int fd = scratch();
    struct rlimit before;
    getrlimit(RLIMIT_FSIZE, &before);
    struct rlimit small = {.rlim_cur = 100, .rlim_max = before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    struct srv_log *log = srv_log_open(fd, SRV_LOG_JSON);
    srv_log_request(log, &sample);
    double begin = now_s();
    while (srv_log_dropped(log) == 0)
        cr_assert(now_s() - begin < 10);
    setrlimit(RLIMIT_FSIZE, &before);
    srv_log_request(log, &sample);
    srv_log_close(log);
    char *text = content(fd), *second = strchr(text, '\n');
    cr_assert_eq(second, text + 100, "the torn part is ended: %s", text);
    json_t *line = json_loads(second + 1, 0, NULL);
    cr_assert(line, "%s", text);
    json_decref(line);
    free(text);
    close(fd);
}

Test(log, null_is_accepted) {
    srv_log_request(NULL, &sample);
    srv_log_event(NULL, "info", "x", "y", NULL, 0);
    cr_assert_eq(srv_log_dropped(NULL), 0);
    srv_log_close(NULL);
}
