/* test_uploads - bodies that together exceed the memory: who is let in is served, who is not knows before sending, and
 * who announces without sending keeps nobody out for long. */
#include "tests/server/client.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

TestSuite(uploads, .timeout = 120);

/* Half of the budget is for bodies: five of these fit. */
enum { BODY = 3 << 20, UPLOADS = 10, FITTING = 5, PIECE = 256 << 10 };

static struct program server;
static char *body;
static struct client clients[UPLOADS];

static void start(void) {
    cr_assert(program_start(&server, OPTIONS("--max-memory-bytes", "32MiB", "--log-format", "off")));
    body = malloc(BODY);
    memset(body, ' ', BODY);
    memcpy(body, "{\"x\":[[1]]}", 11);
}

static void stop(void) {
    for (int i = 0; i < UPLOADS; i++)
        client_close(&clients[i]);
    free(body);
    cr_expect_eq(program_stop(&server), 0);
    close(server.output);
}

static void announce(struct client *client, bool wait) {
    char head[256];
    snprintf(head, sizeof head, "POST /attention HTTP/1.1\r\nHost: a\r\n%sContent-Length: %d\r\n\r\n",
             wait ? "Expect: 100-continue\r\n" : "", BODY);
    cr_assert(client_open(client, server.port));
    client_say(client, head);
}

/* Waits for "100 Continue", which is consumed, or for a refusal at once. */
static bool is_let_in(struct client *client) {
    static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
    struct answer answer;
    while (client->size < 16)
        cr_assert_not(client_is_closed(client, 2000));
    if (strncmp(client->text, go_on, 16) == 0) {
        while (client->size < sizeof go_on - 1)
            cr_assert_not(client_is_closed(client, 2000));
        client->size -= sizeof go_on - 1;
        return true;
    }
    cr_expect_eq(client_receive(client, &answer, 2000, false), 503);
    cr_expect_not_null(strstr(answer.body, "\"memory_budget\""));
    cr_expect_not_null(answer_header(&answer, "Retry-After"));
    answer_free(&answer);
    return false;
}

static double reserved(void) {
    struct answer answer;
    exchange(server.port, "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n", &answer);
    const char *line = strstr(answer.body, "\ndikkat_memory_reserved_bytes ");
    double value = line ? atof(line + 30) : -1;
    answer_free(&answer);
    return value;
}

/* An answer is there a moment before its request is over. */
static bool all_comes_back(void) {
    for (int64_t until = now_ms() + 2000; now_ms() < until; sleep_ms(5))
        if (reserved() == 0)
            return true;
    return false;
}

static int small(void) {
    struct answer answer;
    int status = post(server.port, "/attention", NULL, body, 11, &answer);
    answer_free(&answer);
    return status;
}

Test(uploads, who_is_let_in_is_served, .init = start, .fini = stop) {
    bool in[UPLOADS];
    int count = 0;
    for (int i = 0; i < UPLOADS; i++) {
        announce(&clients[i], true);
        count += in[i] = is_let_in(&clients[i]);
        cr_expect_eq(in[i], i < FITTING, "upload %d", i);
    }
    cr_expect_eq(count, FITTING);
    for (size_t sent = 0; sent < BODY; sent += PIECE, sleep_ms(30))
        for (int i = 0; i < UPLOADS; i++)
            cr_assert(!in[i] || client_send(&clients[i], body + sent, PIECE));
    for (int i = 0; i < UPLOADS; i++) {
        struct answer answer;
        if (in[i])
            cr_expect_eq(client_receive(&clients[i], &answer, 10000, false), 200, "%s", answer.body);
        if (in[i])
            answer_free(&answer);
    }
    cr_expect_eq(small(), 200);
    cr_expect(all_comes_back());
}

Test(uploads, announcements_lapse, .init = start, .fini = stop) {
    struct answer answer;
    for (int i = 0; i < FITTING; i++) {
        announce(&clients[i], false);
        client_send(&clients[i], body, 100); /* and nothing more */
    }
    sleep_ms(100);
    cr_expect_gt(reserved(), FITTING * (BODY - 1.0));
    cr_expect_eq(small(), 200); /* short bodies need no reservation */
    announce(&clients[FITTING], true);
    cr_expect_not(is_let_in(&clients[FITTING]));
    int64_t began = now_ms();
    while (reserved() > BODY && now_ms() < began + 5000)
        sleep_ms(20);
    int64_t took = now_ms() - began;
    cr_expect(took > 500 && took < 4000, "lapsed after %lld ms", (long long)took);
    cr_expect_eq(post(server.port, "/attention", NULL, body, BODY, &answer), 200);
    answer_free(&answer);
    for (int i = 0; i < FITTING; i++) /* one that comes back finds room, as long as there is any */
        cr_expect(client_send(&clients[i], body + 100, BODY - 100));
    for (int i = 0; i < FITTING; i++) {
        cr_expect_eq(client_receive(&clients[i], &answer, 10000, false), 200, "%s", answer.body);
        answer_free(&answer);
    }
    cr_expect(all_comes_back());
}
