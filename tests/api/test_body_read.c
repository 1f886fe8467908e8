/* test_body_read - once the api says that it has read a body, it never looks at it again: the body is overwritten at
 * that moment, and the answer to every golden request must be what it is otherwise. */
#include "tests/api/call.h"
#include "tests/api/golden.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

struct body {
    char *text;
    size_t size;
    unsigned calls;
};

static void spoil(void *ctx) {
    struct body *body = ctx;
    memset(body->text, '}', body->size);
    body->calls++;
}

static void compare(const struct golden *golden, void *arg) {
    (void)arg;
    struct api_env env = call_env();
    struct call plain = call_bytes(&env, golden->method, golden->path, golden->request, golden->request_size);
    struct body body = {.text = malloc(golden->request_size), .size = golden->request_size};
    memcpy(body.text, golden->request, body.size);
    env.body_read = spoil;
    env.body_read_ctx = &body;
    struct api_request request = {
        .method = golden->method, .path = golden->path, .body = body.text, .body_size = body.size};
    struct api_response spoiled;
    api_handle(&env, &request, &spoiled);
    cr_expect_eq(spoiled.status, plain.response.status, "%s", golden->name);
    cr_expect_eq(body.calls, 1, "%s: told %u times", golden->name, body.calls);
    cr_expect(spoiled.body_size == plain.response.body_size &&
                  memcmp(spoiled.body, plain.response.body, spoiled.body_size) == 0,
              "%s", golden->name);
    api_response_free(&spoiled);
    call_free(&plain);
    free(body.text);
}

Test(body_read, is_final, .timeout = 120) {
    cr_expect_gt(golden_each(compare, NULL), 100u);
}
