/* refusals.h - what libmicrohttpd refuses by itself, said in our words.
 *
 * The library parses the head and the chunks, and answers what it cannot parse with a page of its own, asking nobody.
 * But it queues that page through its own public function, and a program may define a function of a shared library
 * anew for everybody (symbol interposition): so each of its refusals passes through here, with the connection it is
 * for, before it is sent, over TLS too. Where a library was linked to call itself directly (-Bsymbolic-functions), or
 * into the program, its own page is sent as before.
 */
#ifndef SRV_REFUSALS_H
#define SRV_REFUSALS_H

#include "server/request.h"

/* srv_refusals_start - from now on the library's refusals are replaced. `server` must outlive its daemon. */
void srv_refusals_start(struct srv_server *server);

/* srv_queue - MHD_queue_response for answers that are ours. */
enum MHD_Result srv_queue(struct srv_request *request, struct MHD_Response *answer);

#endif
