/* cors.c - the headers by which a browser decides (Fetch standard, section 3.2). */
#include "server/cors.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char exposed[] = "Retry-After, ETag, X-Request-Id, Server-Timing, traceparent";
/* Authorization is named because "*" does not cover it. */
static const char allowed_headers[] =
    "Authorization, Content-Type, Content-Encoding, Accept, If-None-Match, X-Request-Id, traceparent, tracestate";
static const char max_age[] = "7200"; /* browsers cap it at two hours anyway */

enum { ORIGINS_MOST = 256 };

/* struct srv_cors - `text` holds the origins, each ending in NUL; `any` for "*". */
struct srv_cors {
    bool any;
    size_t count;
    const char *origins[ORIGINS_MOST];
    char text[];
};

/* scheme://host[:port], nothing behind it */
static bool is_origin(const char *text) {
    const char *at = text;
    if (!isalpha((unsigned char)*at)) {
        return false;
    }
    at += strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.");
    if (strncmp(at, "://", 3) != 0 || !at[3]) {
        return false;
    }
    return at[3 + strspn(at + 3, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~:[]%")] == 0;
}

static bool add(struct srv_cors *cors, char *origin, char message[SRV_MESSAGE_MAX]) {
    if (strcmp(origin, "*") == 0) {
        cors->any = true;
        return true;
    }
    if (!is_origin(origin)) {
        snprintf(
            message, SRV_MESSAGE_MAX,
            "cors-origins: \"%.100s\" is not an origin such as https://example.org or http://localhost:3000, nor *",
            origin);
        return false;
    }
    if (cors->count == ORIGINS_MOST) {
        snprintf(message, SRV_MESSAGE_MAX, "cors-origins: more than %d origins", ORIGINS_MOST);
        return false;
    }
    cors->origins[cors->count++] = origin;
    return true;
}

struct srv_cors *srv_cors_open(const char *origins, char message[SRV_MESSAGE_MAX]) {
    size_t size = strlen(origins) + 1;
    struct srv_cors *cors = calloc(1, sizeof *cors + size);
    if (!cors) {
        snprintf(message, SRV_MESSAGE_MAX, "out of memory for cors-origins");
        return NULL;
    }
    memcpy(cors->text, origins, size);
    char *rest = NULL;
    for (char *origin = strtok_r(cors->text, ", \t", &rest); origin; origin = strtok_r(NULL, ", \t", &rest)) {
        if (!add(cors, origin, message)) {
            free(cors);
            return NULL;
        }
    }
    return cors;
}

void srv_cors_free(struct srv_cors *cors) {
    free(cors);
}

/* The value of Access-Control-Allow-Origin, NULL when the origin may not call. */
static const char *allowed(const struct srv_cors *cors, const char *origin) {
    if (!origin || cors->any) {
        return origin ? "*" : NULL;
    }
    for (size_t i = 0; i < cors->count; i++) {
        if (strcasecmp(cors->origins[i], origin) == 0) {
            return cors->origins[i];
        }
    }
    return NULL;
}

static bool is_off(const struct srv_cors *cors) {
    return !cors || (!cors->any && cors->count == 0);
}

/* The header that lets the origin call. Returns how many were written: none when it may not. */
static size_t allow_origin(const struct srv_cors *cors, const char *origin, struct srv_cors_header *out) {
    const char *value = allowed(cors, origin);
    *out = (struct srv_cors_header){"Access-Control-Allow-Origin", value};
    return value != NULL;
}

size_t srv_cors_answer(const struct srv_cors *cors, const char *origin, struct srv_cors_header out[SRV_CORS_HEADERS]) {
    if (is_off(cors)) {
        return 0;
    }
    size_t n = allow_origin(cors, origin, out);
    if (n > 0) {
        out[n++] = (struct srv_cors_header){"Access-Control-Expose-Headers", exposed};
    }
    if (!cors->any) {
        out[n++] = (struct srv_cors_header){"Vary", "Origin"};
    }
    return n;
}

bool srv_cors_is_preflight(const char *method, const char *origin, const char *request_method) {
    return strcmp(method, "OPTIONS") == 0 && origin && request_method;
}

size_t srv_cors_preflight(const struct srv_cors *cors, const char *origin, const char *methods,
                          struct srv_cors_header out[SRV_CORS_HEADERS]) {
    if (is_off(cors)) {
        return 0;
    }
    size_t n = allow_origin(cors, origin, out);
    if (n > 0) {
        out[n++] = (struct srv_cors_header){"Access-Control-Allow-Methods", methods};
        out[n++] = (struct srv_cors_header){"Access-Control-Allow-Headers", allowed_headers};
        out[n++] = (struct srv_cors_header){"Access-Control-Max-Age", max_age};
    }
    out[n++] =
        (struct srv_cors_header){"Vary", "Origin, Access-Control-Request-Method, Access-Control-Request-Headers"};
    return n;
}
