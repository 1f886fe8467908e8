/* call.h - sends a request to api_handle as a client would, and reads the answer. */
#ifndef TESTS_API_CALL_H
#define TESTS_API_CALL_H

#include "api/api.h"

#include <jansson.h>

/* struct call - an answer: `json` is its body, NULL when there is none. Release with call_free. */
struct call {
    struct api_response response;
    json_t *json;
};

/* call - default limits, no threads; `body` NULL: none. */
struct call call(const char *method, const char *path, const char *body);
struct call call_bytes(const struct api_env *env, const char *method, const char *path, const char *body, size_t size);
void call_free(struct call *answer);

/* call_env - what `call` uses. */
struct api_env call_env(void);

/* read_file - a whole file, malloc'd and ended by NUL; NULL if it cannot be read. */
char *read_file(const char *path, size_t *size);

/* json_near - is `got` what `expected` says, no more and no less? Numbers may differ by `tolerance` times the largest
 * magnitude in their row (a lone number: times its own magnitude or 1). The string "*" stands for any value. On a
 * difference *where is a malloc'd text about the first one. */
bool json_near(const json_t *expected, const json_t *got, double tolerance, char **where);

#endif
