/* test_deadlines - every phase of a request has an end: clients that send slowly, do not read, leave, or ask for too
 * much time are dropped or answered, while others are served. Limits here are short; each bound is checked from both
 * sides. */
#include "tests/server/client.h"
#include "tests/server/serving.h"

#include <criterion/criterion.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

TestSuite(deadlines, .timeout = 60);

/* A metric's value, by its name with labels; -1 if absent. */
static double metric(uint16_t port, const char *name) {
    struct answer answer;
    double value = -1;
    cr_assert_eq(exchange(port, "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n", &answer), 200);
    for (char *line = answer.body; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (strncmp(line, name, strlen(name)) == 0 && line[strlen(name)] == ' ')
            value = atof(line + strlen(name));
    answer_free(&answer);
    return value;
}

/* Sends one byte of `text` (and then x for ever) every 20 ms until the server ends it. Returns the milliseconds it
 * took. */
static int64_t drip(struct client *client, const char *text, struct answer *answer) {
    int64_t began = now_ms();
    for (size_t i = 0; now_ms() - began < 5000; i++) {
        if (!client_send(client, i < strlen(text) ? text + i : "x", 1) || client_is_closed(client, 20) || client->size)
            break;
    }
    int64_t took = now_ms() - began;
    client_receive(client, answer, 1000, false);
    return took;
}

Test(deadlines, slow_heads_and_bodies_are_answered_408) {
    static const char *const texts[] = {"GET /health/live HTTP/1.1\r\nHost: a\r\nThing: ",
                                        "POST /mha HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n{"};
    struct program p;
    start(&p, OPTIONS("--header-timeout-ms", "600", "--body-timeout-ms", "600"));
    for (int again = 0; again < 2; again++) { /* first on a connection, and after another request */
        for (int i = 0; i < 2; i++) {
            struct client client;
            struct answer answer;
            size_t head = i ? strlen(texts[i]) : 4;
            cr_assert(client_open(&client, p.port));
            if (again) {
                client_say(&client, LIVE);
                cr_assert_eq(client_receive(&client, &answer, 5000, false), 200);
                answer_free(&answer);
            }
            client_send(&client, texts[i], head);
            int64_t took = drip(&client, texts[i] + head, &answer);
            cr_expect_eq(answer.status, 408, "status %d", answer.status);
            cr_expect_not_null(answer_header(&answer, "Connection"));
            cr_expect(took > 500 && took < 1500, "%d ms", (int)took);
            cr_expect(client_is_closed(&client, 1000));
            answer_free(&answer);
            client_close(&client);
        }
    }
    cr_expect_eq(metric(p.port, "dikkat_rejected_total{reason=\"header_timeout\"}"), 2);
    cr_expect_eq(metric(p.port, "dikkat_rejected_total{reason=\"body_timeout\"}"), 2);
    end(&p);
}

Test(deadlines, silent_connections_are_closed) {
    struct program p;
    struct client fresh, used;
    struct answer answer;
    start(&p, OPTIONS("--header-timeout-ms", "500", "--idle-timeout-ms", "1000"));
    cr_assert(client_open(&fresh, p.port) && client_open(&used, p.port));
    client_say(&used, LIVE);
    cr_assert_eq(client_receive(&used, &answer, 5000, false), 200);
    answer_free(&answer);
    cr_expect(client_is_closed(&fresh, 1000)); /* without an answer: nothing was asked */
    cr_expect_eq(fresh.size, 0);
    cr_expect_not(client_is_closed(&used, 200));
    cr_expect(client_is_closed(&used, 1500));
    client_close(&fresh);
    client_close(&used);
    end(&p);
}

/* Who leaves in the middle of a request, saying so together with its last bytes, is forgotten soon. */
Test(deadlines, clients_that_leave_in_the_middle) {
    static const char *const texts[] = {"GET /heal", "POST /mha HTTP/1.1\r\nHost: a\r\nContent-Length: 90\r\n\r\n{",
                                        "POST /mha HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{"};
    struct program p;
    start(&p, NULL);
    for (int i = 0; i < 90; i++) {
        struct client client;
        cr_assert(client_open(&client, p.port));
        client_say(&client, texts[i % 3]);
        client_close(&client);
    }
    double open = 0;
    for (int64_t until = now_ms() + 2000; now_ms() < until && open != 1; sleep_ms(20))
        open = metric(p.port, "dikkat_connections");
    cr_expect_eq(open, 1); /* the one that asks */
    cr_expect_eq(metric(p.port, "dikkat_memory_reserved_bytes"), 0);
    end(&p);
}

Test(deadlines, hundreds_of_slow_clients_hold_up_nobody) {
    enum { SLOW = 400 };
    struct program p;
    struct client slow[SLOW];
    struct answer answer;
    start(&p, NULL);
    for (int i = 0; i < SLOW; i++) {
        cr_assert(client_open(&slow[i], p.port));
        client_say(&slow[i],
                   i % 2 ? "GET / HTTP/1.1\r\nHo" : "POST /mha HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n{");
    }
    for (int i = 0; i < 50; i++) {
        int64_t began = now_ms();
        cr_expect_eq(post(p.port, "/attention", NULL, "{\"x\":[[1]]}", 11, &answer), 200);
        cr_expect_lt(now_ms() - began, 500);
        answer_free(&answer);
    }
    for (int i = 0; i < SLOW; i++)
        client_close(&slow[i]);
    end(&p);
}

/* Who does not read an answer of megabytes is cut off. */
Test(deadlines, clients_that_do_not_read) {
    struct program p;
    struct client client;
    size_t size;
    char head[256], *body = attention_body(4000, 64, &size);
    start(&p, OPTIONS("--response-timeout-ms", "700"));
    client.fd = -1;
    cr_assert(client_open(&client, p.port));
    snprintf(head, sizeof head, "POST /attention HTTP/1.1\r\nHost: a\r\nContent-Length: %zu\r\n\r\n", size);
    int small = 4096;
    setsockopt(client.fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    client_say(&client, head);
    client_send(&client, body, size);
    for (int64_t until = now_ms() + 15000; now_ms() < until; sleep_ms(100))
        if (metric(p.port, "dikkat_rejected_total{reason=\"response_timeout\"}") > 0)
            break;
    cr_expect_eq(metric(p.port, "dikkat_rejected_total{reason=\"response_timeout\"}"), 1);
    sleep_ms(100);
    cr_expect_eq(metric(p.port, "dikkat_memory_reserved_bytes"), 0);
    client_close(&client);
    free(body);
    end(&p);
}

/* A request that would compute for many seconds: its cost is allowed, its time is not. */
static char *long_request(size_t *size) {
    return attention_body(12000, 64, size);
}

static bool busy(uint16_t port) {
    return metric(port, "dikkat_workers_busy") > 0;
}

static void wait_until(uint16_t port, bool is_busy, int timeout_ms) {
    for (int64_t until = now_ms() + timeout_ms; now_ms() < until && busy(port) != is_busy; sleep_ms(1))
        ;
}

Test(deadlines, computing_takes_no_longer_than_allowed) {
    struct program p;
    struct answer answer;
    size_t size;
    char *body = long_request(&size);
    start(&p, OPTIONS("--compute-timeout-ms", "300", "--workers", "1"));
    int64_t began = now_ms();
    cr_expect_eq(post(p.port, "/attention", NULL, body, size, &answer), 503);
    cr_expect_lt(now_ms() - began, 2000);
    cr_expect_not_null(strstr(answer.body, "\"deadline\""));
    cr_expect_not_null(answer_header(&answer, "Retry-After"));
    answer_free(&answer);
    cr_expect_eq(metric(p.port, "dikkat_rejected_total{reason=\"compute_timeout\"}"), 1);
    free(body);
    end(&p);
}

/* What a part of the work took, in milliseconds, as the answer tells. */
static double duration_of(const struct answer *answer, const char *part) {
    const char *timing = answer_header(answer, "Server-Timing"), *found = timing ? strstr(timing, part) : NULL;
    cr_assert_not_null(found);
    return atof(found + strlen(part));
}

/* Who takes packed answers only gets none that was packed after the time was over, by the thread of the connection. */
Test(deadlines, packing_takes_no_longer_than_allowed) {
    static const char body[] = "{\"random\":{\"seed\":0,\"draws\":[{\"into\":[\"x\"],\"shape\":[1200,8]}]},"
                               "\"checks\":false,\"return\":[\"weights\"]}";
    static const char packed_only[] = "Accept-Encoding: gzip, identity;q=0\r\n";
    struct program p;
    struct answer answer;
    char allowed[16];
    start(&p, OPTIONS("--log-format", "off"));
    cr_assert_eq(post(p.port, "/attention", packed_only, body, sizeof body - 1, &answer), 200);
    double compute = duration_of(&answer, "compute;dur="), pack = duration_of(&answer, "write;dur=");
    answer_free(&answer);
    end(&p);
    snprintf(allowed, sizeof allowed, "%d", (int)(compute + pack / 2)); /* to be over in the middle of packing */
    start(&p, OPTIONS("--log-format", "off", "--compute-timeout-ms", allowed));
    int status = post(p.port, "/attention", packed_only, body, sizeof body - 1, &answer);
    if (status == 200) /* quicker than before */
        cr_expect_lt(duration_of(&answer, "compute;dur=") + duration_of(&answer, "write;dur="),
                     atof(allowed) + pack / 4, "packed all the same");
    else
        cr_expect_eq(status, 503);
    cr_expect_str_eq(answer_header(&answer, "Content-Encoding"), "gzip");
    answer_free(&answer);
    end(&p);
}

Test(deadlines, waiting_takes_no_longer_than_allowed) {
    struct program p;
    struct client first, second;
    struct answer answer;
    size_t size;
    char head[256], *body = long_request(&size);
    start(&p, OPTIONS("--queue-timeout-ms", "300", "--compute-timeout-ms", "3000", "--workers", "1"));
    snprintf(head, sizeof head, "POST /attention HTTP/1.1\r\nHost: a\r\nContent-Length: %zu\r\n\r\n", size);
    cr_assert(client_open(&first, p.port) && client_open(&second, p.port));
    client_say(&first, head);
    client_send(&first, body, size);
    wait_until(p.port, true, 2000);
    client_say(&second, head);
    client_send(&second, body, size);
    int64_t began = now_ms();
    cr_expect_eq(client_receive(&second, &answer, 5000, false), 503);
    cr_expect_lt(now_ms() - began, 1500);
    cr_expect_not_null(strstr(answer.body, "\"deadline\""));
    answer_free(&answer);
    client_close(&second);
    client_close(&first);
    free(body);
    end(&p);
}

/* A client that leaves, by a clean close or by a reset, stops its computation within 50 ms. */
Test(deadlines, work_stops_when_the_client_leaves) {
    struct program p;
    size_t size;
    char head[256], *body = long_request(&size);
    const char *name = getenv("PROGRAM");
    bool slow = name && (strstr(name, "asan") || strstr(name, "tsan") || strstr(name, "cov"));
    int64_t most = slow ? 1500 : 150; /* 50, and the mood of a shared machine */
    start(&p, OPTIONS("--workers", "1"));
    snprintf(head, sizeof head, "POST /attention HTTP/1.1\r\nHost: a\r\nContent-Length: %zu\r\n\r\n", size);
    for (int reset = 0; reset < 2; reset++) {
        struct client client;
        cr_assert(client_open(&client, p.port));
        client_say(&client, head);
        client_send(&client, body, size);
        wait_until(p.port, true, 2000);
        sleep_ms(100); /* into the computation proper */
        cr_expect(busy(p.port));
        if (reset)
            setsockopt(client.fd, SOL_SOCKET, SO_LINGER, &(struct linger){1, 0}, sizeof(struct linger));
        int64_t began = now_ms();
        client_close(&client);
        wait_until(p.port, false, 3000);
        int64_t took = now_ms() - began;
        cr_expect_lt(took, most, "%s: %d ms", reset ? "reset" : "close", (int)took);
    }
    cr_expect_eq(metric(p.port, "dikkat_rejected_total{reason=\"client_gone\"}"), 2);
    free(body);
    end(&p);
}

Test(deadlines, a_full_queue_refuses_at_once) {
    enum { MANY = 6 };
    struct program p;
    struct client clients[MANY];
    size_t size;
    int refused = 0;
    char head[256], *body = attention_body(6000, 64, &size);
    start(&p, OPTIONS("--workers", "1", "--queue-depth", "2", "--compute-timeout-ms", "2000"));
    snprintf(head, sizeof head, "POST /attention HTTP/1.1\r\nHost: a\r\nContent-Length: %zu\r\n\r\n", size);
    for (int i = 0; i < MANY; i++) {
        cr_assert(client_open(&clients[i], p.port));
        client_say(&clients[i], head);
        client_send(&clients[i], body, size);
    }
    for (int i = 0; i < MANY; i++) {
        struct answer answer;
        client_receive(&clients[i], &answer, 20000, false);
        cr_expect(answer.status == 200 || answer.status == 503, "%d", answer.status);
        if (answer.status == 503 && strstr(answer.body, "\"busy\"")) {
            cr_expect_not_null(answer_header(&answer, "Retry-After"));
            refused++;
        }
        answer_free(&answer);
        client_close(&clients[i]);
    }
    cr_expect_geq(refused, MANY - 4);
    free(body);
    end(&p);
}

/* --- memory and connections -------------------------------------------------------------------------------------- */

Test(deadlines, memory_in_flight_is_bounded) {
    struct program p;
    struct client holder;
    struct answer answer;
    char *body = malloc(3 << 20);
    memset(body, ' ', 3 << 20);
    start(&p, OPTIONS("--max-memory-bytes", "8MiB", "--max-connections", "64"));
    cr_assert(client_open(&holder, p.port));
    client_say(&holder, "POST /mha HTTP/1.1\r\nHost: a\r\nContent-Length: 7000000\r\n\r\n");
    client_send(&holder, body, 3 << 20);
    client_send(&holder, body, 3 << 20);
    for (int64_t until = now_ms() + 5000; now_ms() < until && metric(p.port, "dikkat_memory_reserved_bytes") < 6e6;)
        sleep_ms(5);
    cr_expect_eq(post(p.port, "/mha", NULL, body, 3 << 20, &answer), 503);
    cr_expect_not_null(strstr(answer.body, "\"memory_budget\""));
    answer_free(&answer);
    cr_expect_eq(post(p.port, "/attention", NULL, "{\"x\":[[1]]}", 11, &answer), 200); /* small ones still fit */
    answer_free(&answer);
    client_close(&holder);
    for (int64_t until = now_ms() + 5000; now_ms() < until && metric(p.port, "dikkat_memory_reserved_bytes") > 0;)
        sleep_ms(5);
    cr_expect_eq(metric(p.port, "dikkat_memory_reserved_bytes"), 0);
    cr_expect_eq(post(p.port, "/mha", NULL, body, 3 << 20, &answer), 400); /* only spaces, but it was read */
    answer_free(&answer);
    free(body);
    end(&p);
}

Test(deadlines, connections_are_bounded) {
    enum { MOST = 20 };
    struct program p;
    struct client open[MOST];
    struct answer answer;
    start(&p, OPTIONS("--max-connections", "20"));
    for (int i = 0; i < MOST; i++) {
        cr_assert(client_open(&open[i], p.port));
        client_say(&open[i], LIVE);
        cr_assert_eq(client_receive(&open[i], &answer, 5000, false), 200);
        answer_free(&answer);
    }
    for (int i = 0; i < 300; i++) { /* a flood, all told so */
        cr_expect_eq(exchange(p.port, LIVE, &answer), 503);
        cr_expect_not_null(strstr(answer.body ? answer.body : "", "too_many_connections"));
        answer_free(&answer);
    }
    client_say(&open[0], LIVE);
    cr_expect_eq(client_receive(&open[0], &answer, 5000, false), 200);
    answer_free(&answer);
    for (int i = 0; i < MOST; i++)
        client_close(&open[i]);
    sleep_ms(200);
    cr_expect_eq(exchange(p.port, LIVE, &answer), 200);
    answer_free(&answer);
    end(&p);
}

Test(deadlines, descriptors_come_back) {
    struct program p;
    struct answer answer;
    start(&p, NULL);
    cr_expect_eq(exchange(p.port, LIVE, &answer), 200);
    answer_free(&answer);
    sleep_ms(100);
    int before = program_files(&p);
    for (int i = 0; i < 300; i++) {
        static const char *const requests[] = {LIVE, "BREW / HTTP/1.1\r\nHost: a\r\n\r\n", "GET", "\r\n\r\n\x01",
                                               "POST /mha HTTP/1.1\r\nHost: a\r\nContent-Length: 999999999999\r\n\r\n"};
        struct client client;
        cr_assert(client_open(&client, p.port));
        client_say(&client, requests[i % 5]);
        if (i % 5 != 2) {
            client_receive(&client, &answer, 50, false);
            answer_free(&answer);
        }
        client_close(&client);
    }
    for (int64_t until = now_ms() + 2000; now_ms() < until && program_files(&p) > before;)
        sleep_ms(20);
    cr_expect_leq(program_files(&p), before);
    end(&p);
}

/* --- who may come in --------------------------------------------------------------------------------------------- */

Test(deadlines, the_rate_is_limited) {
    struct program p;
    struct answer answer;
    int served = 0, refused = 0;
    start(&p, OPTIONS("--rate-limit", "1", "--rate-burst", "3"));
    for (int i = 0; i < 8; i++) {
        int status = post(p.port, "/attention", NULL, "{\"x\":[[1]]}", 11, &answer);
        served += status == 200;
        refused += status == 429;
        if (status == 429)
            cr_expect_geq(atoi(answer_header(&answer, "Retry-After")), 1);
        answer_free(&answer);
    }
    cr_expect_eq(served + refused, 8);
    cr_expect(served >= 3 && served <= 4, "%d", served);
    cr_expect_eq(exchange(p.port, LIVE, &answer), 200);
    answer_free(&answer);
    end(&p);
}

Test(deadlines, origins_that_may_call) {
    struct program p;
    struct answer answer;
    start(&p, OPTIONS("--cors-origins", "https://a.example"));
    exchange(
        p.port,
        "OPTIONS /mha HTTP/1.1\r\nHost: a\r\nOrigin: https://a.example\r\nAccess-Control-Request-Method: POST\r\n\r\n",
        &answer);
    cr_expect_eq(answer.status, 204);
    cr_expect_str_eq(answer_header(&answer, "Access-Control-Allow-Origin"), "https://a.example");
    cr_expect_not_null(strstr(answer_header(&answer, "Access-Control-Allow-Headers"), "Authorization"));
    answer_free(&answer);
    post(p.port, "/attention", "Origin: https://a.example\r\n", "{\"x\":[[1]]}", 11, &answer);
    cr_expect_str_eq(answer_header(&answer, "Access-Control-Allow-Origin"), "https://a.example");
    answer_free(&answer);
    post(p.port, "/attention", "Origin: https://b.example\r\n", "{\"x\":[[1]]}", 11, &answer);
    cr_expect_eq(answer.status, 200);
    cr_expect_null(answer_header(&answer, "Access-Control-Allow-Origin"));
    answer_free(&answer);
    end(&p);
}

/* --- packed bodies ----------------------------------------------------------------------------------------------- */

static size_t gzipped(const char *body, size_t size, char *out, size_t most) {
    char in[] = "/tmp/dikkat-body-XXXXXX", command[128];
    int fd = mkstemp(in);
    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, body, size), (ssize_t)size);
    close(fd);
    snprintf(command, sizeof command, "gzip -c %s", in);
    FILE *pipe = popen(command, "r");
    cr_assert_not_null(pipe);
    size_t n = fread(out, 1, most, pipe);
    pclose(pipe);
    unlink(in);
    return n;
}

Test(deadlines, packed_bodies_both_ways) {
    struct program p;
    struct answer plain, packed;
    size_t size;
    char *body = attention_body(200, 16, &size), *zipped = malloc(1 << 20);
    size_t zipped_size = gzipped(body, size, zipped, 1 << 20);
    start(&p, OPTIONS("--max-body-bytes", "1MiB"));
    cr_assert_eq(post(p.port, "/attention", NULL, body, size, &plain), 200);
    cr_assert_eq(post(p.port, "/attention", "Content-Encoding: gzip\r\n", zipped, zipped_size, &packed), 200);
    cr_expect_eq(plain.body_size, packed.body_size);
    cr_expect_eq(memcmp(plain.body, packed.body, plain.body_size), 0);
    answer_free(&packed);
    cr_assert_eq(post(p.port, "/attention", "Accept-Encoding: gzip\r\n", body, size, &packed), 200);
    cr_expect_str_eq(answer_header(&packed, "Content-Encoding"), "gzip");
    cr_expect_lt(packed.body_size, plain.body_size);
    answer_free(&packed);
    answer_free(&plain);
    char *bomb = calloc(1, 8 << 20);
    zipped_size = gzipped(bomb, 8 << 20, zipped, 1 << 20);
    cr_expect_eq(post(p.port, "/attention", "Content-Encoding: gzip\r\n", zipped, zipped_size, &plain), 413);
    answer_free(&plain);
    free(bomb);
    free(zipped);
    free(body);
    end(&p);
}
