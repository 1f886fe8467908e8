#include "server/listener.h"

#include <errno.h>
#include <linux/filter.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BACKLOG = 4096 };

static int listen_at(const struct addrinfo *address) {
    int fd = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
    if (fd < 0)
        return -1;
    int on = 1, off = 0;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
    if (address->ai_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (bind(fd, address->ai_addr, address->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

static uint16_t port_of(int fd) {
    struct sockaddr_in6 name = {0}; /* an IPv4 address has its port in the same place */
    socklen_t size = sizeof name;
    getsockname(fd, (struct sockaddr *)&name, &size);
    return ntohs(name.sin6_port);
}

int srv_listen(const char *host, uint16_t *port, char message[SRV_MESSAGE_MAX]) {
    char service[8];
    snprintf(service, sizeof service, "%u", (unsigned)*port);
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV}, *list = NULL;
    int failure = getaddrinfo(*host ? host : NULL, service, &hints, &list);
    if (failure) {
        snprintf(message, SRV_MESSAGE_MAX, "cannot listen on %.100s: %s", host, gai_strerror(failure));
        return -1;
    }
    int fd = -1;
    for (const struct addrinfo *address = list; address && fd < 0; address = address->ai_next)
        fd = listen_at(address);
    if (fd < 0)
        snprintf(message, SRV_MESSAGE_MAX, "cannot listen on %.100s port %s: %s", host, service, strerror(errno));
    else
        *port = port_of(fd);
    freeaddrinfo(list);
    return fd;
}

void srv_listen_no_more(int fd) {
    enum { FLAGS = 13, SYN = 0x02, ACK = 0x10 }; /* of the TCP header, which is what the filter sees */
    struct sock_filter drop_syn[] = {
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, FLAGS),      BPF_STMT(BPF_ALU | BPF_AND | BPF_K, SYN | ACK),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYN, 0, 1), BPF_STMT(BPF_RET | BPF_K, 0),
        BPF_STMT(BPF_RET | BPF_K, 0xffffffff),
    };
    struct sock_fprog program = {sizeof drop_syn / sizeof *drop_syn, drop_syn};
    setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
}
