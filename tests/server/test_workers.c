/* test_workers - the running program's workers: small work among large, and work whose client has left. Each test
 * prints what it measured; bounds are wide, for a busy machine. */
#include "tests/server/client.h"
#include "tests/server/latency.h"
#include "tests/server/serving.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

TestSuite(workers, .timeout = 300);

static struct latencies seen;

/* --- small among large ------------------------------------------------------------------------------------------- */

enum { LARGE_CLIENTS = 4, AMONG_MS = 3000 };

struct flood {
    uint16_t port;
    char *body;
    size_t size;
    atomic_bool over;
    atomic_int served, failed;
    _Atomic int64_t total_ms;
};

static void *ask_large(void *arg) {
    struct flood *flood = arg;
    while (!atomic_load(&flood->over)) {
        struct answer answer;
        int64_t began = now_ms();
        atomic_fetch_add(&flood->failed,
                         post(flood->port, "/attention", NULL, flood->body, flood->size, &answer) != 200);
        atomic_fetch_add(&flood->total_ms, now_ms() - began);
        atomic_fetch_add(&flood->served, 1);
        answer_free(&answer);
    }
    return NULL;
}

/* A small request whose answer is too long to be packed by the thread that serves its connection does not queue behind
 * large ones, and these go on. */
Test(workers, a_small_packed_answer_among_large_ones) {
    static const char small[] = "{\"random\":{\"seed\":0,\"draws\":[{\"into\":[\"x\"],\"shape\":[60,60]}]},"
                                "\"checks\":false,\"return\":[\"output\"]}";
    struct program p;
    struct flood flood = {0};
    pthread_t threads[LARGE_CLIENTS];
    start(&p, OPTIONS("--log-format", "off"));
    flood.port = p.port;
    flood.body = attention_body(2000, 64, &flood.size);
    for (int i = 0; i < LARGE_CLIENTS; i++)
        pthread_create(&threads[i], NULL, ask_large, &flood);
    sleep_ms(300);
    seen.n = seen.failed = 0;
    for (int64_t until = now_ms() + AMONG_MS; now_ms() < until; sleep_ms(5)) {
        struct answer answer;
        double began = clock_ms();
        seen.failed += post(p.port, "/attention", "Accept-Encoding: gzip\r\n", small, sizeof small - 1, &answer) != 200;
        const char *coding = answer_header(&answer, "Content-Encoding");
        seen.failed += !coding || answer.body_size <= 32768;
        seen.ms[seen.n++] = clock_ms() - began;
        answer_free(&answer);
    }
    atomic_store(&flood.over, true);
    for (int i = 0; i < LARGE_CLIENTS; i++)
        pthread_join(threads[i], NULL);
    double large = (double)atomic_load(&flood.total_ms) / atomic_load(&flood.served);
    fprintf(
        stderr,
        "workers: %d clients ask for large answers, %d served, mean %.1f ms; among them %zu small packed answers, p50 "
        "%.2f ms, p99 %.2f ms\n",
        LARGE_CLIENTS, atomic_load(&flood.served), large, seen.n, percentile(&seen, 0.5), percentile(&seen, 0.99));
    cr_expect_eq(seen.failed, 0);
    cr_expect_eq(atomic_load(&flood.failed), 0);
    cr_expect_gt(atomic_load(&flood.served), 2 * LARGE_CLIENTS);
    cr_expect(!is_measured() || percentile(&seen, 0.5) < large / 6, "no sooner than large ones");
    free(flood.body);
    end(&p);
}

/* --- clients that leave ------------------------------------------------------------------------------------------ */

static double workers_busy(struct client *client) {
    struct answer answer;
    client_say(client, "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
    cr_assert_eq(client_receive(client, &answer, 10000, false), 200);
    const char *line = strstr(answer.body, "\ndikkat_workers_busy ");
    double value = line ? atof(line + 21) : -1;
    answer_free(&answer);
    return value;
}

static bool becomes_busy(struct client *metrics, bool busy) {
    for (int64_t until = now_ms() + 10000; now_ms() < until;)
        if ((workers_busy(metrics) > 0) == busy)
            return true;
    return false;
}

enum { LEAVERS = 15 };

/* struct work - a request that keeps a worker busy with one thing between the i-th client's leaving and long after. */
struct work {
    const char *what, *path, *headers, *body;
    size_t size;
    int after_ms, step_ms;
};

/* Each asks for long work and goes. The time is measured from its going to a metric that shows idle workers. */
static void leave(const struct work *work) {
    struct program p;
    struct client metrics;
    char head[256];
    start(&p, OPTIONS("--log-format", "off"));
    cr_assert(client_open(&metrics, p.port));
    snprintf(head, sizeof head, "POST %s HTTP/1.1\r\nHost: a\r\n%sContent-Length: %zu\r\n\r\n", work->path,
             work->headers, work->size);
    seen.n = 0;
    for (int i = 0; i < LEAVERS; i++) {
        struct client client;
        cr_assert(client_open(&client, p.port));
        client_say(&client, head);
        client_send(&client, work->body, work->size);
        cr_assert(becomes_busy(&metrics, true));
        sleep_ms(work->after_ms + i * work->step_ms);
        cr_assert_gt(workers_busy(&metrics), 0);
        double began = clock_ms();
        client_close(&client);
        cr_assert(becomes_busy(&metrics, false));
        seen.ms[seen.n++] = clock_ms() - began;
    }
    fprintf(stderr, "workers: %d clients left while %s: the workers were idle after %.1f ms (median), %.1f ms (most)\n",
            LEAVERS, work->what, percentile(&seen, 0.5), percentile(&seen, 1));
    cr_expect_lt(percentile(&seen, 0.5), is_measured() ? 100 : 1000);
    client_close(&metrics);
    end(&p);
}

static void leave_computing(void) {
    size_t size;
    char *body = attention_body(12000, 64, &size);
    leave(&(struct work){"computing", "/attention", "", body, size, 60, 1}); /* reading is over */
    free(body);
}

/* A list is no matrix, so that the whole is refused in the end: what is measured is the reading. */
static void leave_reading(void) {
    enum { NUMBERS = 10 << 20 };
    char *body = malloc(4 * NUMBERS + 64), *out = stpcpy(body, "{\"keys\":[1");
    for (int i = 0; i < NUMBERS; i++)
        out = stpcpy(out, ",0.5");
    out = stpcpy(out, "]}");
    leave(&(struct work){"their request was read", "/lookup", "", body, (size_t)(out - body), 0, 2});
    free(body);
}

/* A hundred megabytes: a third of a second to write, then seconds to pack. */
static void leave_writing(void) {
    static const char body[] = "{\"random\":{\"seed\":0,\"draws\":[{\"into\":[\"x\"],\"shape\":[2200,8]}]},"
                               "\"checks\":false,\"return\":[\"weights\"]}";
    leave(&(struct work){"their answer was written or packed", "/attention", "Accept-Encoding: gzip\r\n", body,
                         sizeof body - 1, 40, 60});
}

/* One after the other: they would hold each other up. */
Test(workers, idle_soon_for_clients_that_left) {
    leave_reading();
    leave_computing();
    leave_writing();
}
