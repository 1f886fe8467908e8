/* listener.h - the socket that clients connect to. */
#ifndef SRV_LISTENER_H
#define SRV_LISTENER_H

#include "server/options.h"

/* srv_listen - a listening socket that does not block, shared with other processes on the same port (SO_REUSEPORT), so
 * that a successor can start before this one ends. `port` out: the real one.
 * Returns -1 with a sentence in `message`. */
int srv_listen(const char *host, uint16_t *port, char message[SRV_MESSAGE_MAX]);

/* srv_listen_no_more - new connections are no longer begun: their first packet is ignored, the client repeats it a
 * second later, and then finds whoever else listens on the port. Connections that are already being made still arrive
 * and must be accepted before the socket is closed: closing it would reset them. */
void srv_listen_no_more(int fd);

#endif
