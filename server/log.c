/* log.c - formatting on the caller's stack, a ring without locks, one writer.
 *
 * The ring is Vyukov's bounded queue: slot i carries a ticket that says whose turn it is, so that callers reserve a
 * slot with one compare-and-swap and the writer knows when it is filled. The writer sleeps only when the ring is empty;
 * after waking up it waits a few milliseconds for company, so that a busy service pays for one wake-up in many lines.
 */
#include "server/log.h"

#include "server/escape.h"

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
    LINE_MAX_BYTES = 1000,
    SLOTS = 1024,
    BATCH_BYTES = 4096, /* PIPE_BUF: lines of several processes on one pipe never mix */
    COMPANY_MS = 5,
    CLOSE_MS = 1000
};

struct slot {
    _Atomic size_t ticket;
    unsigned size;
    char text[LINE_MAX_BYTES];
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

/* struct line - text being put together; appending stops at the end instead of overflowing. */
struct line {
    char *at, *end, *text;
};

static void put(struct line *line, const char *text) {
    size_t n = strlen(text), room = (size_t)(line->end - line->at);
    n = n < room ? n : room;
    memcpy(line->at, text, n);
    line->at += n;
}

/* At most `most` bytes of escaped text. */
static void put_escaped(struct line *line, const char *text, size_t most) {
    const char *end = (size_t)(line->end - line->at) < most ? line->end : line->at + most;
    line->at = srv_escape_json(line->at, end, text);
}

static void put_number(struct line *line, uint64_t value, unsigned width) {
    char digits[24], *at = digits + sizeof digits - 1;
    *at = 0;
    for (; value || width; value /= 10) {
        *--at = (char)('0' + value % 10);
        width -= width > 0;
    }
    put(line, at);
}

static void put_ms(struct line *line, uint64_t ns) {
    put_number(line, ns / 1000000, 1);
    put(line, ".");
    put_number(line, ns / 1000 % 1000, 3);
}

/* RFC 3339 in UTC with milliseconds. Days to date: Hinnant, "chrono-compatible low-level date algorithms". */
static void put_time(struct line *line) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t seconds = now.tv_sec > 0 ? (uint64_t)now.tv_sec : 0, day = seconds / 86400 + 719468,
             second = seconds % 86400;
    uint64_t era = day / 146097, doe = day % 146097;
    uint64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    uint64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;
    uint64_t month = mp < 10 ? mp + 3 : mp - 9;
    put_number(line, yoe + era * 400 + (month <= 2), 4);
    put(line, "-");
    put_number(line, month, 2);
    put(line, "-");
    put_number(line, doy - (153 * mp + 2) / 5 + 1, 2);
    put(line, "T");
    put_number(line, second / 3600, 2);
    put(line, ":");
    put_number(line, second / 60 % 60, 2);
    put(line, ":");
    put_number(line, second % 60, 2);
    put(line, ".");
    put_number(line, (uint64_t)now.tv_nsec / 1000000, 3);
    put(line, "Z");
}

/* ,"name":"text" unless there is none */
static void member(struct line *line, const char *name, const char *text, size_t most) {
    if (text && *text) {
        put(line, ",\"");
        put(line, name);
        put(line, "\":\"");
        put_escaped(line, text, most);
        put(line, "\"");
    }
}

static void member_number(struct line *line, const char *name, uint64_t value) {
    put(line, ",\"");
    put(line, name);
    put(line, "\":");
    put_number(line, value, 1);
}

static void member_ms(struct line *line, const char *name, uint64_t ns) {
    put(line, ",\"");
    put(line, name);
    put(line, "\":");
    put_ms(line, ns);
}

static struct line line_begin(char text[LINE_MAX_BYTES]) {
    return (struct line){text, text + LINE_MAX_BYTES - 2, text}; /* room for "}\n" always */
}

static void line_end(struct srv_log *log, struct line *line, const char *ending) {
    line->end += 2;
    put(line, ending);
    if (!ring_push(log, line->text, (size_t)(line->at - line->text))) {
        atomic_fetch_add_explicit(&log->dropped, 1, memory_order_relaxed);
    }
}

/* The bounds of the texts below add up to less than a line, so that a line is never cut in the middle of a member. */
static void request_json(struct line *line, const struct srv_log_request *r) {
    put(line, "{\"time\":\"");
    put_time(line);
    put(line, "\",\"level\":\"info\",\"event\":\"request\"");
    member(line, "id", r->id, 160);
    member(line, "method", r->method, 16);
    member(line, "route", r->route, 64);
    member_number(line, "status", (uint64_t)r->status);
    member_number(line, "bytes_in", r->bytes_in);
    member_number(line, "bytes_out", r->bytes_out);
    member_ms(line, "ms", r->total_ns);
    member_ms(line, "queue_ms", r->queue_ns);
    member_ms(line, "compute_ms", r->compute_ns);
    member(line, "shape", r->shape, 96);
    member(line, "code", r->code, 40);
    member(line, "trace_id", r->trace_id, 32);
    member(line, "client", r->client, 48);
    member(line, "key", r->key, 64);
}

static void word(struct line *line, const char *before, const char *text, size_t most) {
    if (text && *text) {
        put(line, before);
        put_escaped(line, text, most);
    }
}

static void request_text(struct line *line, const struct srv_log_request *r) {
    put_time(line);
    put(line, " ");
    put_number(line, (uint64_t)r->status, 3);
    word(line, " ", r->method, 16);
    word(line, " ", r->route, 64);
    put(line, " ");
    put_ms(line, r->total_ns);
    put(line, " ms (queue ");
    put_ms(line, r->queue_ns);
    put(line, ", compute ");
    put_ms(line, r->compute_ns);
    put(line, ") in ");
    put_number(line, r->bytes_in, 1);
    put(line, " out ");
    put_number(line, r->bytes_out, 1);
    word(line, " ", r->code, 40);
    word(line, " shape ", r->shape, 96);
    word(line, " from ", r->client, 48);
    word(line, " key ", r->key, 64);
    word(line, " id ", r->id, 160);
}

void srv_log_request(struct srv_log *log, const struct srv_log_request *request) {
    if (!log || log->format == SRV_LOG_OFF) {
        return;
    }
    char text[LINE_MAX_BYTES];
    struct line line = line_begin(text);
    if (log->format == SRV_LOG_JSON) {
        request_json(&line, request);
        line_end(log, &line, "}\n");
    } else {
        request_text(&line, request);
        line_end(log, &line, "\n");
    }
}

/* A field of an event, whole or not at all. */
static void event_field(struct line *line, enum srv_log_format format, const struct srv_log_field *field) {
    struct line whole = *line;
    char number[32];
    snprintf(number, sizeof number, "%.15g", field->number);
    bool json = format == SRV_LOG_JSON;
    put(line, json ? ",\"" : " ");
    put(line, field->name);
    put(line, json ? "\":" : "=");
    put(line, json && field->text ? "\"" : "");
    put_escaped(line, field->text ? field->text : number, 400);
    put(line, json && field->text ? "\"" : "");
    if (line->at == line->end) {
        *line = whole;
    }
}

void srv_log_event(struct srv_log *log, const char *level, const char *event, const char *message,
                   const struct srv_log_field *fields, size_t count) {
    if (!log || log->format == SRV_LOG_OFF) {
        return;
    }
    char text[LINE_MAX_BYTES];
    struct line line = line_begin(text);
    bool json = log->format == SRV_LOG_JSON;
    if (json) {
        put(&line, "{\"time\":\"");
        put_time(&line);
        put(&line, "\"");
        member(&line, "level", level, 16);
        member(&line, "event", event, 40);
        member(&line, "message", message, 500);
    } else {
        put_time(&line);
        word(&line, " ", level, 16);
        word(&line, ": ", message, 500);
    }
    for (size_t i = 0; i < count; i++) {
        event_field(&line, log->format, &fields[i]);
    }
    line_end(log, &line, json ? "}\n" : "\n");
}
