/* body.h - collects a request's body, within the limits of the request and of the server. */
#ifndef SRV_BODY_H
#define SRV_BODY_H

#include "server/request.h"

enum srv_body {
    SRV_BODY_TAKEN,
    SRV_BODY_REFUSED, /* a refusal was made (413, 503); what follows is thrown away */
    SRV_BODY_ENDLESS  /* refused, and so much followed that the connection should be cut */
};

/* srv_body_reserve - counts the length that is announced, so that a body that is let in finds room to its end, and the
 * others know at once. False when there is no room: the refusal was made. Short bodies, and those without a length, are
 * counted as they arrive. So is what is missing of a body that does not come on (srv_connections_look), so that
 * announcements cost others little. */
bool srv_body_reserve(struct srv_request *request);

/* srv_body_add - the next piece. */
enum srv_body srv_body_add(struct srv_request *request, const char *data, size_t size);

/* srv_body_lend - the whole body is here, in memory that is not ours: no copy is made. It must be dropped before that
 * memory goes away. */
void srv_body_lend(struct srv_request *request, const char *data, size_t size);

/* srv_body_drop - the body has been read: frees it (unless it was lent) and gives its share of the budget back. */
void srv_body_drop(struct srv_request *request);

/* srv_grant - counts `bytes` more for this request, false when the budget refuses. ctx is the request. */
bool srv_grant(void *ctx, size_t bytes);

#endif
