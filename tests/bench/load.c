/* load.c - one epoll set; answers are told apart by their Content-Length. */
#include "tests/bench/load.h"

#include "tests/bench/bench.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HEAD_MAX = 4096, PIECE = 262144 };

/* struct one - a client. `left` bytes of the answer's body are still to come once the head is complete. */
struct one {
    int fd;
    size_t sent, head_size, left;
    bool in_body, good;
    char head[HEAD_MAX + 1];
};

struct load {
    const char *request;
    size_t size;
    int epoll;
    struct load_result result;
};

static bool push(struct load *load, struct one *one) {
    while (one->sent < load->size) {
        ssize_t n = send(one->fd, load->request + one->sent, load->size - one->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n <= 0)
            break;
        one->sent += (size_t)n;
    }
    struct epoll_event event = {.events = EPOLLIN | (one->sent < load->size ? EPOLLOUT : 0u), .data.ptr = one};
    return epoll_ctl(load->epoll, EPOLL_CTL_MOD, one->fd, &event) == 0;
}

static void again(struct load *load, struct one *one) {
    *(one->good ? &load->result.served : &load->result.failed) += 1;
    one->sent = one->head_size = 0;
    one->in_body = false;
    push(load, one);
}

/* The head may come in pieces; what follows it in the same piece belongs to the body. */
static void take(struct load *load, struct one *one, const char *bytes, size_t size) {
    if (!one->in_body) {
        size_t n = size < HEAD_MAX - one->head_size ? size : HEAD_MAX - one->head_size;
        memcpy(one->head + one->head_size, bytes, n);
        one->head_size += n;
        one->head[one->head_size] = 0;
        char *end = strstr(one->head, "\r\n\r\n"), *length = strstr(one->head, "\r\nContent-Length:");
        if (!end || !length)
            return;
        one->in_body = true;
        one->good = strncmp(one->head + 9, "200", 3) == 0;
        one->left = load->result.body_size = (size_t)strtoull(length + 17, NULL, 10);
        size = one->head_size + (size - n) - (size_t)(end + 4 - one->head);
    }
    one->left -= size < one->left ? size : one->left;
    if (one->left == 0)
        again(load, one);
}

static bool pull(struct load *load, struct one *one, char *piece) {
    ssize_t n = recv(one->fd, piece, PIECE, MSG_DONTWAIT);
    if (n <= 0)
        return false;
    take(load, one, piece, (size_t)n);
    return true;
}

static bool open_one(struct load *load, struct one *one, uint16_t port) {
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    one->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int on = 1;
    setsockopt(one->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = one};
    return connect(one->fd, (struct sockaddr *)&address, sizeof address) == 0 &&
           epoll_ctl(load->epoll, EPOLL_CTL_ADD, one->fd, &event) == 0 && push(load, one);
}

struct load_result load_run(uint16_t port, size_t connections, const char *request, size_t size, double seconds,
                            size_t most) {
    struct load load = {.request = request, .size = size, .epoll = epoll_create1(EPOLL_CLOEXEC)};
    struct one *all = calloc(connections, sizeof *all);
    char *piece = malloc(PIECE);
    double began = bench_now();
    bool fine = all && piece;
    for (size_t i = 0; fine && i < connections; i++)
        fine = open_one(&load, &all[i], port);
    while (fine && bench_now() - began < seconds && (most == 0 || load.result.served < most)) {
        struct epoll_event events[64];
        int n = epoll_wait(load.epoll, events, 64, 100);
        for (int i = 0; fine && i < n; i++) {
            struct one *one = events[i].data.ptr;
            if (events[i].events & EPOLLOUT)
                fine = push(&load, one);
            if (fine && events[i].events & ~(uint32_t)EPOLLOUT)
                fine = pull(&load, one, piece);
        }
    }
    load.result.seconds = bench_now() - began;
    load.result.failed += !fine;
    for (size_t i = 0; all && i < connections; i++)
        close(all[i].fd);
    close(load.epoll);
    free(all);
    free(piece);
    return load.result;
}
