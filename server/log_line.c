/* log_line.c - appending to a buffer on the caller's stack; no printf where requests are logged. */
#include "server/log_line.h"

#include "server/escape.h"

#include <stdio.h>
#include <string.h>

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
static void put_time(struct line *line, struct timespec now) {
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

static struct line line_begin(char text[SRV_LOG_LINE_MAX]) {
    return (struct line){text, text + SRV_LOG_LINE_MAX - 2, text}; /* room for "}\n" always */
}

static size_t line_end(struct line *line, const char *ending) {
    line->end += 2;
    put(line, ending);
    return (size_t)(line->at - line->text);
}

/* The bounds of the texts below add up to less than a line, so that a line is never cut in the middle of a member. */
static void request_json(struct line *line, struct timespec now, const struct srv_log_request *r) {
    put(line, "{\"time\":\"");
    put_time(line, now);
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

static void request_text(struct line *line, struct timespec now, const struct srv_log_request *r) {
    put_time(line, now);
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

size_t srv_log_line_request(char text[SRV_LOG_LINE_MAX], enum srv_log_format format, struct timespec now,
                            const struct srv_log_request *request) {
    struct line line = line_begin(text);
    bool json = format == SRV_LOG_JSON;
    if (json) {
        request_json(&line, now, request);
    } else {
        request_text(&line, now, request);
    }
    return line_end(&line, json ? "}\n" : "\n");
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

size_t srv_log_line_event(char text[SRV_LOG_LINE_MAX], enum srv_log_format format, struct timespec now,
                          const struct srv_log_event *event) {
    struct line line = line_begin(text);
    bool json = format == SRV_LOG_JSON;
    if (json) {
        put(&line, "{\"time\":\"");
        put_time(&line, now);
        put(&line, "\"");
        member(&line, "level", event->level, 16);
        member(&line, "event", event->event, 40);
        member(&line, "message", event->message, 500);
    } else {
        put_time(&line, now);
        word(&line, " ", event->level, 16);
        word(&line, ": ", event->message, 500);
    }
    for (size_t i = 0; i < event->count; i++) {
        event_field(&line, format, &event->fields[i]);
    }
    return line_end(&line, json ? "}\n" : "\n");
}
