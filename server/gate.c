#include "server/gate.h"

#include "api/fields.h"
#include "server/body.h"
#include "server/routes.h"

#include <stdio.h>
#include <string.h>

static bool refuse(struct srv_request *request, const char *code, const char *detail, enum srv_reject reason) {
    srv_refuse(request, code, detail, reason);
    return false;
}

static bool within_rate(struct srv_request *request, const uint8_t who[SRV_IDENTITY_SIZE]) {
    unsigned wait_s = srv_ratelimit_take(request->server->ratelimit, who, request->began_ns);
    if (wait_s == 0)
        return true;
    refuse(request, "rate_limited", NULL, SRV_REJECT_RATE);
    request->response.retry_after_s = wait_s;
    return false;
}

/* Who brings no valid key is counted by address: guessing is limited like anything else. Who brings one has a count of
 * its own, so that nobody behind the same address (a load balancer's, say) can lock it out by guessing. */
static bool is_let_in(struct srv_request *request) {
    struct srv_server *server = request->server;
    struct srv_address group = srv_address_group(&request->peer->address);
    bool known = server->keys && srv_keys_match(server->keys, request->head.authorization, &request->key);
    if (!within_rate(request, known ? request->key.identity : group.bytes))
        return false;
    if (known || !server->keys)
        return true;
    request->unauthorized = true;
    return refuse(request, "unauthorized", NULL, SRV_REJECT_UNAUTHORIZED);
}

static bool body_is_welcome(struct srv_request *request) {
    const struct srv_framing *framing = &request->head.framing;
    uint64_t limit = request->server->options.max_body_bytes;
    enum srv_coding coding;
    char detail[128];
    if (strcmp(request->method, "POST") == 0 && !framing->has_length && !framing->chunked) {
        request->close = true; /* a body may follow all the same */
        srv_refuse_hint(request, "length_required", "Send Content-Length, or Transfer-Encoding: chunked.",
                        "Was the body forgotten? curl sends one with --data and states its length.",
                        SRV_REJECT_FRAMING);
        return false;
    }
    if (limit && framing->has_length && framing->length > limit) {
        snprintf(detail, sizeof detail, "The body has %llu bytes, the limit is %llu.",
                 (unsigned long long)framing->length, (unsigned long long)limit);
        return refuse(request, "body_too_large", detail, SRV_REJECT_TOO_LARGE);
    }
    if (!srv_content_coding(request->head.content_encoding, &coding))
        return refuse(request, "unsupported_encoding", "Bodies are read as they are, or packed with gzip or deflate.",
                      SRV_REJECT_COUNT);
    if (coding == SRV_IDENTITY)
        request->head.content_encoding = NULL;
    return srv_body_reserve(request);
}

void srv_gate_refuse_path(struct srv_request *request) {
    const char *paths[SRV_ROUTES_MAX + 1] = {0};
    char detail[256], hint[128] = "GET / is a page, GET /openapi.yaml describes every path.";
    for (size_t i = 0; i < SRV_ROUTES_MAX; i++) {
        const struct srv_route *route = srv_route_at(request->server->routes, i);
        paths[i] = route ? route->path : NULL;
    }
    const char *closest = api_closest(paths, request->path);
    if (closest)
        snprintf(hint, sizeof hint, "Did you mean %s?", closest);
    snprintf(detail, sizeof detail, "There is nothing under this path. %s", hint);
    srv_refuse_hint(request, "not_found", detail, hint, SRV_REJECT_COUNT);
}

static void refuse_method(struct srv_request *request) {
    const struct srv_route *route = request->route;
    char detail[128];
    snprintf(detail, sizeof detail, "%s takes %s.", route->path, route->allow);
    srv_refuse_hint(request, "method_not_allowed", detail,
                    route->methods & SRV_POST ? "Send the request as the body of a POST; curl does with --data." : NULL,
                    SRV_REJECT_COUNT);
    request->response.allow = route->allow;
}

bool srv_gate_pass(struct srv_request *request) {
    const struct srv_route *route = request->route;
    if (strcmp(request->method, "OPTIONS") == 0)
        return body_is_welcome(request);
    if (route && route->guarded && !is_let_in(request))
        return false;
    if (!route)
        srv_gate_refuse_path(request);
    else if (!srv_route_allows(route, request->method))
        refuse_method(request);
    else if (srv_coding_negotiate(request->head.accept_encoding) == SRV_NOT_ACCEPTABLE)
        srv_refuse(request, "not_acceptable", "Accept-Encoding refuses identity, gzip and deflate.", SRV_REJECT_COUNT);
    else
        return body_is_welcome(request);
    return false;
}
