/* test_harm - crowds, noise and nonsense against the running program. Each test prints what it measured.
 *
 * Bounds on time are wide, for a busy machine; the figures are not. HARM_BODIES and HARM_SEED set how many malformed
 * bodies are sent, and which.
 */
#include "tests/server/client.h"
#include "tests/server/crowd.h"
#include "tests/server/latency.h"
#include "tests/server/malformed.h"
#include "tests/server/serving.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

TestSuite(harm, .timeout = 300);

#define SMALL "{\"x\":[[1]]}"

/* --- latencies of normal requests -------------------------------------------------------------------------------- */

static struct latencies seen;

/* One normal request on a connection of its own. */
static void serve_one(uint16_t port) {
    struct answer answer;
    double began = clock_ms();
    seen.failed += post(port, "/attention", NULL, SMALL, sizeof SMALL - 1, &answer) != 200;
    if (seen.n < SAMPLES)
        seen.ms[seen.n++] = clock_ms() - began;
    answer_free(&answer);
}

/* --- slow clients ------------------------------------------------------------------------------------------------ */

enum { SLOW = 400, DEADLINE_MS = 2000, DRIP_MS = 100 };

static const char slow_head[] = "GET /health/live HTTP/1.1\r\nHost: a\r\nThing: ";
static const char slow_body[] = "POST /mha HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n{";

/* Half of them never end their headers, half their bodies; each sends one byte every DRIP_MS. Every one is told so by
 * 408 at its deadline, and in between others are served as if they were not there. */
Test(harm, slow_clients_by_the_hundred) {
    struct program p;
    struct crowd slow;
    int64_t first = INT64_MAX, last = 0;
    start(&p, OPTIONS("--header-timeout-ms", "2000", "--body-timeout-ms", "2000", "--log-format", "off"));
    cr_assert(crowd_open(&slow, p.port, SLOW));
    for (size_t i = 0; i < SLOW; i++)
        crowd_send(&slow, i, i % 2 ? slow_body : slow_head, (i % 2 ? sizeof slow_body : sizeof slow_head) - 1);
    for (int64_t until = now_ms() + DEADLINE_MS + 6000, drip = 0; crowd_receive(&slow, 0, false) && now_ms() < until;) {
        serve_one(p.port);
        if (now_ms() < drip + DRIP_MS)
            continue;
        drip = now_ms();
        for (size_t i = 0; i < SLOW; i++)
            if (!slow.members[i].ended)
                crowd_send(&slow, i, "x", 1);
    }
    for (size_t i = 0; i < SLOW; i++) {
        int64_t took = slow.members[i].ended - slow.members[i].began;
        first = took < first ? took : first;
        last = took > last ? took : last;
    }
    fprintf(
        stderr,
        "harm: %d slow clients, all ended by 408 after %lld to %lld ms (deadline %d); meanwhile %zu normal requests, "
        "%zu failed, p50 %.2f ms, p99 %.2f ms\n",
        SLOW, (long long)first, (long long)last, DEADLINE_MS, seen.n, seen.failed, percentile(&seen, 0.5),
        percentile(&seen, 0.99));
    cr_expect_eq(crowd_count(&slow, 408), SLOW, "%zu", crowd_count(&slow, 408));
    cr_expect(first >= DEADLINE_MS - 100 && last < DEADLINE_MS + 3000);
    cr_expect_eq(seen.failed, 0);
    cr_expect_gt(seen.n, 20);
    cr_expect_lt(percentile(&seen, 0.99), 1000);
    crowd_close(&slow);
    end(&p);
}

/* --- floods ------------------------------------------------------------------------------------------------------ */

enum { FLOOD = 1000, MOST = 64 };

/* All at once, far over the limit: the first are served, the others told so, whoever was in before keeps being served,
 * and afterwards it is as if nothing had been. */
Test(harm, a_flood_of_connections) {
    struct program p;
    struct crowd flood;
    struct client inside;
    struct answer answer;
    size_t lost = 0;
    start(&p, OPTIONS("--max-connections", "64", "--log-format", "off"));
    cr_assert(client_open(&inside, p.port));
    client_say(&inside, LIVE);
    cr_expect_eq(client_receive(&inside, &answer, 5000, false), 200);
    answer_free(&answer);
    int before = program_files(&p);
    for (int round = 0; round < 3; round++) {
        cr_assert(crowd_open(&flood, p.port, FLOOD));
        double began = clock_ms();
        client_say(&inside, LIVE);
        cr_expect_eq(client_receive(&inside, &answer, 5000, false), 200);
        answer_free(&answer);
        double inside_ms = clock_ms() - began;
        for (size_t i = 0; i < FLOOD; i++)
            crowd_send(&flood, i, LIVE, sizeof LIVE - 1);
        size_t waiting = crowd_receive(&flood, 10000, true);
        size_t served = crowd_count(&flood, 200), refused = crowd_count(&flood, 503);
        lost = FLOOD - served - refused;
        fprintf(stderr,
                "harm: %d connections at once, at most %d allowed: %zu served, %zu answered 503, %zu reset; the client "
                "inside waited %.2f ms\n",
                FLOOD, MOST, served, refused, lost, inside_ms);
        cr_expect_eq(waiting, 0, "%zu got neither an answer nor an end", waiting);
        cr_expect(served > 0 && served < MOST);
        cr_expect_geq(refused, 200);
        crowd_close(&flood);
        for (int64_t until = now_ms() + 5000; now_ms() < until && program_files(&p) > before;)
            sleep_ms(20);
        cr_expect_leq(program_files(&p), before);
    }
    seen.n = 0;
    for (int i = 0; i < 100; i++)
        serve_one(p.port);
    cr_expect_eq(seen.failed, 0);
    client_close(&inside);
    end(&p);
}

/* --- noise ------------------------------------------------------------------------------------------------------- */

static const char *const sound[] = {
    "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET /openapi.json?a=b%20c HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip;q=1, *;q=0\r\nIf-None-Match: \"x\"\r\n\r\n",
    "POST /attention HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\n" SMALL,
    "POST /attention HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nb\r\n" SMALL "\r\n0\r\n\r\n",
    "POST /mha HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n{}\n",
    "OPTIONS /mha HTTP/1.1\r\nHost: a\r\nOrigin: http://a\r\nAccess-Control-Request-Method: POST\r\n\r\n",
    "HEAD /metrics HTTP/1.0\r\n\r\n",
};

enum { NOISE_MAX = 70000, NOISE_CROWD = 200, NOISE_ROUNDS = 5 };

static size_t random_bytes(struct malformed *draw, char *out) {
    size_t size = malformed_draw(draw, 2000);
    for (size_t i = 0; i < size; i++)
        out[i] = (char)malformed_draw(draw, 256);
    return size;
}

/* A request of the list, cut short, or with bytes changed, doubled or taken away. */
static size_t hurt_request(struct malformed *draw, char *out) {
    const char *request = sound[malformed_draw(draw, sizeof sound / sizeof *sound)];
    size_t size = strlen(request);
    memcpy(out, request, size);
    if (malformed_draw(draw, 3) == 0)
        return malformed_draw(draw, (unsigned)size);
    for (unsigned i = 1 + malformed_draw(draw, 5); i > 0; i--) {
        size_t at = malformed_draw(draw, (unsigned)size - 1);
        switch (malformed_draw(draw, 3)) {
        case 0:
            out[at] = (char)malformed_draw(draw, 256);
            break;
        case 1:
            memmove(out + at, out + at + 1, size-- - at - 1);
            break;
        default:
            memmove(out + at + 1, out + at, size++ - at);
        }
    }
    return size;
}

static size_t oversized(struct malformed *draw, char *out) {
    static const char *const heads[] = {
        "GET /", "POST /mha HTTP/1.1\r\nHost: a\r\nX-Long: ",
        "POST /mha HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999",
        "POST /mha HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffff"};
    const char *head = heads[malformed_draw(draw, 4)];
    size_t size = 1000 + malformed_draw(draw, NOISE_MAX - 2000), n = strlen(head);
    memset(out, "a0 \n"[malformed_draw(draw, 4)], size);
    memcpy(out, head, n);
    memcpy(out + size, "\r\n\r\n", 4);
    return size + 4;
}

static bool is_known(int status) {
    return status == 0 || status == 100 || (status >= 200 && status < 300) || status == 304 ||
           (status >= 400 && status < 500) || status == 501 || status == 503 || status == 505;
}

/* Whatever comes, a connection ends in an answer or without one, and soon after the client has said its last. */
Test(harm, noise_instead_of_requests) {
    static size_t (*const kinds[])(struct malformed * draw, char *out) = {random_bytes, hurt_request, oversized};
    struct program p;
    struct malformed draw = malformed_new(7);
    char *bytes = malloc(NOISE_MAX + 64);
    size_t answered = 0, silent = 0;
    start(&p, OPTIONS("--header-timeout-ms", "3000", "--body-timeout-ms", "3000", "--log-format", "off"));
    int before = program_files(&p);
    for (int round = 0; round < NOISE_ROUNDS; round++) {
        struct crowd crowd;
        cr_assert(crowd_open(&crowd, p.port, NOISE_CROWD));
        for (size_t i = 0; i < NOISE_CROWD; i++) {
            crowd_send(&crowd, i, bytes, kinds[i % 3](&draw, bytes));
            shutdown(crowd.members[i].fd, SHUT_WR);
        }
        size_t open = crowd_receive(&crowd, 10000, false);
        cr_expect_eq(open, 0, "%zu connections are still open", open);
        for (size_t i = 0; i < NOISE_CROWD; i++) {
            const struct member *one = &crowd.members[i];
            cr_expect(is_known(one->status), "status %d: %.200s", one->status, one->text);
            cr_expect(one->size == 0 || strncmp(one->text, "HTTP/1.", 7) == 0, "not HTTP: %.100s", one->text);
            answered += one->status != 0;
            silent += one->status == 0;
        }
        crowd_close(&crowd);
        serve_one(p.port);
    }
    for (int64_t until = now_ms() + 5000; now_ms() < until && program_files(&p) > before;)
        sleep_ms(20);
    cr_expect_leq(program_files(&p), before);
    cr_expect_eq(seen.failed, 0);
    fprintf(stderr,
            "harm: %d times random bytes, hurt and oversized requests: %zu answered, %zu closed without a word\n",
            NOISE_CROWD * NOISE_ROUNDS, answered, silent);
    cr_expect_gt(answered, 100);
    free(bytes);
    end(&p);
}

/* --- malformed bodies -------------------------------------------------------------------------------------------- */

static bool is_text(const json_t *object, const char *member) {
    const char *value = json_string_value(json_object_get(object, member));
    return value && *value;
}

/* A problem document with all its members, that agrees with the status line. */
static bool is_problem(const struct answer *answer) {
    json_t *problem = json_loadb(answer->body, answer->body_size, JSON_REJECT_DUPLICATES, NULL);
    const char *code = json_string_value(json_object_get(problem, "code")),
               *kind = answer_header(answer, "Content-Type");
    const char *type = json_string_value(json_object_get(problem, "type"));
    bool good = code && type && kind && strncmp(kind, "application/problem+json", 24) == 0 &&
                strncmp(type, "/problems#", 10) == 0 && strcmp(type + 10, code) == 0 && is_text(problem, "title") &&
                is_text(problem, "detail") && json_integer_value(json_object_get(problem, "status")) == answer->status;
    json_decref(problem);
    return good;
}

static bool is_json(const struct answer *answer) {
    /* Whole numbers beyond 64 bits are JSON, but not to jansson. */
    size_t how = JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL;
    json_t *document = json_loadb(answer->body, answer->body_size, how, NULL);
    bool good = json_is_object(document);
    json_decref(document);
    return good;
}

struct tally {
    unsigned long long all, good, malformed, refused, large, reopened;
};

static bool count(struct tally *tally, const struct answer *answer) {
    tally->all++;
    switch (answer->status) {
    case 200:
        tally->good++;
        return is_json(answer);
    case 400:
        tally->malformed++;
        break;
    case 413:
        tally->large++;
        break;
    case 422:
        tally->refused++;
        break;
    default:
        return false;
    }
    return is_problem(answer);
}

static int ask(struct client *client, uint16_t port, const char *path, const char *body, size_t size,
               struct tally *tally, struct answer *answer) {
    static char text[MALFORMED_MAX + 256];
    int head = snprintf(text, 256, "POST %s HTTP/1.1\r\nHost: a\r\nContent-Length: %zu\r\n\r\n", path, size);
    memcpy(text + head, body, size);
    if (client->fd < 0) {
        cr_assert(client_open(client, port));
        tally->reopened++;
    }
    client_send(client, text, (size_t)head + size); /* in one piece, or Nagle waits 40 ms for the other */
    int status = client_receive(client, answer, 20000, false);
    const char *connection = answer_header(answer, "Connection");
    if (status == 0 || (connection && strcmp(connection, "close") == 0))
        client_close(client);
    return status;
}

static unsigned long long setting(const char *name, unsigned long long otherwise) {
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : otherwise;
}

Test(harm, malformed_bodies_by_the_thousand) {
    struct program p;
    struct client client = {.fd = -1};
    struct tally tally = {0};
    unsigned long long bodies = setting("HARM_BODIES", 10000), seed = setting("HARM_SEED", 1);
    struct malformed state = malformed_new(seed);
    static char body[MALFORMED_MAX];
    long warm = 0;
    start(&p, OPTIONS("--log-format", "off", "--max-request-memory-bytes", "64MiB", "--max-multiply-adds", "1e8"));
    for (unsigned long long i = 0; i < bodies; i++) {
        const char *path;
        struct answer answer;
        size_t size = malformed_next(&state, body, &path);
        ask(&client, p.port, path, body, size, &tally, &answer);
        cr_expect(count(&tally, &answer), "seed %llu, body %llu for %s: status %d, %.300s\n%.*s", seed, i, path,
                  answer.status, answer.body ? answer.body : "", (int)size, body);
        answer_free(&answer);
        if (i == bodies / 5)
            warm = program_status(&p, "VmRSS");
    }
    long after = program_status(&p, "VmRSS");
    fprintf(
        stderr,
        "harm: %llu malformed bodies (seed %llu): 400 %llu, 422 %llu, 413 %llu, 200 by accident %llu; resident memory "
        "%ld kB after the first fifth, %ld kB at the end\n",
        tally.all, seed, tally.malformed, tally.refused, tally.large, tally.good, warm, after);
    cr_expect_geq(tally.malformed, bodies / 10);
    cr_expect_geq(tally.refused, bodies / 10);
    cr_expect_leq(tally.reopened, 1, "%llu connections", tally.reopened);
    if (is_measured())
        cr_expect_lt(after, warm + 8192);
    serve_one(p.port);
    cr_expect_eq(seen.failed, 0);
    client_close(&client);
    end(&p);
}

/* --- memory ------------------------------------------------------------------------------------------------------ */

enum { PRESSERS = 16, PRESSES = 3, BUDGET_MIB = 32 }; /* six of the bodies fit into the half that is for bodies */

struct press {
    uint16_t port;
    const char *body;
    size_t size;
    atomic_uint good, busy, other;
};

static void *press(void *arg) {
    struct press *all = arg;
    for (int i = 0; i < PRESSES; i++) {
        struct answer answer;
        int status = post(all->port, "/attention", NULL, all->body, all->size, &answer);
        bool budget = status == 503 && answer.body && strstr(answer.body, "\"memory_budget\"") &&
                      answer_header(&answer, "Retry-After");
        atomic_fetch_add(status == 200 ? &all->good : budget ? &all->busy : &all->other, 1);
        answer_free(&answer);
        sleep_ms(budget ? 10 : 0);
    }
    return NULL;
}

/* Large requests at once, each of which would fit alone: some are answered, the rest is refused for now, and the
 * process stays within the budget and what it needs itself. */
Test(harm, memory_for_all_requests_is_bounded) {
    struct program p;
    size_t size;
    char *body = attention_body(1000, 500, &size);
    start(&p, OPTIONS("--max-memory-bytes", "32MiB", "--log-format", "off"));
    serve_one(p.port);
    long before = program_status(&p, "VmRSS");
    struct press all = {.port = p.port, .body = body, .size = size};
    pthread_t threads[PRESSERS];
    for (int i = 0; i < PRESSERS; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, press, &all), 0);
    for (int i = 0; i < PRESSERS; i++)
        pthread_join(threads[i], NULL);
    long most = program_status(&p, "VmHWM");
    fprintf(stderr,
            "harm: %d requests of %zu kB at once with 32 MiB for all: %u answered, %u refused by 503, %u otherwise; "
            "resident at most %ld kB, %ld kB of them before\n",
            PRESSERS * PRESSES, size / 1000, atomic_load(&all.good), atomic_load(&all.busy), atomic_load(&all.other),
            most, before);
    cr_expect_gt(atomic_load(&all.busy), 0);
    cr_expect_eq(atomic_load(&all.other), 0);
    if (is_measured())
        cr_expect_lt(most, before + (BUDGET_MIB + 16) * 1024);
    struct answer alone;
    cr_expect_eq(post(p.port, "/attention", NULL, body, size, &alone), 200);
    answer_free(&alone);
    serve_one(p.port);
    cr_expect_eq(seen.failed, 0);
    free(body);
    end(&p);
}

/* --- guessed keys ------------------------------------------------------------------------------------------------ */

/* Wrong keys are counted by address; the right one has a count of its own. */
Test(harm, keys_cannot_be_guessed_at_will) {
    char path[] = "/tmp/dikkat-keys-XXXXXX";
    int fd = mkstemp(path);
    static const char text[] = "right-key-0123456789 one\n";
    cr_assert(fd >= 0 && write(fd, text, sizeof text - 1) == sizeof text - 1);
    close(fd);
    struct program p;
    struct answer answer;
    int counts[3] = {0};
    start(&p, OPTIONS("--keys-file", path, "--rate-limit", "0.1", "--rate-burst", "5"));
    for (int i = 0; i < 30; i++) {
        char header[128];
        snprintf(header, sizeof header, "Authorization: Bearer wrong-key-%016d\r\n", i);
        int status = post(p.port, "/attention", i % 3 ? header : NULL, SMALL, sizeof SMALL - 1, &answer);
        counts[status == 401 ? 0 : status == 429 ? 1 : 2]++;
        cr_expect_not_null(answer_header(&answer, status == 429 ? "Retry-After" : "WWW-Authenticate"));
        answer_free(&answer);
    }
    fprintf(stderr, "harm: of 30 requests without a valid key 5 may ask: %d answered 401, %d answered 429\n", counts[0],
            counts[1]);
    cr_expect(counts[0] >= 5 && counts[0] <= 8 && counts[2] == 0);
    for (int i = 0; i < 5; i++) {
        cr_expect_eq(post(p.port, "/attention", "Authorization: Bearer right-key-0123456789\r\n", SMALL,
                          sizeof SMALL - 1, &answer),
                     200);
        answer_free(&answer);
    }
    cr_expect_eq(
        post(p.port, "/attention", "Authorization: Bearer right-key-0123456789\r\n", SMALL, sizeof SMALL - 1, &answer),
        429);
    answer_free(&answer);
    unlink(path);
    end(&p);
}
