/* test_cors - the headers for listed origins, for all, for none, and for those not listed. */
#include "server/cors.h"

#include <criterion/criterion.h>
#include <string.h>

static char message[SRV_MESSAGE_MAX];
static struct srv_cors_header headers[SRV_CORS_HEADERS];

static const char *value(size_t count, const char *name) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(headers[i].name, name) == 0)
            return headers[i].value;
    return NULL;
}

static const char list[] = "https://a.example, http://localhost:3000,http://[::1]:8080";

Test(cors, a_listed_origin_is_named) {
    struct srv_cors *cors = srv_cors_open(list, message);
    cr_assert(cors, "%s", message);
    const char *origins[] = {"https://a.example", "http://localhost:3000", "http://[::1]:8080", "https://A.example"};
    for (size_t i = 0; i < 4; i++) {
        size_t n = srv_cors_answer(cors, origins[i], headers);
        cr_assert(strcasecmp(value(n, "Access-Control-Allow-Origin"), origins[i]) == 0);
        cr_assert(strstr(value(n, "Access-Control-Expose-Headers"), "Retry-After, ETag, X-Request-Id, Server-Timing"));
        cr_assert_str_eq(value(n, "Vary"), "Origin");
    }
    srv_cors_free(cors);
}

Test(cors, others_get_vary_only) {
    struct srv_cors *cors = srv_cors_open(list, message);
    const char *origins[] = {NULL,   "",  "https://b.example", "https://a.example.evil", "https://a.example:8443",
                             "null", "*", "http://a.example",  "https://a.exampl",       "https://a.example/"};
    for (size_t i = 0; i < sizeof origins / sizeof *origins; i++) {
        cr_assert_eq(srv_cors_answer(cors, origins[i], headers), 1, "%s", origins[i]);
        cr_assert_str_eq(headers[0].name, "Vary");
        cr_assert_eq(srv_cors_preflight(cors, origins[i], "POST, OPTIONS", headers), 1, "%s", origins[i]);
        cr_assert_str_eq(headers[0].name, "Vary");
    }
    srv_cors_free(cors);
}

Test(cors, preflight) {
    struct srv_cors *cors = srv_cors_open(list, message);
    size_t n = srv_cors_preflight(cors, "https://a.example", "POST, OPTIONS", headers);
    cr_assert(n <= SRV_CORS_HEADERS);
    cr_assert_str_eq(value(n, "Access-Control-Allow-Origin"), "https://a.example");
    cr_assert_str_eq(value(n, "Access-Control-Allow-Methods"), "POST, OPTIONS");
    const char *allowed = value(n, "Access-Control-Allow-Headers");
    cr_assert(strstr(allowed, "Authorization") && strstr(allowed, "Content-Type") && strstr(allowed, "traceparent"));
    cr_assert(atoi(value(n, "Access-Control-Max-Age")) > 0);
    cr_assert(strstr(value(n, "Vary"), "Origin"));
    cr_assert(srv_cors_is_preflight("OPTIONS", "https://x", "POST"));
    cr_assert(!srv_cors_is_preflight("OPTIONS", NULL, "POST"));
    cr_assert(!srv_cors_is_preflight("OPTIONS", "https://x", NULL));
    cr_assert(!srv_cors_is_preflight("POST", "https://x", "POST"));
    srv_cors_free(cors);
}

Test(cors, star_allows_all_and_does_not_vary) {
    struct srv_cors *cors = srv_cors_open(" * ", message);
    cr_assert(cors, "%s", message);
    size_t n = srv_cors_answer(cors, "https://anything.example", headers);
    cr_assert_str_eq(value(n, "Access-Control-Allow-Origin"), "*");
    cr_assert_null(value(n, "Vary"));
    cr_assert_eq(srv_cors_answer(cors, NULL, headers), 0);
    n = srv_cors_preflight(cors, "null", "GET", headers);
    cr_assert_str_eq(value(n, "Access-Control-Allow-Origin"), "*");
    srv_cors_free(cors);
}

Test(cors, off_adds_nothing) {
    struct srv_cors *cors = srv_cors_open("", message);
    cr_assert(cors);
    cr_assert_eq(srv_cors_answer(cors, "https://a.example", headers), 0);
    cr_assert_eq(srv_cors_preflight(cors, "https://a.example", "GET", headers), 0);
    cr_assert_eq(srv_cors_answer(NULL, "https://a.example", headers), 0);
    srv_cors_free(cors);
}

Test(cors, malformed_lists_are_refused) {
    const char *lists[] = {"a.example",      "https://a.example/", "https://a.example/x", "https://",         "://x",
                           "https:/a",       "https://a b://",     "https://a,b",         "https://a?",       "null",
                           "https://u@host", "*.example",          "https://*.example",   "https://a\r\nX: y"};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        cr_assert_null(srv_cors_open(lists[i], message), "%s", lists[i]);
        cr_assert(strstr(message, "is not an origin"), "%s", message);
    }
    char many[300 * 12 + 1] = "";
    for (int i = 0; i < 300; i++)
        strcat(many, "https://abc,");
    cr_assert_null(srv_cors_open(many, message));
}
