#include "tests/server/crowd.h"

#include "tests/server/client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

static bool allow_files(size_t n) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return false;
    if (limit.rlim_cur < n + 64)
        limit.rlim_cur = limit.rlim_max < n + 64 ? limit.rlim_max : n + 64;
    return setrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur >= n + 64;
}

bool crowd_open(struct crowd *crowd, uint16_t port, size_t n) {
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    *crowd = (struct crowd){calloc(n, sizeof *crowd->members), 0};
    if (!crowd->members || !allow_files(n))
        return false;
    for (; crowd->n < n; crowd->n++) {
        struct member *one = &crowd->members[crowd->n];
        one->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (one->fd < 0)
            return false;
        one->began = now_ms();
        if (connect(one->fd, (struct sockaddr *)&address, sizeof address) != 0 && errno != EINPROGRESS)
            return false;
    }
    return true;
}

bool crowd_send(struct crowd *crowd, size_t i, const void *bytes, size_t size) {
    const char *at = bytes;
    while (size) {
        ssize_t n = send(crowd->members[i].fd, at, size, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0)
            return errno == EAGAIN;
        at += n;
        size -= (size_t)n;
    }
    return true;
}

static void take(struct member *one) {
    char piece[16384];
    ssize_t n = recv(one->fd, piece, sizeof piece, MSG_DONTWAIT);
    if (n < 0 && errno == EAGAIN)
        return;
    if (n <= 0) {
        one->ended = now_ms();
        one->reset = n < 0;
        return;
    }
    size_t room = MEMBER_TEXT - one->size, kept = (size_t)n < room ? (size_t)n : room;
    memcpy(one->text + one->size, piece, kept);
    one->size += kept;
    if (one->status == 0 && sscanf(one->text, "HTTP/1.%*1d %3d", &one->status) != 1)
        one->status = 0;
}

size_t crowd_receive(struct crowd *crowd, int timeout_ms, bool answers) {
    struct pollfd *waits = calloc(crowd->n + 1, sizeof *waits);
    int64_t until = now_ms() + timeout_ms;
    size_t waiting = 0;
    for (bool first = true; first || now_ms() < until; first = false) {
        waiting = 0;
        for (size_t i = 0; i < crowd->n; i++) {
            const struct member *one = &crowd->members[i];
            bool waits_on = !one->ended && !(answers && one->status);
            waits[i] = (struct pollfd){waits_on ? one->fd : -1, POLLIN, 0};
            waiting += waits_on;
        }
        int64_t left = until - now_ms();
        if (waiting == 0 || poll(waits, crowd->n, left > 0 ? (int)left : 0) <= 0)
            break;
        for (size_t i = 0; i < crowd->n; i++)
            if (waits[i].revents)
                take(&crowd->members[i]);
    }
    free(waits);
    return waiting;
}

size_t crowd_count(const struct crowd *crowd, int status) {
    size_t count = 0;
    for (size_t i = 0; i < crowd->n; i++)
        count += crowd->members[i].status == status;
    return count;
}

void crowd_close(struct crowd *crowd) {
    for (size_t i = 0; i < crowd->n; i++)
        close(crowd->members[i].fd);
    free(crowd->members);
    *crowd = (struct crowd){0};
}
