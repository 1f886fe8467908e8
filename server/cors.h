/* cors.h - which web pages may call the service from a browser. */
#ifndef SRV_CORS_H
#define SRV_CORS_H

#include "server/options.h"

#include <stdbool.h>

enum { SRV_CORS_HEADERS = 6 };

struct srv_cors;

/* struct srv_cors_header - a header to add to the answer; strings live as long as the srv_cors. */
struct srv_cors_header {
    const char *name, *value;
};

/* srv_cors_open - `origins` is "*" or a comma-separated list such as "https://a.example, http://localhost:3000"; an
 * origin is scheme://host[:port] without a path. Returns NULL with a sentence in `message` when one is malformed or
 * there is no memory; `""` (nothing allowed) is fine and adds no header to anything. */
struct srv_cors *srv_cors_open(const char *origins, char message[SRV_MESSAGE_MAX]);

/* srv_cors_answer - headers for an ordinary answer to a request with this Origin (NULL: none). With a list, Vary:
 * Origin is among them even when the origin is not allowed, since another would be answered differently. Returns how
 * many of `out` were filled. NULL cors: 0. */
size_t srv_cors_answer(const struct srv_cors *cors, const char *origin, struct srv_cors_header out[SRV_CORS_HEADERS]);

/* srv_cors_is_preflight - is this OPTIONS request one of a browser that asks first? */
bool srv_cors_is_preflight(const char *method, const char *origin, const char *request_method);

/* srv_cors_preflight - headers for the answer (204) to a preflight; `methods` is the route's Allow value and must live
 * as long as the answer. An origin that is not allowed gets Vary only, and the browser refuses. */
size_t srv_cors_preflight(const struct srv_cors *cors, const char *origin, const char *methods,
                          struct srv_cors_header out[SRV_CORS_HEADERS]);

void srv_cors_free(struct srv_cors *cors);

#endif
