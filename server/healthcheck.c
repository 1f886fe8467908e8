#include "server/healthcheck.h"

#include <errno.h>
#include <netdb.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { TIMEOUT_S = 2 };

static int connect_to(const char *host, const char *service) {
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV}, *list = NULL;
    if (getaddrinfo(host, service, &hints, &list) != 0)
        return -1;
    int fd = -1;
    for (const struct addrinfo *address = list; address && fd < 0; address = address->ai_next) {
        fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        struct timeval limit = {.tv_sec = TIMEOUT_S};
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
        if (fd >= 0 && connect(fd, address->ai_addr, address->ai_addrlen) != 0) {
            close(fd);
            fd = -1;
        }
    }
    freeaddrinfo(list);
    return fd;
}

static bool answers(int fd) {
    static const char question[] = "GET /health/live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    static const char expected[] = "HTTP/1.1 200 ";
    char answer[sizeof expected - 1];
    size_t got = 0;
    if (send(fd, question, sizeof question - 1, MSG_NOSIGNAL) != (ssize_t)sizeof question - 1)
        return false;
    while (got < sizeof answer) {
        ssize_t n = recv(fd, answer + got, sizeof answer - got, 0);
        if (n <= 0)
            return false;
        got += (size_t)n;
    }
    return memcmp(answer, expected, sizeof answer) == 0;
}

int srv_healthcheck(const struct srv_options *options) {
    const char *host = options->host;
    if (!*host || strcmp(host, "0.0.0.0") == 0)
        host = "127.0.0.1";
    else if (strcmp(host, "::") == 0)
        host = "::1";
    char service[8];
    snprintf(service, sizeof service, "%u", (unsigned)options->port);
    int fd = connect_to(host, service);
    bool alive = fd >= 0 && (*options->tls_cert || answers(fd));
    if (!alive)
        fprintf(stderr, "dikkat: no healthy answer from %.100s port %s\n", host, service);
    if (fd >= 0)
        close(fd);
    return alive ? 0 : 1;
}
