/* http.h - what libmicrohttpd calls: from the request line to the end of the answer. */
#ifndef SRV_HTTP_H
#define SRV_HTTP_H

#include "server/request.h"

/* srv_request_begin - a request of this connection; `target` NULL: its request line could not be read. NULL out of
 * memory. */
struct srv_request *srv_request_begin(struct srv_server *server, struct MHD_Connection *connection, const char *target);

/* srv_request_refused - sends the refusal that was made at once. The library then closes the connection; a copy of the
 * socket lives on for as long as the client needs to read the answer. */
enum MHD_Result srv_request_refused(struct srv_request *request);

/* srv_request_end - the request is over: recorded, and freed. `whole`: the client has got its answer. */
void srv_request_end(struct srv_request *request, bool whole);

/* srv_http_start - starts the daemon: threads that serve connections handed to MHD_add_connection, no socket of its
 * own. Returns false when the library refuses (TLS without a usable certificate, no threads). */
bool srv_http_start(struct srv_server *server);

#endif
