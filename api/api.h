/* api.h - the whole service as one function: request bytes in, response bytes out. No sockets, threads or signals. */
#ifndef API_API_H
#define API_API_H

#include "core/exec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* struct api_limits - what a request may cost. 0 is no limit. Defaults: api_limits_default().
 *
 *     body_bytes       longest request body
 *     memory_bytes     arena of one request plus its response
 *     multiply_adds    estimated from the shapes before anything is computed
 *     numbers          most numbers in one answer
 */
struct api_limits {
    size_t body_bytes, memory_bytes;
    double multiply_adds;
    size_t numbers;
};

struct api_limits api_limits_default(void);

/* struct api_env - what the surroundings lend to every request; shared, never written by api/.
 *
 *     exec          runs and stops work (may be NULL: serial, never stopped). When `stop` turns true the answer is 503
 *                   with code "stopped"; the server replaces it by what it knows (deadline, client gone)
 *     inline_cost   > 0: a request whose estimate (multiply-adds + 16 per number read or written) is above this is not
 *                   computed; the answer has `deferred` set and nothing else, and the caller handles the request again
 *                   elsewhere with inline_cost 0
 *     reserve       asks for `bytes` of memory for this request over what its body holds, once, before they are taken;
 *                   false: refused, answered by 503 "memory_budget". NULL: always granted. The caller gives back what
 *                   was granted when the response is done
 *     version_json  a JSON object for GET /version, kept by the caller; NULL: {}
 *     body_read     called at most once, as soon as the request's body will not be looked at any more: the caller may
 *                   free it while the answer is computed. NULL: nobody is told
 */
struct api_env {
    struct api_limits limits;
    const struct attn_exec *exec;
    double inline_cost;
    bool (*reserve)(void *ctx, size_t bytes);
    void *reserve_ctx;
    const char *version_json;
    void (*body_read)(void *ctx);
    void *body_read_ctx;
};

/* struct api_request - everything is borrowed for the duration of the call; strings end in NUL, NULL = absent.
 *
 *     method        "POST", upper case
 *     path          decoded, without query: "/mha"
 *     query         raw text behind '?', e.g. "pretty"
 *     content_type  header value; absent, anything with "json", and application/x-www-form-urlencoded are read as JSON
 *     body          need not end in NUL
 */
struct api_request {
    const char *method, *path, *query, *content_type;
    const char *body;
    size_t body_size;
};

enum { API_SHAPE_MAX = 96 };

/* struct api_response - the answer.
 *
 *     status, content_type   static strings
 *     allow                  value of an Allow header, static; NULL: none
 *     retry_after_s          > 0: value of a Retry-After header
 *     body, body_size        malloc'd; the caller frees it with api_response_free or takes it over (set body NULL)
 *     route                  matched path for logs and metrics ("/mha"), static; "unknown" without one
 *     code                   problem code ("unknown_field"), static; NULL on success
 *     shape                  short text for logs, "b1 h3 q6 k6 d4"; empty when nothing was computed
 *     numbers_in, numbers_out, multiply_adds   what was read, written, computed
 *     deferred, estimate     see api_env.inline_cost: not computed, and what it was estimated at, or more
 */
struct api_response {
    int status;
    const char *content_type, *allow;
    unsigned retry_after_s;
    char *body;
    size_t body_size;
    const char *route, *code;
    char shape[API_SHAPE_MAX];
    uint64_t numbers_in, numbers_out;
    double multiply_adds, estimate;
    bool deferred;
};

/* api_handle - answers one request. Never fails: what goes wrong becomes a problem document; when even that finds no
 * memory, a fixed 503 text (static copy made with malloc, or body NULL with size 0).
 *
 * Threads   safe for distinct requests.
 */
void api_handle(const struct api_env *env, const struct api_request *request, struct api_response *response);

void api_response_free(struct api_response *response);

/* api_problem_response - a problem document for what the server itself refuses (408, 413 by length, 415, 429, 431, 503
 * ...), in the same form as all others. `code` names a row of the problem table (api/problem.c), which gives status and
 * title; `detail` and `hint` may be NULL. */
void api_problem_response(struct api_response *response, const char *code, const char *detail, const char *hint);

/* struct api_route - one row of the route table, in the order of the documentation.
 * The server adds its own (health, metrics, page, openapi) to it; a test compares all with openapi.yaml. */
struct api_route_info {
    const char *method, *path;
};

/* api_route - row `index` of the routes that api_handle serves; method NULL at the end. */
struct api_route_info api_route(size_t index);

#endif
