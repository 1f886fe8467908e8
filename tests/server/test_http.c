/* test_http - HTTP itself, against the running program: raw requests in, status, headers and the fate of the connection
 * out. What is wrong in the framing must be refused and the connection closed; all else keeps it open. */
#include "tests/server/client.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct program server;

static void start(void) {
    cr_assert(program_start(&server, NULL));
}

static void stop(void) {
    cr_assert_eq(program_stop(&server), 0);
    close(server.output);
}

TestSuite(http, .init = start, .fini = stop, .timeout = 60);

#define LIVE "GET /health/live HTTP/1.1\r\nHost: a\r\n"
#define ASK "POST /attention HTTP/1.1\r\nHost: a\r\n"
#define SMALL "{\"x\":[[1]]}" /* 11 bytes */

enum { OPEN, CLOSED };

struct row {
    const char *what, *request;
    int status, fate;
};

/* What libmicrohttpd 1.0 does instead: it hangs up on a NUL, and refuses chunk extensions. */
static const struct row newer_rows[] = {
    {"NUL in the target", NULL, 0, CLOSED},
    {"chunk extension", NULL, 400, CLOSED},
};

static const struct row *expected(const struct row *row, bool newer) {
    for (size_t i = 0; newer && i < sizeof newer_rows / sizeof *newer_rows; i++)
        if (strcmp(newer_rows[i].what, row->what) == 0)
            return &newer_rows[i];
    return row;
}

static bool library_is_newer(void) {
    struct answer answer;
    exchange(server.port, "GET /version HTTP/1.1\r\nHost: a\r\n\r\n", &answer);
    bool newer = answer.body && !strstr(answer.body, "\"libmicrohttpd\": \"0.9.");
    answer_free(&answer);
    return newer;
}

/* A request whose text holds a NUL is written with \1 in its place. */
static void check(const struct row *row, bool newer) {
    struct client client;
    struct answer answer;
    size_t size = strlen(row->request);
    int status = expected(row, newer)->status, fate = expected(row, newer)->fate;
    char *bytes = strdup(row->request);
    for (size_t i = 0; i < size; i++)
        if (bytes[i] == 1)
            bytes[i] = 0;
    cr_assert(client_open(&client, server.port));
    client_send(&client, bytes, size);
    free(bytes);
    client_receive(&client, &answer, 5000, strncmp(row->request, "HEAD", 4) == 0);
    cr_expect_eq(answer.status, status, "%s: status %d instead of %d", row->what, answer.status, status);
    if (fate == CLOSED) {
        cr_expect(client_is_closed(&client, 1000), "%s: still open", row->what);
        cr_expect_not(client.reset, "%s: reset", row->what);
    } else {
        struct answer again;
        client_say(&client, LIVE "\r\n");
        cr_expect_eq(client_receive(&client, &again, 5000, false), 200, "%s: not usable any more", row->what);
        answer_free(&again);
    }
    answer_free(&answer);
    client_close(&client);
}

Test(http, table) {
    static const struct row rows[] = {
        {"plain", LIVE "\r\n", 200, OPEN},
        {"no Host in 1.0", "GET /health/live HTTP/1.0\r\n\r\n", 200, CLOSED},
        {"1.0 with keep-alive", "GET /health/live HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", 200, OPEN},
        {"close asked for", LIVE "Connection: close\r\n\r\n", 200, CLOSED},
        {"HEAD", "HEAD /health/live HTTP/1.1\r\nHost: a\r\n\r\n", 200, OPEN},
        {"absolute form", "GET http://a:80/health/live HTTP/1.1\r\nHost: a\r\n\r\n", 200, OPEN},
        {"absolute form without a path", "GET http://a HTTP/1.1\r\nHost: a\r\n\r\n", 200, OPEN},
        {"absolute form with a bad host", "GET http://a[b/ HTTP/1.1\r\nHost: a\r\n\r\n", 400, CLOSED},
        {"encoded path", "GET /%68ealth/live HTTP/1.1\r\nHost: a\r\n\r\n", 200, OPEN},
        {"encoded NUL", "GET /health/live%00 HTTP/1.1\r\nHost: a\r\n\r\n", 400, CLOSED},
        {"half an escape", "GET /health%2 HTTP/1.1\r\nHost: a\r\n\r\n", 400, CLOSED},
        {"OPTIONS *", "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", 204, OPEN},
        {"GET *", "GET * HTTP/1.1\r\nHost: a\r\n\r\n", 404, OPEN},
        {"OPTIONS of a path", "OPTIONS /mha HTTP/1.1\r\nHost: a\r\n\r\n", 204, OPEN},
        {"OPTIONS of no path", "OPTIONS /nothing HTTP/1.1\r\nHost: a\r\n\r\n", 404, OPEN},
        {"no such path", "GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n", 404, OPEN},
        {"another method", "PUT /mha HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}", 405, OPEN},
        {"another method without a length", "PUT /mha HTTP/1.1\r\nHost: a\r\n\r\n", 405, OPEN},
        {"GET of an endpoint", "GET /mha HTTP/1.1\r\nHost: a\r\n\r\n", 405, OPEN},
        {"POST of a page without a length", "POST /health/live HTTP/1.1\r\nHost: a\r\n\r\n", 405, OPEN},
        {"POST of a page", "POST /health/live HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}", 405, OPEN},
        {"unknown method", "BREW /mha HTTP/1.1\r\nHost: a\r\n\r\n", 501, CLOSED},
        {"no Host", "GET /health/live HTTP/1.1\r\n\r\n", 400, CLOSED},
        {"two Hosts", LIVE "Host: b\r\n\r\n", 400, CLOSED},
        {"two equal Hosts", LIVE "Host: a\r\n\r\n", 400, CLOSED},
        {"empty Host", "GET /health/live HTTP/1.1\r\nHost:\r\n\r\n", 200, OPEN},
        {"bad Host", "GET /health/live HTTP/1.1\r\nHost: a b\r\n\r\n", 400, CLOSED},
        {"space before the colon", LIVE "Thing : 1\r\n\r\n", 400, CLOSED},
        {"space before Content-Length's colon", ASK "Content-Length : 11\r\n\r\n" SMALL, 400, CLOSED},
        {"NUL in a value", LIVE "Thing: a\1b\r\n\r\n", 400, CLOSED},
        {"NUL in a value before others", "GET / HTTP/1.1\r\nThing: a\1b\r\nHost: a\r\n\r\n", 400, CLOSED},
        {"NUL in the target", "GET /health/live\1x HTTP/1.1\r\nHost: a\r\n\r\n", 400, CLOSED},
        {"folded line", LIVE "Thing: a\r\n b\r\n\r\n", 400, CLOSED},
        {"folded Transfer-Encoding", ASK "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n", 400, CLOSED},
        {"bare LF", "GET /health/live HTTP/1.1\nHost: a\r\n\r\n", 400, CLOSED},
        {"control character", LIVE "Thing: a\002\r\n\r\n", 400, CLOSED},
        {"name with a character that is none", LIVE "Th(ng: a\r\n\r\n", 400, CLOSED},
        {"line without a colon", LIVE "Thing\r\n\r\n", 400, CLOSED},
        {"length and chunked", ASK "Content-Length: 11\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, CLOSED},
        {"two lengths", ASK "Content-Length: 11\r\nContent-Length: 12\r\n\r\n" SMALL, 400, CLOSED},
        {"two equal lengths", ASK "Content-Length: 11\r\nContent-Length: 11\r\n\r\n" SMALL, 400, CLOSED},
        {"gzip, chunked", ASK "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501, CLOSED},
        {"chunked, gzip", ASK "Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n", 400, CLOSED},
        {"chunked twice", ASK "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n", 400, CLOSED},
        {"chunked in 1.0", "POST /mha HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, CLOSED},
        {"no length", ASK "\r\n", 411, CLOSED},
        {"another expectation", ASK "Expect: wonders\r\nContent-Length: 11\r\n\r\n" SMALL, 417, CLOSED},
        {"length", ASK "Content-Length: 11\r\n\r\n" SMALL, 200, OPEN},
        {"chunks", ASK "Transfer-Encoding: chunked\r\n\r\n5\r\n{\"x\":\r\n6\r\n[[1]]}\r\n0\r\nT: 1\r\n\r\n", 200, OPEN},
        {"chunk extension", ASK "Transfer-Encoding: chunked\r\n\r\nb;a=b\r\n" SMALL "\r\n0\r\n\r\n", 200, OPEN},
        {"chunked in capitals", ASK "Transfer-Encoding: CHUNKED\r\n\r\nb\r\n" SMALL "\r\n0\r\n\r\n", 200, OPEN},
        {"empty body", ASK "Content-Length: 0\r\n\r\n", 400, OPEN},
        {"not JSON", ASK "Content-Length: 3\r\n\r\nabc", 400, OPEN},
        {"text/csv", ASK "Content-Type: text/csv\r\nContent-Length: 11\r\n\r\n" SMALL, 415, OPEN},
        {"curl's form type", ASK "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 11\r\n\r\n" SMALL,
         200, OPEN},
        {"two codings", ASK "Content-Encoding: gzip\r\nContent-Encoding: gzip\r\nContent-Length: 11\r\n\r\n" SMALL, 415,
         OPEN},
        {"unknown coding", ASK "Content-Encoding: br\r\nContent-Length: 11\r\n\r\n" SMALL, 415, OPEN},
        {"said to be gzip", ASK "Content-Encoding: gzip\r\nContent-Length: 11\r\n\r\n" SMALL, 400, OPEN},
        {"identity", ASK "Content-Encoding: identity\r\nContent-Length: 11\r\n\r\n" SMALL, 200, OPEN},
        {"too long", ASK "Content-Length: 99999999999\r\n\r\n", 413, CLOSED},
    };
    bool newer = library_is_newer();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check(&rows[i], newer);
}

/* A whole problem document with the headers of every answer, that announces the end of the connection. */
static bool is_refusal(const struct answer *answer, const char *code) {
    static const char *const headers[][2] = {
        {"Content-Type", "application/problem+json"}, {"Connection", "close"}, {"Cache-Control", "no-store"},
        {"X-Content-Type-Options", "nosniff"},        {"X-Request-Id", NULL},  {"Content-Security-Policy", NULL},
        {"Referrer-Policy", "no-referrer"},
    };
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        const char *value = answer_header(answer, headers[i][0]);
        if (!value || (headers[i][1] && strcmp(value, headers[i][1]) != 0))
            return false;
    }
    char type[64];
    snprintf(type, sizeof type, "\"/problems#%s\"", code);
    return answer->body && strstr(answer->body, type) && strcmp(answer->body + answer->body_size - 2, "}\n") == 0;
}

/* Whatever libmicrohttpd refuses by itself is answered by one whole problem document, after which the connection is
 * closed, without a reset. */
static void check_refusal(const char *what, const char *request, int status, const char *code) {
    struct client client;
    struct answer answer;
    cr_assert(client_open(&client, server.port));
    client_say(&client, request);
    client_receive(&client, &answer, 5000, false);
    cr_expect_eq(answer.status, status, "%s: status %d instead of %d", what, answer.status, status);
    cr_expect(is_refusal(&answer, code), "%s: %s%s", what, answer.head, answer.body);
    cr_expect(client_is_closed(&client, 1000) && !client.reset, "%s: open, reset, or more was sent", what);
    answer_free(&answer);
    client_close(&client);
}

#define CHUNKED ASK "Transfer-Encoding: chunked\r\n\r\n"

Test(http, refused_by_the_library) {
    static const struct {
        const char *request;
        int status;
        const char *code;
    } rows[] = {
        {"GET /\r\n\r\n", 400, "bad_request"},
        {"GET /health/live HTTX/1.1\r\nHost: a\r\n\r\n", 400, "bad_request"},
        {"GET /health/live http/1.1\r\nHost: a\r\n\r\n", 400, "bad_request"},
        {"GET /health/live HTTP/2.0\r\nHost: a\r\n\r\n", 505, "http_version"},
        {"GET /health/live HTTP/0.9\r\nHost: a\r\n\r\n", 505, "http_version"},
        {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505, "http_version"},
        {"GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", 400, "bad_request"},
        {"GET  /health/live HTTP/1.1\r\nHost: a\r\n\r\n", 400, "bad_request"},
        {"GET /a\rb HTTP/1.1\r\nHost: a\r\n\r\n", 400, "bad_request"},
        {"GET /health/live HTTP/1.1\r\n\r\n", 400, "bad_request"},
        {LIVE ": a\r\n\r\n", 400, "bad_request"},
        {LIVE "Thing\r\n\r\n", 400, "bad_request"},
        {LIVE "Thing\r\nHost: b\r\nTransfer-Encoding: x\r\n\r\n", 400, "bad_request"},
        {ASK "Content-Length: -1\r\n\r\n", 400, "bad_request"},
        {ASK "Content-Length: 1x\r\n\r\n", 400, "bad_request"},
        {ASK "Content-Length: 11, 11\r\n\r\n" SMALL, 400, "bad_request"},
        {ASK "Content-Length:\r\n\r\n", 400, "bad_request"},
        {ASK "Content-Length: 99999999999999999999999\r\n\r\n", 413, "body_too_large"},
        {ASK "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400, "bad_request"},
        {ASK "Transfer-Encoding: xchunked\r\n\r\n", 501, "not_implemented"},
        {CHUNKED "xyz\r\n", 400, "bad_request"},
        {CHUNKED "-1\r\n", 400, "bad_request"},
        {CHUNKED "fffffffffffffffff\r\n", 413, "body_too_large"},
        {CHUNKED "a\r\n" SMALL "\r\n0\r\n\r\n", 400, "bad_request"},
        {CHUNKED "b\r\n" SMALL "\r\n0\r\nThing\r\n\r\n", 400, "bad_request"},
        {"POST /nothing HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", 404, "not_found"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check_refusal(rows[i].request, rows[i].request, rows[i].status, rows[i].code);
}

static char *repeated(const char *before, char c, size_t n, const char *after) {
    char *text = malloc(strlen(before) + n + strlen(after) + 1);
    char *out = stpcpy(text, before);
    memset(out, c, n);
    strcpy(out + n, after);
    return text;
}

/* What fills the memory of a connection, in every place of a request. The query is nobody's business here. */
Test(http, refused_for_their_size) {
    static const struct {
        const char *what, *before, *repeated, *after;
        size_t times;
        int status;
        const char *code;
    } rows[] = {
        {"target", "GET /", "a", " HTTP/1.1\r\nHost: a\r\n\r\n", 40000, 414, "uri_too_long"},
        {"query", "GET /?", "a", " HTTP/1.1\r\nHost: a\r\n\r\n", 40000, 414, "uri_too_long"},
        {"arguments", "GET /nothing?", "a&", "\r HTTP/1.1\r\nHost: a\r\n\r\n", 3000, 400, "bad_request"},
        {"name", LIVE, "a", ": b\r\n\r\n", 40000, 431, "headers_too_large"},
        {"value", LIVE "Thing: ", "a", "\r\n\r\n", 300000, 431, "headers_too_large"},
        {"lines", LIVE, "A: 1\r\n", "\r\n", 2000, 431, "headers_too_large"},
        {"cookies", LIVE "Cookie: ", "a=b; ", "\r\n\r\n", 3000, 431, "headers_too_large"},
        {"size of a chunk", CHUNKED, "0", "\r\n", 50000, 413, "body_too_large"},
        {"chunk extension", CHUNKED "b;", "a", "\r\n" SMALL, 50000, 413, "body_too_large"},
        {"trailer", CHUNKED "b\r\n" SMALL "\r\n0\r\nT: ", "a", "\r\n\r\n", 50000, 431, "headers_too_large"},
        {"trailers", CHUNKED "b\r\n" SMALL "\r\n0\r\n", "A: 1\r\n", "\r\n", 20000, 431, "headers_too_large"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *text = malloc(512 + rows[i].times * strlen(rows[i].repeated)), *out = stpcpy(text, rows[i].before);
        for (size_t j = 0; j < rows[i].times; j++)
            out = stpcpy(out, rows[i].repeated);
        strcpy(out, rows[i].after);
        check_refusal(rows[i].what, text, rows[i].status, rows[i].code);
        free(text);
    }
    struct answer answer;
    exchange(server.port, "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n", &answer);
    cr_expect_not_null(strstr(answer.body, "\ndikkat_requests_in_flight 1\n"), "some are counted for ever");
    answer_free(&answer);
}

/* The announced length of a body that nobody reads is believed no more than any other. */
Test(http, options_with_an_endless_body) {
    check_refusal("OPTIONS", "OPTIONS /mha HTTP/1.1\r\nHost: a\r\nContent-Length: 1125899906842624\r\n\r\n ", 413,
                  "body_too_large");
}

/* Only what is no HTTP at all gets no answer: the library closes without asking. */
Test(http, noise_is_closed_without_an_answer) {
    static const char *const rows[] = {"GET\r\n\r\n", " GET / HTTP/1.1\r\nHost: a\r\n\r\n", "\x16\x03\x01\r\n\r\n"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct answer answer;
        cr_expect_eq(exchange(server.port, rows[i], &answer), 0);
        answer_free(&answer);
    }
}

Test(http, too_long_heads) {
    struct answer answer;
    char *target = repeated("GET /", 'a', 9000, " HTTP/1.1\r\nHost: a\r\n\r\n");
    cr_expect_eq(exchange(server.port, target, &answer), 414);
    answer_free(&answer);
    char *header = repeated(LIVE "Thing: ", 'a', 17000, "\r\n\r\n");
    cr_expect_eq(exchange(server.port, header, &answer), 431);
    answer_free(&answer);
    char *endless = repeated(LIVE "Thing: ", 'a', 300000, "\r\n\r\n");
    cr_expect_eq(exchange(server.port, endless, &answer), 431);
    answer_free(&answer);
    char *many = malloc(8192), *out = stpcpy(many, LIVE);
    for (int i = 0; i < 150; i++)
        out += sprintf(out, "A%d: 1\r\n", i);
    strcpy(out, "\r\n");
    cr_expect_eq(exchange(server.port, many, &answer), 431);
    answer_free(&answer);
    free(target);
    free(header);
    free(endless);
    free(many);
}

Test(http, continue_is_said_only_when_wanted) {
    struct client client;
    struct answer answer;
    cr_assert(client_open(&client, server.port));
    client_say(&client, ASK "Expect: 100-continue\r\nContent-Length: 11\r\n\r\n");
    while (client.size < 25)
        cr_assert_not(client_is_closed(&client, 2000));
    cr_expect(strncmp(client.text, "HTTP/1.1 100 ", 13) == 0);
    client_say(&client, SMALL);
    cr_expect_eq(client_receive(&client, &answer, 5000, false), 200);
    cr_expect_eq(answer.interim, 1);
    answer_free(&answer);
    client_close(&client);

    cr_expect_eq(exchange(server.port, ASK "Expect: 100-continue\r\nContent-Length: 99999999999\r\n\r\n", &answer),
                 413);
    cr_expect_eq(answer.interim, 0);
    answer_free(&answer);
    cr_expect_eq(exchange(server.port,
                          "POST /none HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 11\r\n\r\n",
                          &answer),
                 404);
    cr_expect_eq(answer.interim, 0);
    answer_free(&answer);
}

Test(http, pipelined_answers_come_in_order) {
    struct client client;
    struct answer answer;
    size_t size;
    char head[256], *body = attention_body(700, 64, &size); /* large enough for a worker */
    cr_assert(client_open(&client, server.port));
    snprintf(head, sizeof head, ASK "X-Request-Id: 0\r\nContent-Length: %zu\r\n\r\n", size);
    client_say(&client, head);
    client_send(&client, body, size);
    for (int i = 1; i < 20; i++) {
        snprintf(head, sizeof head, "%sX-Request-Id: %d\r\nContent-Length: 11\r\n\r\n" SMALL, ASK, i);
        client_say(&client, head);
    }
    for (int i = 0; i < 20; i++) {
        char id[16];
        snprintf(id, sizeof id, "%d", i);
        cr_assert_eq(client_receive(&client, &answer, 10000, false), 200);
        cr_assert_str_eq(answer_header(&answer, "X-Request-Id"), id);
        answer_free(&answer);
    }
    client_close(&client);
    free(body);
}

/* A client that stops sending still gets its answer, whether it is computed at once or by a worker. */
Test(http, half_closed_clients_are_answered) {
    for (int large = 0; large < 2; large++) {
        struct client client;
        struct answer answer;
        size_t size;
        char head[256], *body = attention_body(large ? 1500 : 2, large ? 64 : 2, &size);
        cr_assert(client_open(&client, server.port));
        snprintf(head, sizeof head, ASK "Content-Length: %zu\r\n\r\n", size);
        client_say(&client, head);
        client_send(&client, body, size);
        shutdown(client.fd, SHUT_WR);
        client_receive(&client, &answer, 10000, false);
        cr_expect_eq(answer.status, 200, "%s: status %d, %s", large ? "large" : "small", answer.status,
                     client.reset   ? "reset"
                     : client.ended ? "closed"
                                    : "open");
        answer_free(&answer);
        client_close(&client);
        free(body);
    }
}

Test(http, a_long_refused_upload_can_read_its_answer) {
    struct answer answer;
    size_t size = 80u << 20;
    char *body = calloc(1, size);
    cr_expect_eq(post(server.port, "/mha", NULL, body, size, &answer), 413);
    cr_expect_not_null(answer_header(&answer, "Connection"));
    answer_free(&answer);
    cr_expect_eq(post(server.port, "/nothing", NULL, body, 8u << 20, &answer), 404);
    answer_free(&answer);

    /* The same without a length: refused when the limit is passed. */
    struct client client;
    char chunk[32];
    cr_assert(client_open(&client, server.port));
    client_say(&client, ASK "Transfer-Encoding: chunked\r\n\r\n");
    snprintf(chunk, sizeof chunk, "%zx\r\n", size);
    client_say(&client, chunk);
    client_send(&client, body, size);
    cr_expect_eq(client_receive(&client, &answer, 5000, false), 413);
    answer_free(&answer);
    client_close(&client);
    free(body);
}

Test(http, every_answer_carries_the_security_headers) {
    static const char *const requests[] = {LIVE "\r\n", "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
                                           "GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n", LIVE "Host: b\r\n\r\n",
                                           ASK "Content-Length: 11\r\n\r\n" SMALL};
    static const char *const names[] = {"X-Content-Type-Options", "Content-Security-Policy",
                                        "Referrer-Policy",        "Cache-Control",
                                        "X-Request-Id",           "Server-Timing"};
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        struct answer answer;
        cr_assert_neq(exchange(server.port, requests[i], &answer), 0);
        for (size_t j = 0; j < sizeof names / sizeof *names; j++)
            cr_expect_not_null(answer_header(&answer, names[j]), "%s: no %s", requests[i], names[j]);
        answer_free(&answer);
    }
}

Test(http, names_are_taken_or_made) {
    struct answer answer;
    exchange(server.port,
             LIVE "X-Request-Id: my-id\r\ntraceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n\r\n",
             &answer);
    cr_expect_str_eq(answer_header(&answer, "X-Request-Id"), "my-id");
    cr_expect(strncmp(answer_header(&answer, "traceparent"), "00-0af7651916cd43dd8448eb211c80319c-", 36) == 0);
    answer_free(&answer);
    exchange(server.port, LIVE "\r\n", &answer);
    cr_expect_eq(strlen(answer_header(&answer, "X-Request-Id")), 32);
    cr_expect_eq(strlen(answer_header(&answer, "traceparent")), 55);
    answer_free(&answer);
}

Test(http, allow_and_accept_say_what_is_possible) {
    struct answer answer;
    exchange(server.port, "GET /mha HTTP/1.1\r\nHost: a\r\n\r\n", &answer);
    cr_expect_str_eq(answer_header(&answer, "Allow"), "POST, OPTIONS");
    answer_free(&answer);
    exchange(server.port, "OPTIONS /health/live HTTP/1.1\r\nHost: a\r\n\r\n", &answer);
    cr_expect_str_eq(answer_header(&answer, "Allow"), "GET, HEAD, OPTIONS");
    answer_free(&answer);
    exchange(server.port, ASK "Content-Encoding: br\r\nContent-Length: 0\r\n\r\n", &answer);
    cr_expect_str_eq(answer_header(&answer, "Accept-Encoding"), "gzip, deflate");
    answer_free(&answer);
    exchange(server.port, ASK "Content-Type: text/csv\r\nContent-Length: 11\r\n\r\n" SMALL, &answer);
    cr_expect_str_eq(answer_header(&answer, "Accept"), "application/json");
    answer_free(&answer);
}

Test(http, documents_are_tagged_and_packed) {
    static const char *const paths[] = {"/",         "/page.js",      "/draw.js",      "/locate.js",
                                        "/page.css", "/openapi.yaml", "/openapi.json", "/problems"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        char request[512], tag[64];
        struct answer answer, packed;
        snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: a\r\n\r\n", paths[i]);
        cr_assert_eq(exchange(server.port, request, &answer), 200);
        cr_assert_not_null(answer_header(&answer, "ETag"));
        snprintf(tag, sizeof tag, "%s", answer_header(&answer, "ETag"));
        snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: a\r\nIf-None-Match: %s\r\n\r\n", paths[i], tag);
        cr_expect_eq(exchange(server.port, request, &packed), 304);
        cr_expect_str_eq(answer_header(&packed, "ETag"), tag);
        answer_free(&packed);
        snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n", paths[i]);
        cr_assert_eq(exchange(server.port, request, &packed), 200);
        cr_expect_str_eq(answer_header(&packed, "Content-Encoding"), "gzip");
        cr_expect_lt(packed.body_size, answer.body_size);
        cr_expect_str_neq(answer_header(&packed, "ETag"), tag);
        answer_free(&packed);
        snprintf(request, sizeof request, "HEAD %s HTTP/1.1\r\nHost: a\r\n\r\n", paths[i]);
        cr_assert_eq(exchange(server.port, request, &packed), 200);
        cr_expect_eq((size_t)atoll(answer_header(&packed, "Content-Length")), answer.body_size);
        answer_free(&packed);
        answer_free(&answer);
    }
}

/* identity;q=0 is taken at its word: packed however small, or 406 when nothing that is left can be made. */
Test(http, identity_can_be_refused) {
    static const struct {
        const char *request;
        int status;
        const char *coding;
    } rows[] = {
        {LIVE "Accept-Encoding: identity;q=0\r\n\r\n", 406, NULL},
        {LIVE "Accept-Encoding: *;q=0\r\n\r\n", 406, NULL},
        {"GET / HTTP/1.1\r\nHost: a\r\nAccept-Encoding: br, *;q=0\r\n\r\n", 406, NULL},
        {ASK "Accept-Encoding: br, identity;q=0\r\nContent-Length: 11\r\n\r\n" SMALL, 406, NULL},
        {ASK "Accept-Encoding: gzip, identity;q=0\r\nContent-Length: 11\r\n\r\n" SMALL, 200, "gzip"},
        {ASK "Accept-Encoding: deflate, identity;q=0\r\nContent-Length: 11\r\n\r\n" SMALL, 200, "deflate"},
        {ASK "Accept-Encoding: deflate, *;q=0\r\nContent-Length: 3\r\n\r\nabc", 400, "deflate"},
        {LIVE "Accept-Encoding: gzip, identity;q=0\r\n\r\n", 200, "gzip"},
        {LIVE "Accept-Encoding: gzip\r\n\r\n", 200, NULL},
        {LIVE "Accept-Encoding: br\r\n\r\n", 200, NULL},
        {"OPTIONS /mha HTTP/1.1\r\nHost: a\r\nAccept-Encoding: identity;q=0\r\n\r\n", 204, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct answer answer;
        cr_expect_eq(exchange(server.port, rows[i].request, &answer), rows[i].status, "%s: %d", rows[i].request,
                     answer.status);
        const char *coding = answer_header(&answer, "Content-Encoding");
        cr_expect(!coding == !rows[i].coding && (!coding || strcmp(coding, rows[i].coding) == 0), "%s: %s",
                  rows[i].request, coding);
        cr_expect(answer.status != 406 || strstr(answer.body, "\"/problems#not_acceptable\""));
        answer_free(&answer);
    }
}

Test(http, every_problem_has_an_entry) {
    struct answer page, answer;
    exchange(server.port, "GET /problems HTTP/1.1\r\nHost: a\r\n\r\n", &page);
    exchange(server.port, "GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n", &answer);
    cr_assert_not_null(strstr(answer.body, "\"/problems#not_found\""));
    cr_expect_not_null(strstr(page.body, "id=\"not_found\""));
    answer_free(&page);
    answer_free(&answer);
}

/* A path or a method that is not there leads to the one that is. */
Test(http, wrong_paths_and_methods_have_hints) {
    static const struct {
        const char *request, *says;
    } rows[] = {{"GET /health HTTP/1.1\r\nHost: a\r\n\r\n", "\"hint\":\"Did you mean /health/live?\""},
                {"GET /docs HTTP/1.1\r\nHost: a\r\n\r\n", "\"hint\":\"Did you mean /openapi.yaml?\""},
                {"GET /v1/mha HTTP/1.1\r\nHost: a\r\n\r\n", "\"hint\":\"Did you mean /mha?\""},
                {"POST /Attention/ HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}", "Did you mean /attention?"},
                {"GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n", "GET /openapi.yaml describes every path"},
                {"GET /examples/mha_causal HTTP/1.1\r\nHost: a\r\n\r\n", "Did you mean \\\"mha-causal\\\"?"},
                {"GET /mha HTTP/1.1\r\nHost: a\r\n\r\n", "/mha takes POST, OPTIONS."},
                {"GET /mha HTTP/1.1\r\nHost: a\r\n\r\n", "as the body of a POST"},
                {"POST /mha HTTP/1.1\r\nHost: a\r\n\r\n", "Was the body forgotten?"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct answer answer;
        exchange(server.port, rows[i].request, &answer);
        cr_expect_not_null(strstr(answer.body, rows[i].says), "%s: %s", rows[i].request, answer.body);
        answer_free(&answer);
    }
}
