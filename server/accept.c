#include "server/accept.h"

#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

enum { AT_ONCE = 64 };

static void turn_away(struct srv_server *server, int fd, enum srv_admission why) {
    bool of_address = why == SRV_TOO_MANY_OF_ADDRESS;
    srv_metrics_rejected(server->metrics, of_address ? SRV_REJECT_CONNECTIONS_PER_ADDRESS : SRV_REJECT_CONNECTIONS);
    if (!server->tls_cert)
        srv_raw_answer(fd, "too_many_connections",
                       of_address ? "This address has too many connections open."
                                  : "The server has too many connections open.");
    shutdown(fd, SHUT_WR);
    srv_connections_linger(server->connections, fd, true);
}

/* The library closed this descriptor without a word (it found no memory for the connection): count it out. */
static void forget_lost(struct srv_server *server, struct srv_connection *connection) {
    if (srv_connection_phase(connection, NULL) == SRV_FREE)
        return;
    srv_connection_close(server->connections, connection);
    srv_clients_leave(server->clients, &connection->address);
}

static void let_in(struct srv_server *server, int fd, const struct sockaddr *name, socklen_t size) {
    struct srv_connection *connection = srv_connections_at(server->connections, fd);
    if (!connection) {
        turn_away(server, fd, SRV_TOO_MANY);
        return;
    }
    forget_lost(server, connection);
    struct srv_address address = srv_address_from(name);
    enum srv_admission admission = srv_clients_enter(server->clients, &address);
    if (admission != SRV_ADMITTED) {
        turn_away(server, fd, admission);
        return;
    }
    srv_connection_open(server->connections, connection, fd, &address);
    if (MHD_add_connection(server->daemon, fd, name, size) != MHD_YES)
        forget_lost(server, connection);
}

enum srv_accept srv_accept(struct srv_server *server, int listener) {
    for (int i = 0; i < AT_ONCE; i++) {
        struct sockaddr_storage name;
        socklen_t size = sizeof name;
        int fd = accept4(listener, (struct sockaddr *)&name, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0)
            let_in(server, fd, (struct sockaddr *)&name, size);
        else if (errno == EAGAIN || errno == EWOULDBLOCK)
            return SRV_ACCEPT_EMPTY;
        else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
            return SRV_ACCEPT_EXHAUSTED;
        /* else this one connection failed before it was accepted */
    }
    return SRV_ACCEPT_MORE;
}
