/* test_nth_allocation.c - memory runs out at every place where it can, for every n and every golden request.
 *
 * An answer with status 200 is the one that is given with enough memory. Anything else is a well-formed problem
 * document, or 503 without a body when even that found no memory. Nothing leaks.
 */
#include "tests/api/call.h"
#include "tests/api/fault.h"
#include "tests/api/golden.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ALLOCATIONS = 2000, LARGE_ROWS = 20000 };

/* struct good - a request and its answer. */
struct good {
    struct api_env env;
    struct api_request request;
    struct api_response response;
};

static bool is_acceptable(const struct good *good, const struct api_response *response) {
    if (response->status == 200)
        return response->body && response->body_size == good->response.body_size &&
               memcmp(response->body, good->response.body, response->body_size) == 0;
    if (!response->body)
        return response->status == 503 && response->body_size == 0;
    json_t *problem = json_loadb(response->body, response->body_size, 0, NULL);
    const char *code = json_string_value(json_object_get(problem, "code"));
    bool formed = code && response->code && strcmp(code, response->code) == 0 && response->status >= 413 &&
                  json_integer_value(json_object_get(problem, "status")) == response->status;
    json_decref(problem);
    return formed;
}

/* Fails allocation n, and all after it if `onward`. Returns false when there is no allocation n. */
static bool run(const struct good *good, unsigned n, bool onward, const char *name) {
    struct api_response response;
    fault_arm(n, onward);
    api_handle(&good->env, &good->request, &response);
    bool fired = fault_disarm();
    cr_assert(is_acceptable(good, &response), "%s: allocation %u: %d %s", name, n, response.status,
              response.body ? response.body : "");
    long own = response.body != NULL;
    cr_assert_eq(fault_live(), own, "%s: allocation %u: %ld allocations left", name, n, fault_live() - own);
    api_response_free(&response);
    return fired;
}

/* Every n for one request. Returns how many allocations it makes. */
static unsigned run_all(const char *name, const char *method, const char *path, const char *body, size_t size) {
    struct good good = {.env = call_env(),
                        .request = {.method = method, .path = path, .body = body, .body_size = size}};
    api_handle(&good.env, &good.request, &good.response);
    unsigned n = 1;
    while (run(&good, n, false, name) && n < MOST_ALLOCATIONS)
        n++;
    for (unsigned from = 1; from < n; from++)
        run(&good, from, true, name);
    api_response_free(&good.response);
    cr_assert_lt(n, (unsigned)MOST_ALLOCATIONS);
    return n - 1;
}

static void run_golden(const struct golden *golden, void *arg) {
    *(unsigned *)arg += run_all(golden->name, golden->method, golden->path, golden->request, golden->request_size);
}

Test(nth_allocation, golden_requests, .timeout = 120) {
    unsigned allocations = 0, requests = golden_each(run_golden, &allocations);
    fprintf(stderr, "nth_allocation: %u requests, %u allocations failed twice each\n", requests, allocations);
    cr_assert_gt(allocations, 2 * requests);
}

/* Large enough that memory is mapped instead of taken from the heap. */
Test(nth_allocation, large_request) {
    char *body = malloc((size_t)LARGE_ROWS * 64), *out = body;
    out += sprintf(out, "{\"ids\":[");
    for (int i = 0; i < LARGE_ROWS; i++)
        out += sprintf(out, "%s%d", i ? "," : "", i % 3);
    out += sprintf(out, "],\"table\":[");
    for (int i = 0; i < LARGE_ROWS; i++)
        out += sprintf(out, "%s[0.1234567,%d]", i ? "," : "", i);
    out += sprintf(out, "]}");
    cr_assert_gt(run_all("large", "POST", "/embed", body, (size_t)(out - body)), 3u);
    free(body);
}

/* jansson's buffer for a text grows by doubling: where it could not, a character would be missing. */
Test(nth_allocation, long_texts) {
    enum { WORDS = 8000 };
    char *body = malloc((size_t)WORDS * 16 + 200), *out = body;
    out += sprintf(out, "{\"random\":{\"seed\":0,\"draws\":[{\"into\":[\"table\"],\"shape\":[\"vocab\",1]}]},"
                        "\"return\":[\"vocab\"],\"texts\":[\"");
    for (int i = 0; i < WORDS; i++)
        out += sprintf(out, "word%d ", i);
    sprintf(out, "\"]}");
    cr_assert_gt(run_all("long texts", "POST", "/embed", body, strlen(body)), 8u);
    free(body);
}

/* A request in a request, whose answer is read again. */
Test(nth_allocation, check) {
    static const char body[] =
        "{\"endpoint\":\"attention\",\"request\":{\"tokens\":{\"texts\":[\"a b\",\"b\"]},"
        "\"dtype\":\"float32\",\"random\":{\"seed\":1,\"draws\":[{\"into\":[\"tokens.table\"],"
        "\"shape\":[\"vocab\",2]}]}},\"answer\":{\"weights\":[[[0.5,0.5],[0.5,0.5]],[[1,0],[1,0]]],"
        "\"output\":{\"shape\":[2,2,2],\"data\":[1,2,3,4,5,6,7,\"NaN\"]}}}";
    cr_assert_gt(run_all("check", "POST", "/check", body, sizeof body - 1), 2u);
}

/* Refusals need memory too. */
Test(nth_allocation, refused_requests) {
    static const char *const bodies[] = {
        "",
        "{",
        "{\"ids\":[0],\"ids\":[1]}",
        "{\"ids\":[0],\"Table\":[[1]]}",
        "{\"ids\":[0],\"table\":[[1,1e400]]}",
        "{\"ids\":[0],\"table\":[[1],[\"x\"]]}",
        "{\"ids\":[9],\"table\":[[1],[2]]}",
        "{\"ids\":[0],\"dtype\":\"half\",\"table\":[[1],[2]]}",
        "{\"random\":{\"seed\":0,\"draws\":[{\"into\":[\"tabel\"],\"shape\":[3,2]}]},\"ids\":[0]}",
    };
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        struct good good = {
            .env = call_env(),
            .request = {.method = "POST", .path = "/embed", .body = bodies[i], .body_size = strlen(bodies[i])}};
        for (int onward = 0; onward < 2; onward++)
            for (unsigned n = 1, fired = 1; fired; n++) {
                struct api_response response;
                fault_arm(n, onward);
                api_handle(&good.env, &good.request, &response);
                fired = fault_disarm();
                cr_assert_neq(response.status, 200);
                cr_assert_eq(fault_live(), response.body != NULL);
                json_t *problem = response.body ? json_loadb(response.body, response.body_size, 0, NULL) : NULL;
                cr_assert(!response.body || json_is_string(json_object_get(problem, "code")));
                cr_assert(response.body || response.status == 503);
                json_decref(problem);
                api_response_free(&response);
            }
    }
}
