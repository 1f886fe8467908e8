/* call.c - see call.h. */
#include "tests/api/call.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct api_env call_env(void) {
    return (struct api_env){.limits = api_limits_default(), .version_json = "{\"version\":\"test\"}"};
}

struct call call_bytes(const struct api_env *env, const char *method, const char *path, const char *body, size_t size) {
    struct call answer = {0};
    /* An exact copy on the heap, so that AddressSanitizer sees a read behind its end. */
    char *copy = malloc(size ? size : 1);
    if (size)
        memcpy(copy, body, size);
    struct api_request request = {.method = method, .path = path, .body = copy, .body_size = size};
    api_handle(env, &request, &answer.response);
    if (answer.response.body)
        answer.json = json_loadb(answer.response.body, answer.response.body_size, 0, NULL);
    free(copy);
    return answer;
}

struct call call(const char *method, const char *path, const char *body) {
    struct api_env env = call_env();
    return call_bytes(&env, method, path, body, body ? strlen(body) : 0);
}

void call_free(struct call *answer) {
    json_decref(answer->json);
    api_response_free(&answer->response);
}

char *read_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    char *text = NULL;
    size_t used = 0, got;
    do {
        char *longer = realloc(text, used + 65537);
        if (!longer)
            abort();
        text = longer;
        got = fread(text + used, 1, 65536, file);
        used += got;
    } while (got > 0);
    fclose(file);
    text[used] = 0;
    if (size)
        *size = used;
    return text;
}

static double row_magnitude(const json_t *row) {
    double most = 0;
    for (size_t i = 0; i < json_array_size(row); i++)
        most = fmax(most, fabs(json_number_value(json_array_get(row, i))));
    return most;
}

static bool differ(char **where, const char *path, const json_t *expected, const json_t *got) {
    char *want = expected ? json_dumps(expected, JSON_ENCODE_ANY | JSON_COMPACT) : NULL,
         *have = got ? json_dumps(got, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
    size_t size = strlen(path) + 400;
    *where = malloc(size);
    snprintf(*where, size, "%s: expected %.150s, got %.150s", path, want ? want : "nothing", have ? have : "nothing");
    free(want);
    free(have);
    return false;
}

/* Whether every member of `got` is one of `expected`. */
static bool is_known(const json_t *expected, const json_t *got, const char *path, char **where) {
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)got, key, value) {
        char deeper[256];
        snprintf(deeper, sizeof deeper, "%s/%s", path, key);
        if (!json_object_get(expected, key))
            return differ(where, deeper, NULL, value);
    }
    return true;
}

static bool near(const json_t *expected, const json_t *got, double tolerance, double magnitude, const char *path,
                 char **where) {
    char deeper[256];
    if (json_is_number(expected) && json_is_number(got)) {
        double a = json_number_value(expected), b = json_number_value(got);
        return fabs(a - b) <= tolerance * magnitude || differ(where, path, expected, got);
    }
    if (json_is_array(expected) && json_is_array(got) && json_array_size(expected) == json_array_size(got)) {
        magnitude = row_magnitude(expected);
        for (size_t i = 0; i < json_array_size(expected); i++) {
            snprintf(deeper, sizeof deeper, "%s/%zu", path, i);
            if (!near(json_array_get(expected, i), json_array_get(got, i), tolerance, magnitude, deeper, where))
                return false;
        }
        return true;
    }
    if (json_is_object(expected) && json_is_object(got)) {
        const char *key;
        json_t *value;
        json_object_foreach((json_t *)expected, key, value) {
            double lone = json_is_number(value) ? fmax(1, fabs(json_number_value(value))) : 0;
            snprintf(deeper, sizeof deeper, "%s/%s", path, key);
            if (!near(value, json_object_get(got, key), tolerance, lone, deeper, where))
                return false;
        }
        return is_known(expected, got, path, where);
    }
    if (got && json_is_string(expected) && strcmp(json_string_value(expected), "*") == 0)
        return true;
    return json_equal(expected, got) || differ(where, path, expected, got);
}

bool json_near(const json_t *expected, const json_t *got, double tolerance, char **where) {
    *where = NULL;
    return near(expected, got, tolerance, json_is_number(expected) ? fmax(1, fabs(json_number_value(expected))) : 0, "",
                where);
}
