/* http.h - what libmicrohttpd calls: from the request line to the end of the answer. */
#ifndef SRV_HTTP_H
#define SRV_HTTP_H

#include "server/request.h"

/* srv_http_start - starts the daemon: threads that serve connections handed to MHD_add_connection, no socket of its
 * own. Returns false when the library refuses (TLS without a usable certificate, no threads). */
bool srv_http_start(struct srv_server *server);

#endif
