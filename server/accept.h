/* accept.h - lets clients in, within the limits. */
#ifndef SRV_ACCEPT_H
#define SRV_ACCEPT_H

#include "server/server.h"

enum srv_accept { SRV_ACCEPT_EMPTY, SRV_ACCEPT_MORE, SRV_ACCEPT_EXHAUSTED };

/* srv_accept - accepts what waits in front of `listener`: some of it (MORE), all of it (EMPTY), or until the process
 * runs out of descriptors or memory (EXHAUSTED: try again later). Who is over a limit is told so by 503. */
enum srv_accept srv_accept(struct srv_server *server, int listener);

#endif
