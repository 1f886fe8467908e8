/* connections.c - the table of connections and the two threads' game over its words. */
#include "server/connections.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    LINGER_MS = 2000,
    LINGER_MOST = 256, /* sockets at once; beyond it a refused client may see a reset */
    LINGER_READS = 64, /* pieces read at once before others get their turn */
    PIECE = 16384,
    CLOSE_WAIT = 8,           /* TCP_CLOSE_WAIT of netinet/tcp.h, which cannot stand beside linux/tcp.h */
    LOOK_AT_SILENCE_MS = 200, /* how often a silent connection is looked at */
    PACE_BYTES = 65536,       /* of a body in that time: less is hardly any */
    PATIENCE_MS = 1000        /* with a body that brings less */
};

struct srv_connections {
    struct srv_connection *entries;
    size_t files;
    int epoll;
    struct srv_connection_limits limits;
    void (*ended)(void *ctx, enum srv_phase phase);
    void *ctx;
    atomic_int highest;
    atomic_size_t lingering;
};

/* --- the word ---------------------------------------------------------------------------------------------------- */

static const uint64_t forever = UINT64_MAX >> 4;

static uint64_t word_of(enum srv_phase phase, uint64_t deadline) {
    return deadline << 4 | (uint64_t)phase;
}

static enum srv_phase phase_of(uint64_t word) {
    return (enum srv_phase)(word & 15);
}

uint64_t srv_now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static uint64_t deadline_in(uint64_t limit_ms) {
    return limit_ms ? srv_now_ms() + limit_ms : forever;
}

bool srv_connection_move(struct srv_connection *connection, enum srv_phase phase, uint64_t limit_ms) {
    uint64_t next = word_of(phase, deadline_in(limit_ms));
    uint64_t word = atomic_load_explicit(&connection->word, memory_order_acquire);
    for (;;) {
        if (phase_of(word) == SRV_DOOMED)
            return false;
        if (phase_of(word) == SRV_HELD) {
            sched_yield();
            word = atomic_load_explicit(&connection->word, memory_order_acquire);
        } else if (atomic_compare_exchange_weak(&connection->word, &word, next)) {
            return true;
        }
    }
}

enum srv_phase srv_connection_phase(const struct srv_connection *connection, bool *doomed) {
    uint64_t word = atomic_load(&connection->word);
    bool is = phase_of(word) == SRV_DOOMED;
    if (doomed)
        *doomed = is;
    return is ? (enum srv_phase)(word >> 4) : phase_of(word);
}

/* Takes the connection if its word is still the one that was looked at; then nobody closes it meanwhile. */
static bool hold(struct srv_connection *connection, uint64_t word) {
    return atomic_compare_exchange_strong(&connection->word, &word, word_of(SRV_HELD, 0));
}

/* --- the table --------------------------------------------------------------------------------------------------- */

struct srv_connections *srv_connections_new(size_t files, const struct srv_connection_limits *limits,
                                            void (*ended)(void *ctx, enum srv_phase phase), void *ctx) {
    struct srv_connections *connections = calloc(1, sizeof *connections);
    if (!connections)
        return NULL;
    connections->entries = calloc(files, sizeof *connections->entries);
    connections->epoll = epoll_create1(EPOLL_CLOEXEC);
    connections->files = files;
    connections->limits = *limits;
    connections->ended = ended;
    connections->ctx = ctx;
    if (!connections->entries || connections->epoll < 0) {
        srv_connections_free(connections);
        return NULL;
    }
    return connections;
}

void srv_connections_free(struct srv_connections *connections) {
    if (!connections)
        return;
    for (size_t fd = 0; connections->entries && fd < connections->files; fd++)
        if (phase_of(connections->entries[fd].word) == SRV_LINGER)
            close((int)fd);
    if (connections->epoll >= 0)
        close(connections->epoll);
    free(connections->entries);
    free(connections);
}

int srv_connections_fd(const struct srv_connections *connections) {
    return connections->epoll;
}

struct srv_connection *srv_connections_at(struct srv_connections *connections, int fd) {
    return fd >= 0 && (size_t)fd < connections->files ? &connections->entries[fd] : NULL;
}

static void raise_highest(struct srv_connections *connections, int fd) {
    int highest = atomic_load(&connections->highest);
    while (fd > highest && !atomic_compare_exchange_weak(&connections->highest, &highest, fd))
        ;
}

void srv_connection_open(struct srv_connections *connections, struct srv_connection *connection, int fd,
                         const struct srv_address *address) {
    connection->fd = fd;
    connection->address = *address;
    srv_address_text(address, connection->text);
    connection->request = NULL;
    connection->seen_word = 0;
    atomic_store(&connection->gone, false);
    atomic_store(&connection->talks, false);
    atomic_store(&connection->reserved, 0);
    raise_highest(connections, fd);
    atomic_store(&connection->word, word_of(SRV_HEAD, deadline_in(connections->limits.header_ms)));
}

void srv_connection_close(struct srv_connections *connections, struct srv_connection *connection) {
    (void)connections;
    uint64_t word = atomic_load(&connection->word);
    for (;;) {
        if (phase_of(word) == SRV_HELD) {
            sched_yield();
            word = atomic_load(&connection->word);
        } else if (atomic_compare_exchange_weak(&connection->word, &word, word_of(SRV_FREE, 0))) {
            return;
        }
    }
}

/* --- clients that leave ------------------------------------------------------------------------------------------ */

static void add(struct srv_connections *connections, int fd, uint32_t events) {
    struct epoll_event event = {.events = events, .data.fd = fd};
    epoll_ctl(connections->epoll, EPOLL_CTL_ADD, fd, &event);
}

void srv_connection_watch(struct srv_connections *connections, struct srv_connection *connection) {
    add(connections, connection->fd, EPOLLRDHUP | EPOLLET);
}

void srv_connection_unwatch(struct srv_connections *connections, struct srv_connection *connection) {
    epoll_ctl(connections->epoll, EPOLL_CTL_DEL, connection->fd, NULL);
}

/* The client has stopped sending. Has it closed the connection, or does it wait for its answer? Both look the same
 * until something is sent, and an interim answer may be sent at any time. */
static bool left(struct srv_connections *connections, struct srv_connection *connection, uint32_t events) {
    if (events & (EPOLLHUP | EPOLLERR))
        return true;
    if (connections->limits.tls)
        return true; /* TLS knows no half close that clients make use of */
    static const char interim[] = "HTTP/1.1 100 Continue\r\n\r\n";
    if (atomic_load(&connection->talks))
        send(connection->fd, interim, sizeof interim - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    return false;
}

static bool watched(struct srv_connections *connections, struct srv_connection *connection, uint32_t events) {
    uint64_t word = atomic_load(&connection->word);
    if (phase_of(word) != SRV_BUSY || !hold(connection, word))
        return false;
    bool is_gone = left(connections, connection, events);
    if (is_gone)
        atomic_store(&connection->gone, true);
    atomic_store(&connection->word, word);
    return is_gone;
}

/* --- lingering --------------------------------------------------------------------------------------------------- */

void srv_connections_linger(struct srv_connections *connections, int fd, bool own) {
    bool room = atomic_fetch_add(&connections->lingering, 1) < LINGER_MOST;
    int kept = !room ? -1 : own ? fd : fcntl(fd, F_DUPFD_CLOEXEC, 0);
    struct srv_connection *entry = srv_connections_at(connections, kept);
    if (!entry || phase_of(atomic_load(&entry->word)) != SRV_FREE) {
        atomic_fetch_sub(&connections->lingering, 1);
        if (kept >= 0 || own)
            close(own ? fd : kept);
        return;
    }
    raise_highest(connections, kept);
    atomic_store(&entry->word, word_of(SRV_LINGER, srv_now_ms() + LINGER_MS));
    add(connections, kept, EPOLLIN | EPOLLRDHUP);
}

static void linger_end(struct srv_connections *connections, struct srv_connection *entry) {
    atomic_store(&entry->word, word_of(SRV_FREE, 0));
    close((int)(entry - connections->entries));
    atomic_fetch_sub(&connections->lingering, 1);
}

static void linger_read(struct srv_connections *connections, struct srv_connection *entry) {
    char piece[PIECE];
    for (int i = 0; i < LINGER_READS; i++) {
        ssize_t n = recv((int)(entry - connections->entries), piece, sizeof piece, MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n <= 0) {
            linger_end(connections, entry);
            return;
        }
    }
}

bool srv_connections_serve(struct srv_connections *connections) {
    struct epoll_event events[64];
    bool any_gone = false;
    int n = epoll_wait(connections->epoll, events, 64, 0);
    for (int i = 0; i < n; i++) {
        struct srv_connection *entry = srv_connections_at(connections, events[i].data.fd);
        if (phase_of(atomic_load(&entry->word)) == SRV_LINGER)
            linger_read(connections, entry);
        else
            any_gone |= watched(connections, entry, events[i].events);
    }
    return any_gone;
}

/* --- deadlines --------------------------------------------------------------------------------------------------- */

static struct tcp_info info_of(int fd) {
    struct tcp_info info = {0};
    socklen_t size = sizeof info;
    getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size);
    return info;
}

/* Ends a held connection: whoever has begun a request is answered, then the library finds the socket closed. */
static void end(struct srv_connections *connections, struct srv_connection *connection, enum srv_phase phase) {
    bool begun = phase == SRV_BODY || (phase == SRV_HEAD && info_of(connection->fd).tcpi_bytes_received > 0);
    if (begun && !connections->limits.tls)
        srv_raw_answer(connection->fd, "timeout",
                       phase == SRV_BODY ? "The body did not arrive in time." : "The headers did not arrive in time.");
    if (phase == SRV_WRITING) {
        /* The client does not read: drop what it has not taken, or the kernel keeps it for minutes. */
        setsockopt(connection->fd, SOL_SOCKET, SO_LINGER, &(struct linger){1, 0}, sizeof(struct linger));
    }
    shutdown(connection->fd, SHUT_RDWR);
    atomic_store(&connection->word, word_of(SRV_DOOMED, (uint64_t)phase));
    if (begun || phase == SRV_WRITING)
        connections->ended(connections->ctx, phase);
}

/* The client will send no more, and all it sent was read. */
static bool has_ended(int fd, const struct tcp_info *info) {
    int unread = 0;
    return info->tcpi_state == CLOSE_WAIT && ioctl(fd, FIONREAD, &unread) == 0 && unread == 0;
}

/* What is reserved for the rest of a body that hardly comes is needed by others. */
static void let_lapse(struct srv_connections *connections, struct srv_connection *connection, uint64_t bytes,
                      uint64_t now) {
    if (connection->seen_bytes == UINT64_MAX || bytes >= connection->seen_bytes + PACE_BYTES)
        connection->seen_moving = now;
    else if (now >= connection->seen_moving + PATIENCE_MS)
        srv_budget_release(connections->limits.budget, atomic_exchange(&connection->reserved, 0));
}

/* The library does not say when the first byte of the next request arrives; the kernel counts. Nor does it always
 * notice that a client will send no more, when that was announced together with its last bytes: what is seen twice
 * without a request coming of it is taken for the end. */
static void look_at_silence(struct srv_connections *connections, struct srv_connection *connection, uint64_t word,
                            uint64_t now) {
    if (connection->seen_word != word) { /* busy connections are never looked at closer than this */
        connection->seen_word = word;
        connection->seen_bytes = UINT64_MAX;
        connection->seen_first = connection->seen_last = connection->seen_moving = now;
        return;
    }
    if (now < connection->seen_last + LOOK_AT_SILENCE_MS || !hold(connection, word))
        return;
    struct tcp_info info = info_of(connection->fd);
    uint64_t bytes = info.tcpi_bytes_received, next = word;
    if (has_ended(connection->fd, &info)) {
        end(connections, connection, SRV_IDLE);
        return;
    }
    if (phase_of(word) == SRV_BODY)
        let_lapse(connections, connection, bytes, now);
    if (phase_of(word) == SRV_IDLE && connection->seen_bytes != UINT64_MAX && bytes != connection->seen_bytes)
        next = word_of(SRV_HEAD, deadline_in(connections->limits.header_ms));
    connection->seen_bytes = bytes;
    connection->seen_last = now;
    atomic_store(&connection->word, next);
}

static void look_at(struct srv_connections *connections, struct srv_connection *connection, uint64_t now,
                    uint64_t idle_ms) {
    uint64_t word = atomic_load(&connection->word), deadline = word >> 4;
    enum srv_phase phase = phase_of(word);
    bool over = now >= deadline;
    if (phase == SRV_LINGER) {
        if (over)
            linger_end(connections, connection);
        return;
    }
    if (idle_ms && connection->seen_word == word && now >= connection->seen_first + idle_ms)
        over |= phase == SRV_IDLE || (phase == SRV_HEAD && connection->seen_bytes == 0);
    if (over && (phase == SRV_HEAD || phase == SRV_IDLE || phase == SRV_BODY || phase == SRV_WRITING)) {
        if (hold(connection, word))
            end(connections, connection, phase);
    } else if (phase == SRV_IDLE || phase == SRV_HEAD || phase == SRV_BODY) {
        look_at_silence(connections, connection, word, now);
    }
}

size_t srv_connections_look(struct srv_connections *connections, uint64_t now_ms, uint64_t idle_ms) {
    size_t open = 0;
    int highest = atomic_load(&connections->highest);
    for (int fd = 0; fd <= highest; fd++) {
        struct srv_connection *connection = &connections->entries[fd];
        enum srv_phase phase = phase_of(atomic_load_explicit(&connection->word, memory_order_relaxed));
        if (phase == SRV_FREE)
            continue;
        open++;
        look_at(connections, connection, now_ms, idle_ms);
    }
    return open;
}
