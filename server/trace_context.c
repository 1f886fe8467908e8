/* trace_context.c - see trace_context.h. */
#include "server/trace_context.h"

#include <stddef.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

/* Offsets into 00-0123456789abcdef0123456789abcdef-0123456789abcdef-01 */
enum { TRACE_AT = 3, TRACE_DIGITS = 32, SPAN_AT = 36, SPAN_DIGITS = 16, FLAGS_AT = 53, TOTAL = 55 };

/* --- random names ------------------------------------------------------------------------------------------------ */

static uint64_t left(uint64_t x, unsigned n) {
    return x << n | x >> (64 - n);
}

static void seed(uint64_t state[4]) {
    size_t size = 4 * sizeof *state;
    if (getrandom(state, size, GRND_NONBLOCK) != (ssize_t)size) {
        struct timespec now; /* early in the life of the machine: names will do with less */
        clock_gettime(CLOCK_MONOTONIC, &now);
        uint64_t x = (uint64_t)now.tv_nsec ^ (uint64_t)(uintptr_t)state;
        for (size_t i = 0; i < 4; i++) {
            x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u + 0x9E3779B97F4A7C15u;
            state[i] = x ^ x >> 31;
        }
    }
    state[0] |= 1; /* never all zero */
}

/* xoshiro256** (Blackman and Vigna 2018) */
uint64_t srv_random(void) {
    static _Thread_local uint64_t s[4];
    static _Thread_local bool seeded;
    if (!seeded) {
        seed(s);
        seeded = true;
    }
    uint64_t result = left(s[1] * 5, 7) * 9, t = s[1] << 17;
    s[2] ^= s[0], s[3] ^= s[1], s[1] ^= s[2], s[0] ^= s[3];
    s[2] ^= t;
    s[3] = left(s[3], 45);
    return result;
}

/* 16 hex digits, never all zeros */
static void write_random(char *out) {
    uint64_t bits;
    while ((bits = srv_random()) == 0) {
    }
    for (int i = 0; i < 16; i++) {
        out[i] = "0123456789abcdef"[bits >> (60 - 4 * i) & 15];
    }
}

/* --- traceparent ------------------------------------------------------------------------------------------------- */

static int hex(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* `n` lower-case hex digits, not all of them 0 unless zeros are fine */
static bool digits(const char *at, size_t n, bool zeros) {
    bool nonzero = zeros;
    for (size_t i = 0; i < n; i++) {
        if (hex(at[i]) < 0) {
            return false;
        }
        nonzero |= at[i] != '0';
    }
    return nonzero;
}

static bool valid(const char *header) {
    if (!header || strnlen(header, TOTAL) < TOTAL || !digits(header, 2, true) || memcmp(header, "ff", 2) == 0) {
        return false;
    }
    if (header[TRACE_AT - 1] != '-' || header[SPAN_AT - 1] != '-' || header[FLAGS_AT - 1] != '-') {
        return false;
    }
    bool version_0 = memcmp(header, "00", 2) == 0;
    if (header[TOTAL] && (version_0 || header[TOTAL] != '-')) {
        return false; /* only a later version may go on, after another dash */
    }
    return digits(header + TRACE_AT, TRACE_DIGITS, false) && digits(header + SPAN_AT, SPAN_DIGITS, false) &&
           digits(header + FLAGS_AT, 2, true);
}

void srv_trace_begin(const char *traceparent, struct srv_trace *trace) {
    char *out = trace->traceparent;
    memcpy(out, "00-", 3);
    trace->parent_id[0] = 0;
    int flags = 0;
    if (valid(traceparent)) {
        memcpy(out + TRACE_AT, traceparent + TRACE_AT, TRACE_DIGITS);
        memcpy(trace->parent_id, traceparent + SPAN_AT, SPAN_DIGITS);
        trace->parent_id[SPAN_DIGITS] = 0;
        flags = hex(traceparent[FLAGS_AT + 1]) & 3;
    } else {
        write_random(out + TRACE_AT);
        write_random(out + TRACE_AT + 16);
        flags = 2; /* the trace's name is random */
    }
    memcpy(trace->trace_id, out + TRACE_AT, TRACE_DIGITS);
    trace->trace_id[TRACE_DIGITS] = 0;
    out[SPAN_AT - 1] = '-';
    write_random(out + SPAN_AT);
    out[FLAGS_AT - 1] = '-';
    out[FLAGS_AT] = '0';
    out[FLAGS_AT + 1] = (char)('0' + flags);
    out[TOTAL] = 0;
}

void srv_request_id(const char *given, char out[SRV_REQUEST_ID_SIZE]) {
    size_t n = 0;
    while (given && n < SRV_REQUEST_ID_SIZE && given[n] > 0x20 && given[n] < 0x7F) {
        n++;
    }
    if (n > 0 && n < SRV_REQUEST_ID_SIZE && !given[n]) {
        memcpy(out, given, n + 1);
        return;
    }
    write_random(out);
    write_random(out + 16);
    out[32] = 0;
}
