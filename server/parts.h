/* parts.h - everything that a running server consists of besides its sockets. */
#ifndef SRV_PARTS_H
#define SRV_PARTS_H

#include "server/server.h"

/* srv_parts_open - resolves the options that are left to the machine, and makes every part. Returns false with a
 * sentence in `message`; srv_parts_close must follow in either case. */
bool srv_parts_open(struct srv_server *server, char message[SRV_MESSAGE_MAX]);
void srv_parts_close(struct srv_server *server);

/* srv_memory_share - the budget for requests in flight where the process may use `bytes` in all. */
uint64_t srv_memory_share(uint64_t bytes);

#endif
