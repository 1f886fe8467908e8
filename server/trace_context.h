/* trace_context.h - names that follow a request through several services: traceparent and X-Request-Id. */
#ifndef SRV_TRACE_CONTEXT_H
#define SRV_TRACE_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

enum { SRV_TRACEPARENT_SIZE = 56, SRV_TRACE_ID_SIZE = 33, SRV_SPAN_ID_SIZE = 17, SRV_REQUEST_ID_SIZE = 129 };

/* struct srv_trace - the trace a request belongs to.
 *
 *     traceparent  to send back: version 00, the trace, our own span, the caller's flags (sampled, random)
 *     parent_id    the caller's span; "" when the trace was begun here
 */
struct srv_trace {
    char traceparent[SRV_TRACEPARENT_SIZE], trace_id[SRV_TRACE_ID_SIZE], parent_id[SRV_SPAN_ID_SIZE];
};

/* srv_trace_begin - takes over a valid traceparent header, or begins a new trace (NULL, malformed, all zeros, version
 * ff). A higher version is read as far as version 00 goes.
 * Source    W3C Trace Context, section 3.2 */
void srv_trace_begin(const char *traceparent, struct srv_trace *trace);

/* srv_request_id - copies the client's X-Request-Id when it has 1 to 128 visible ASCII characters, else makes one of 32
 * hex digits. */
void srv_request_id(const char *given, char out[SRV_REQUEST_ID_SIZE]);

/* srv_random - 64 random bits, never blocking; for names, not for secrets. Each thread has its own generator, seeded by
 * the kernel. */
uint64_t srv_random(void);

#endif
