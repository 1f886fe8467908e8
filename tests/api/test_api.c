/* test_api.c - api_handle around the endpoints: routes, methods, ?pretty, limits, deferral, memory, stopping. */
#include "api/endpoints.h"
#include "tests/api/call.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define BODY "{\"ids\":[2,0],\"table\":[[1,2],[3,4],[5,6]],\"return\":[\"output\"]}"

static struct call ask(const struct api_env *env, const char *query) {
    struct api_request request = {
        .method = "POST", .path = "/embed", .query = query, .body = BODY, .body_size = sizeof BODY - 1};
    struct call answer = {0};
    api_handle(env, &request, &answer.response);
    return answer;
}

Test(api, methods) {
    static const struct {
        const char *method, *path;
        int status;
        const char *allow, *code;
    } cases[] = {
        {"GET", "/version", 200, NULL, NULL},
        {"HEAD", "/version", 200, NULL, NULL},
        {"OPTIONS", "/version", 204, "GET, HEAD, OPTIONS", NULL},
        {"POST", "/version", 405, "GET, HEAD, OPTIONS", "method_not_allowed"},
        {"GET", "/embed", 405, "POST, OPTIONS", "method_not_allowed"},
        {"HEAD", "/embed", 405, "POST, OPTIONS", "method_not_allowed"},
        {"PUT", "/mha", 405, "POST, OPTIONS", "method_not_allowed"},
        {"DELETE", "/attention", 405, "POST, OPTIONS", "method_not_allowed"},
        {"OPTIONS", "/lookup", 204, "POST, OPTIONS", NULL},
        {"GET", "/nothing", 404, NULL, "not_found"},
        {"OPTIONS", "/nothing", 404, NULL, "not_found"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct call got = call(cases[i].method, cases[i].path, NULL);
        const char *allow = got.response.allow ? got.response.allow : "",
                   *code = got.response.code ? got.response.code : "";
        cr_expect_eq(got.response.status, cases[i].status, "row %zu: %d", i, got.response.status);
        cr_expect_str_eq(allow, cases[i].allow ? cases[i].allow : "", "row %zu", i);
        cr_expect_str_eq(code, cases[i].code ? cases[i].code : "", "row %zu", i);
        cr_expect_eq(got.response.body != NULL, got.response.status != 204, "row %zu", i);
        call_free(&got);
    }
}

Test(api, routes_are_listed) {
    size_t n = 0;
    for (; api_route(n).method; n++) {
        struct call got = call("OPTIONS", api_route(n).path, NULL);
        cr_expect_eq(got.response.status, 204, "%s", api_route(n).path);
        cr_expect_str_eq(got.response.route, api_route(n).path);
        cr_expect(strstr(got.response.allow, api_route(n).method), "%s", api_route(n).path);
        call_free(&got);
    }
    cr_expect_geq(n, 5u);
    cr_expect_null(api_endpoint_at(n));
}

Test(api, version) {
    struct call got = call("GET", "/version", NULL);
    cr_expect_str_eq(got.response.body, "{\"version\":\"test\"}\n");
    call_free(&got);
    struct api_env env = {.limits = api_limits_default()};
    got = call_bytes(&env, "GET", "/version", NULL, 0);
    cr_expect_str_eq(got.response.body, "{}\n");
    call_free(&got);
}

Test(api, pretty) {
    static const struct {
        const char *query;
        bool pretty;
    } cases[] = {{NULL, false},           {"", false},           {"pretty", true},
                 {"pretty=1", true},      {"pretty=true", true}, {"pretty=0", false},
                 {"pretty=false", false}, {"a=b&pretty", true},  {"pretty&a=b", true},
                 {"prettyprint", false},  {"a=pretty", false},   {"pretty=", true}};
    struct api_env env = call_env();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct call got = ask(&env, cases[i].query);
        cr_expect_eq(strncmp(got.response.body, "{\n  \"output\"", 12) == 0, cases[i].pretty, "%s", cases[i].query);
        call_free(&got);
    }
}

Test(api, deferral) {
    struct api_env env = call_env();
    env.inline_cost = 100; /* 8 numbers read, 8 written at most: 16 each, and 4 products */
    struct call got = ask(&env, NULL);
    cr_expect(got.response.deferred && !got.response.body && !got.response.code);
    cr_expect_gt(got.response.estimate, env.inline_cost);
    call_free(&got);
    env.inline_cost = 1000;
    got = ask(&env, NULL);
    cr_expect(!got.response.deferred && got.response.status == 200);
    call_free(&got);
    /* A long body is dear before it is read, whatever it says. */
    env.inline_cost = 100;
    char blanks[300];
    memset(blanks, ' ', sizeof blanks);
    got = call_bytes(&env, "POST", "/embed", blanks, sizeof blanks);
    cr_expect(got.response.deferred && !got.response.body && got.response.estimate > env.inline_cost);
    call_free(&got);
    /* A refusal is an answer, however dear the request would be. */
    env.inline_cost = 100;
    got = call_bytes(&env, "POST", "/embed", "{\"idz\":[1]}", 11);
    cr_expect(!got.response.deferred && got.response.status == 422);
    call_free(&got);
}

static bool count_bytes(void *ctx, size_t bytes) {
    *(size_t *)ctx += bytes;
    return true;
}

static bool deny(void *ctx, size_t bytes) {
    (void)bytes;
    (*(size_t *)ctx)++;
    return false;
}

Test(api, memory_is_asked_for_once) {
    size_t asked = 0;
    struct api_env env = call_env();
    env.reserve = count_bytes;
    env.reserve_ctx = &asked;
    struct call got = ask(&env, NULL);
    cr_expect_eq(got.response.status, 200);
    cr_expect(asked > 0 && asked < 100000);
    call_free(&got);
    asked = 0;
    env.reserve = deny;
    got = ask(&env, NULL);
    cr_expect_eq(asked, 1u);
    cr_expect_eq(got.response.status, 503);
    cr_expect_str_eq(got.response.code, "memory_budget");
    cr_expect_gt(got.response.retry_after_s, 0u);
    call_free(&got);
}

static bool stop(void *ctx) {
    (void)ctx;
    return true;
}

Test(api, stopped) {
    struct attn_exec exec = {.slots = 1, .stop = stop};
    struct api_env env = call_env();
    env.exec = &exec;
    static const char body[] =
        "{\"x\":{\"eye\":4},\"num_heads\":2,\"random\":{\"seed\":0,\"draws\":[{\"into\":[\"wq\",\"wk\","
        "\"wv\",\"wo\"],\"shape\":[4,4]}]}}";
    struct call got = call_bytes(&env, "POST", "/mha", body, sizeof body - 1);
    cr_expect_eq(got.response.status, 503);
    cr_expect_str_eq(got.response.code, "stopped");
    call_free(&got);
}

static bool stop_after(void *ctx) {
    size_t *left = ctx;
    return *left == 0 || --*left == 0;
}

/* A list of numbers, a long string, and the answer, each megabytes long: all along it is asked whether to stop, and
 * wherever that is, the answer is 503. */
Test(api, stopped_while_reading_and_writing) {
    enum { IDS = 1 << 20, NAME = 4 << 20 };
    struct api_env env = call_env();
    char *body = malloc(2 * IDS + NAME + 200), *out = body;
    out += sprintf(out, "{\"random\":{\"seed\":0,\"draws\":[{\"into\":[\"table\"],\"shape\":[2,2]}]},\"ids\":[1");
    for (size_t i = 1; i < IDS; i++)
        out = stpcpy(out, ",1");
    out += sprintf(out, "],\"vocab\":{\"");
    memset(out, 'x', NAME);
    out += NAME;
    out += sprintf(out, "\":1}}");
    size_t size = (size_t)(out - body), left = SIZE_MAX, looks;
    struct attn_exec exec = {.slots = 1, .stop = stop_after, .ctx = &left};
    env.exec = &exec;
    env.limits = (struct api_limits){0};
    struct call got = call_bytes(&env, "POST", "/embed", body, size);
    looks = SIZE_MAX - left;
    cr_assert_eq(got.response.status, 200, "%.300s", got.response.body);
    call_free(&got);
    cr_expect_gt(looks, 8 + 64 + 256, "asked %zu times only", looks);
    for (size_t i = 1; i < looks; i += 1 + looks / 40) {
        left = i;
        got = call_bytes(&env, "POST", "/embed", body, size);
        cr_assert(got.response.status == 503 && strcmp(got.response.code, "stopped") == 0, "look %zu of %zu: %d %s", i,
                  looks, got.response.status, got.response.code);
        call_free(&got);
    }
    free(body);
}

Test(api, counts_what_it_did) {
    struct api_env env = call_env();
    struct call got = ask(&env, NULL);
    cr_expect_eq(got.response.numbers_in, 8u);
    cr_expect_eq(got.response.numbers_out, 4u, "%lu", got.response.numbers_out);
    cr_expect_gt(got.response.multiply_adds, 0.0);
    cr_expect_str_eq(got.response.content_type, "application/json");
    call_free(&got);
}

/* Shapes that cost next to nothing to send are refused before memory is taken for them, whatever the limits. */
Test(api, vast_shapes) {
    static const char *const bodies[] = {
        "{\"x\":{\"eye\":1048576},\"wq\":{\"eye\":1048576},\"wk\":{\"eye\":1048576},\"wv\":{\"eye\":1048576},"
        "\"wo\":{\"eye\":1048576},\"num_heads\":1048576}",
        "{\"x\":{\"eye\":20000},\"wq\":{\"eye\":20000},\"wk\":{\"eye\":20000},\"wv\":{\"eye\":20000},"
        "\"wo\":{\"eye\":20000},\"num_heads\":1}",
        "{\"num_heads\":1,\"random\":{\"seed\":0,\"draws\":[{\"into\":[\"x\"],\"shape\":[1099511627776,1]},{\"into\":"
        "[\"wq\",\"wk\",\"wv\",\"wo\"],\"shape\":[1,1]}]}}",
        "{\"num_heads\":1,\"random\":{\"seed\":0,\"draws\":[{\"into\":[\"x\",\"wq\",\"wk\",\"wv\",\"wo\"],\"shape\":"
        "[1048576,1048576]}]}}"};
    static const struct api_limits limits[] = {{.memory_bytes = 1 << 28},
                                               {.multiply_adds = 1e9, .memory_bytes = 1 << 28}};
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++)
        for (size_t j = 0; j < sizeof limits / sizeof *limits; j++) {
            size_t asked = 0;
            struct api_env env = {.limits = limits[j], .reserve = count_bytes, .reserve_ctx = &asked};
            struct call got = call_bytes(&env, "POST", "/mha", bodies[i], strlen(bodies[i]));
            cr_expect_eq(got.response.status, 413, "%s: %s", bodies[i], got.response.body);
            cr_expect_eq(asked, 0u);
            call_free(&got);
        }
}

/* Without any limit a request is answered all the same. */
Test(api, zero_is_no_limit) {
    struct api_env env = {.limits = {0}};
    struct call got = ask(&env, NULL);
    cr_expect_eq(got.response.status, 200);
    call_free(&got);
}
