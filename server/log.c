/* log.c - a ring without locks, one writer. What a line looks like is in log_line.c.
 *
 * The ring is Vyukov's bounded queue: slot i carries a ticket that says whose turn it is, so that callers reserve a
 * slot with one compare-and-swap and the writer knows when it is filled. The writer sleeps only when the ring is empty;
 * after waking up it waits a few milliseconds for company, so that a busy service pays for one wake-up in many lines.
 */
#include "server/log.h"

#include "server/log_line.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    SLOTS = 1024,
    BATCH_BYTES = 4096, /* PIPE_BUF: lines of several processes on one pipe never mix */
    COMPANY_MS = 5,
    CLOSE_MS = 1000
};

struct slot {
    _Atomic size_t ticket;
    unsigned size;
    char text[SRV_LOG_LINE_MAX];
};

struct srv_log {
    enum srv_log_format format;
    int fd;
    pthread_t writer;
    sem_t wake;
    atomic_bool asleep, closing, finished;
    _Atomic uint64_t dropped;
    bool torn; /* the last write ended inside a line */
    uint64_t close_by_ms;
    _Alignas(64) _Atomic size_t tail;
    _Alignas(64) size_t head;
    struct slot slots[SLOTS];
};

/* --- the ring ---------------------------------------------------------------------------------------------------- */

static bool ring_push(struct srv_log *log, const char *text, size_t size) {
    size_t at = atomic_load_explicit(&log->tail, memory_order_relaxed);
    struct slot *slot;
    for (;;) {
        slot = &log->slots[at % SLOTS];
        size_t ticket = atomic_load_explicit(&slot->ticket, memory_order_acquire);
        if (ticket == at) {
            if (atomic_compare_exchange_weak_explicit(&log->tail, &at, at + 1, memory_order_relaxed,
                                                      memory_order_relaxed)) {
                break;
            }
        } else if (ticket < at) {
            return false; /* full: not yet written out since the last time round */
        } else {
            at = atomic_load_explicit(&log->tail, memory_order_relaxed);
        }
    }
    memcpy(slot->text, text, size);
    slot->size = (unsigned)size;
    /* Sequentially consistent, as is `asleep`: either the writer sees this line or we see that it sleeps. */
    atomic_store(&slot->ticket, at + 1);
    if (atomic_load(&log->asleep) && atomic_exchange(&log->asleep, false)) {
        sem_post(&log->wake);
    }
    return true;
}

static struct slot *ring_front(struct srv_log *log) {
    struct slot *slot = &log->slots[log->head % SLOTS];
    return atomic_load(&slot->ticket) == log->head + 1 ? slot : NULL;
}

static void ring_pop(struct srv_log *log, struct slot *slot) {
    atomic_store_explicit(&slot->ticket, log->head + SLOTS, memory_order_release);
    log->head++;
}

/* --- the writer -------------------------------------------------------------------------------------------------- */

static uint64_t monotonic_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static bool out_of_time(struct srv_log *log) {
    return atomic_load(&log->closing) && monotonic_ms() >= log->close_by_ms;
}

/* Waits until the descriptor takes a batch, so that the write below does not block; false when time is up. */
static bool wait_writable(struct srv_log *log) {
    struct pollfd ready = {.fd = log->fd, .events = POLLOUT};
    while (poll(&ready, 1, 100) <= 0) {
        if (out_of_time(log)) {
            return false;
        }
    }
    return true;
}

static void write_batch(struct srv_log *log, const char *text, size_t size, unsigned lines) {
    size_t done = 0;
    while (done < size) {
        if (!wait_writable(log)) {
            break;
        }
        ssize_t n = write(log->fd, text + done, size - done);
        if (n < 0 && errno != EINTR && errno != EAGAIN) {
            break; /* nobody reads, the disk is full, the descriptor is closed */
        }
        done += n > 0 ? (size_t)n : 0;
    }
    if (done < size) {
        atomic_fetch_add_explicit(&log->dropped, lines, memory_order_relaxed);
    }
    if (done > 0) {
        log->torn = text[done - 1] != '\n';
    }
}

/* Writes out what is there; false when there was nothing. */
static bool drain(struct srv_log *log) {
    bool any = false;
    for (struct slot *slot; (slot = ring_front(log)); any = true) {
        char batch[BATCH_BYTES];
        size_t size = 0;
        unsigned lines = 0;
        if (log->torn) {
            batch[size++] = '\n';
        }
        while (slot && size + slot->size <= sizeof batch) {
            memcpy(batch + size, slot->text, slot->size);
            size += slot->size;
            lines++;
            ring_pop(log, slot);
            slot = ring_front(log);
        }
        write_batch(log, batch, size, lines);
    }
    return any;
}

static void *write_out(void *arg) {
    struct srv_log *log = arg;
    const struct timespec company = {.tv_nsec = COMPANY_MS * 1000000};
    for (;;) {
        if (drain(log)) {
            nanosleep(&company, NULL);
            continue;
        }
        if (atomic_load(&log->closing)) {
            atomic_store(&log->finished, true);
            return NULL;
        }
        atomic_store(&log->asleep, true);
        if (!ring_front(log) && !atomic_load(&log->closing)) {
            while (sem_wait(&log->wake) != 0) {
            }
            nanosleep(&company, NULL);
        }
        atomic_store(&log->asleep, false);
    }
}

/* The writer takes no signals: they belong to the service, and SIGPIPE must stay an EPIPE here. */
static bool start_writer(struct srv_log *log) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(&log->writer, NULL, write_out, log) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

struct srv_log *srv_log_open(int fd, enum srv_log_format format) {
    struct srv_log *log = aligned_alloc(64, (sizeof *log + 63) / 64 * 64);
    if (!log) {
        return NULL;
    }
    log->format = format;
    log->fd = fd;
    log->torn = false;
    log->close_by_ms = 0;
    log->head = 0;
    atomic_init(&log->asleep, false);
    atomic_init(&log->closing, false);
    atomic_init(&log->finished, false);
    atomic_init(&log->dropped, 0);
    atomic_init(&log->tail, 0);
    for (size_t i = 0; i < SLOTS; i++) {
        atomic_init(&log->slots[i].ticket, i);
    }
    sem_init(&log->wake, 0, 0);
    if (!start_writer(log)) {
        sem_destroy(&log->wake);
        free(log);
        return NULL;
    }
    return log;
}

uint64_t srv_log_dropped(const struct srv_log *log) {
    return log ? atomic_load_explicit(&log->dropped, memory_order_relaxed) : 0;
}

void srv_log_close(struct srv_log *log) {
    if (!log) {
        return;
    }
    log->close_by_ms = monotonic_ms() + CLOSE_MS;
    atomic_store(&log->closing, true);
    sem_post(&log->wake);
    const struct timespec moment = {.tv_nsec = 1000000};
    while (!atomic_load(&log->finished)) {
        if (monotonic_ms() > log->close_by_ms + CLOSE_MS) {
            pthread_detach(log->writer);
            return; /* stuck in a write that never returns: its memory must stay */
        }
        nanosleep(&moment, NULL);
    }
    pthread_join(log->writer, NULL);
    sem_destroy(&log->wake);
    free(log);
}

/* --- lines ------------------------------------------------------------------------------------------------------- */

static void put_line(struct srv_log *log, const char *text, size_t size) {
    if (!ring_push(log, text, size)) {
        atomic_fetch_add_explicit(&log->dropped, 1, memory_order_relaxed);
    }
}

static struct timespec wall_clock(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return now;
}

void srv_log_request(struct srv_log *log, const struct srv_log_request *request) {
    char text[SRV_LOG_LINE_MAX];
    if (log && log->format != SRV_LOG_OFF) {
        size_t size = srv_log_line_request(text, log->format, wall_clock(), request);
        put_line(log, text, size);
    }
}

void srv_log_event(struct srv_log *log, const char *level, const char *event, const char *message,
                   const struct srv_log_field *fields, size_t count) {
    char text[SRV_LOG_LINE_MAX];
    if (log && log->format != SRV_LOG_OFF) {
        const struct srv_log_event what = {level, event, message, fields, count};
        size_t size = srv_log_line_event(text, log->format, wall_clock(), &what);
        put_line(log, text, size);
    }
}
