/* routes.h - every path the server knows: those of the api and its own. */
#ifndef SRV_ROUTES_H
#define SRV_ROUTES_H

#include "server/request.h"

enum { SRV_GET = 1, SRV_POST = 2, SRV_ROUTES_MAX = 64 };

/* struct srv_route - one path.
 *
 *     path      "/mha"; one that ends in '/' (other than "/") also takes what follows
 *     allow     value of the Allow header
 *     answer    fills request->response or ->document; NULL: the api answers
 *     guarded   needs a key and counts against the rate limit
 */
struct srv_route {
    const char *path, *allow;
    unsigned methods;
    void (*answer)(struct srv_request *request);
    const struct srv_document *document;
    bool guarded;
};

/* srv_routes_new - the table, with what of its answers can be made in advance. Returns NULL out of memory. */
struct srv_routes *srv_routes_new(void);
void srv_routes_free(struct srv_routes *routes);

/* srv_route_find - the route of a path, NULL if there is none. */
const struct srv_route *srv_route_find(const struct srv_routes *routes, const char *path);

/* srv_route_at - row `index`, NULL at the end. */
const struct srv_route *srv_route_at(const struct srv_routes *routes, size_t index);

/* srv_route_computes - is it the api that answers? */
bool srv_route_computes(const struct srv_route *route);

/* srv_route_allows - may the route be asked with this method? HEAD is taken wherever GET is. */
bool srv_route_allows(const struct srv_route *route, const char *method);

#endif
