/* test_trace_context - which headers are taken over, which begin a new trace, and that made names are well-formed and
 * differ. */
#include "server/trace_context.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <string.h>

#define TRACE "4bf92f3577b34da6a3ce929d0e0e4736"
#define SPAN "00f067aa0ba902b7"
#define ZEROS "00000000000000000000000000000000"

/* 00-32hex-16hex-0x, nothing all zero */
static void well_formed(const struct srv_trace *t) {
    cr_assert_eq(strlen(t->traceparent), 55);
    cr_assert_eq(strspn(t->traceparent, "0123456789abcdef-"), 55);
    cr_assert(strncmp(t->traceparent, "00-", 3) == 0 && t->traceparent[35] == '-' && t->traceparent[52] == '-');
    cr_assert(strncmp(t->traceparent + 3, t->trace_id, 32) == 0 && strlen(t->trace_id) == 32);
    cr_assert_str_neq(t->trace_id, ZEROS);
    cr_assert(strncmp(t->traceparent + 36, ZEROS, 16) != 0);
}

Test(trace, a_valid_header_is_taken_over) {
    static const struct {
        const char *header, *flags;
    } rows[] = {{"00-" TRACE "-" SPAN "-01", "01"}, {"00-" TRACE "-" SPAN "-00", "00"},
                {"00-" TRACE "-" SPAN "-03", "03"}, {"00-" TRACE "-" SPAN "-ff", "03"},
                {"cc-" TRACE "-" SPAN "-01", "01"}, {"cc-" TRACE "-" SPAN "-01-what-the-future-brings", "01"},
                {"01-" TRACE "-" SPAN "-01-", "01"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct srv_trace t;
        srv_trace_begin(rows[i].header, &t);
        well_formed(&t);
        cr_assert_str_eq(t.trace_id, TRACE, "%s", rows[i].header);
        cr_assert_str_eq(t.parent_id, SPAN);
        cr_assert(strncmp(t.traceparent + 36, SPAN, 16) != 0, "the span is our own");
        cr_assert_str_eq(t.traceparent + 53, rows[i].flags);
    }
}

Test(trace, others_begin_a_new_one) {
    const char *headers[] = {NULL,
                             "",
                             "00",
                             "00-" TRACE "-" SPAN,
                             "00-" TRACE "-" SPAN "-",
                             "00-" TRACE "-" SPAN "-1",
                             "00-" TRACE "-" SPAN "-01-x",
                             "00-" TRACE "-" SPAN "-010",
                             "00-" TRACE "-" SPAN "-01 ",
                             "ff-" TRACE "-" SPAN "-01",
                             "cc-" TRACE "-" SPAN "-01.more",
                             "0-" TRACE "-" SPAN "-01x",
                             "00-" ZEROS "-" SPAN "-01",
                             "00-" TRACE "-0000000000000000-01",
                             "00-4BF92F3577B34DA6A3CE929D0E0E4736-" SPAN "-01",
                             "00-" TRACE "-00F067AA0BA902B7-01",
                             "00-" TRACE "-" SPAN "-0g",
                             "00_" TRACE "-" SPAN "-01",
                             "00-" TRACE "x" SPAN "-01",
                             "00-" TRACE "-" SPAN "x01",
                             "00-4bf92f3577b34da6a3ce929d0e0e473-" SPAN "-011",
                             "Z0-" TRACE "-" SPAN "-01",
                             " 00-" TRACE "-" SPAN "-01"};
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        struct srv_trace t, u;
        srv_trace_begin(headers[i], &t);
        srv_trace_begin(headers[i], &u);
        well_formed(&t);
        cr_assert_str_neq(t.trace_id, TRACE, "%s", headers[i]);
        cr_assert_str_neq(t.trace_id, u.trace_id);
        cr_assert_str_eq(t.parent_id, "");
    }
}

Test(request_id, the_clients_or_a_new_one) {
    char longest[129], out[SRV_REQUEST_ID_SIZE], again[SRV_REQUEST_ID_SIZE];
    memset(longest, 'x', 128);
    longest[128] = 0;
    const char *good[] = {"a", "6f1c-\"quoted\"/~!", longest};
    for (size_t i = 0; i < 3; i++) {
        srv_request_id(good[i], out);
        cr_assert_str_eq(out, good[i]);
    }
    char too_long[130];
    memset(too_long, 'x', 129);
    too_long[129] = 0;
    const char *bad[] = {NULL, "", " ", "a b", "a\n", "\x7f", "caf\xc3\xa9", "a\r\nX-Evil: 1", too_long};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        srv_request_id(bad[i], out);
        srv_request_id(bad[i], again);
        cr_assert_eq(strlen(out), 32);
        cr_assert_eq(strspn(out, "0123456789abcdef"), 32);
        cr_assert_str_neq(out, again);
    }
}

static void *one(void *out) {
    *(uint64_t *)out = srv_random();
    return NULL;
}

Test(random, threads_and_calls_differ) {
    uint64_t values[8];
    pthread_t thread;
    for (int i = 0; i < 8; i++) {
        pthread_create(&thread, NULL, one, &values[i]);
        pthread_join(thread, NULL);
        for (int j = 0; j < i; j++)
            cr_assert_neq(values[i], values[j]);
    }
    uint64_t all = 0, none = ~UINT64_C(0);
    for (int i = 0; i < 200; i++) {
        uint64_t x = srv_random();
        all |= x, none &= x;
    }
    cr_assert_eq(all, ~UINT64_C(0), "every bit is set now and then");
    cr_assert_eq(none, 0, "and clear now and then");
}
