/* fuzz_api.c - any bytes to any endpoint: api_handle answers, in bounded time and memory, with a document that holds
 * together.
 *
 * The first byte chooses the route and the environment, the rest is the body.
 */
#include "api/api.h"

#include <assert.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { MEMORY = 8 << 20, NUMBERS = 200000, MULTIPLY_ADDS = 20000000, DEAR = 5000 };

static bool grant(void *ctx, size_t bytes) {
    return bytes <= *(size_t *)ctx;
}

static bool stop_now(void *ctx) {
    (void)ctx;
    return true;
}

static void check(const struct api_request *request, const struct api_response *response) {
    if (response->deferred) {
        if (response->body)
            abort();
        return;
    }
    if (response->status == 204) /* OPTIONS */
        return;
    /* Integers beyond int64_t are JSON all the same. */
    json_t *json = json_loadb(response->body, response->body_size, JSON_DECODE_INT_AS_REAL, NULL);
    if (!json || (response->status == 200) != !response->code)
        abort();
    if (response->code && (strcmp(json_string_value(json_object_get(json, "code")), response->code) != 0 ||
                           (int)json_number_value(json_object_get(json, "status")) != response->status))
        abort();
    if (response->status == 500 || response->status == 404)
        abort();
    if (response->status == 200 && strcmp(request->method, "POST") == 0 && !json_object_get(json, "shapes") &&
        strcmp(request->path, "/lookup") != 0 && strcmp(request->path, "/check") != 0)
        abort();
    json_decref(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct api_route_info posts[16];
    size_t n = 0, granted = MEMORY;
    for (size_t i = 0; api_route(i).method && n < 16; i++)
        if (strcmp(api_route(i).method, "POST") == 0)
            posts[n++] = api_route(i);
    assert(n > 0);
    unsigned choice = size ? data[0] : 0;
    struct attn_exec stopped = {.slots = 1, .stop = stop_now};
    struct api_env env = {
        .limits = {.body_bytes = 1 << 16, .memory_bytes = MEMORY, .numbers = NUMBERS, .multiply_adds = MULTIPLY_ADDS},
        .reserve = grant,
        .reserve_ctx = &granted,
        .exec = choice & 0x20 ? &stopped : NULL,
        .inline_cost = choice & 0x40 ? DEAR : 0};
    struct api_request request = {.method = "POST",
                                  .path = posts[choice % 16 % n].path,
                                  .query = choice & 0x80 ? "pretty" : NULL,
                                  .body = size ? (const char *)data + 1 : "",
                                  .body_size = size ? size - 1 : 0};
    struct api_response response;
    api_handle(&env, &request, &response);
    check(&request, &response);
    api_response_free(&response);
    return 0;
}
