/* framing.h - where a request ends, and for whom it is meant: what must be beyond doubt before anything else is read.
 *
 * Two servers that disagree on this can be made to see different requests (request smuggling), so everything that is
 * open to two readings is refused. Pure functions over header lines.
 */
#ifndef SRV_FRAMING_H
#define SRV_FRAMING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* struct srv_field - one header line as received; need not end in NUL. */
struct srv_field {
    const char *name, *value;
    size_t name_size, value_size;
};

enum srv_framing_fault {
    SRV_FRAMING_OK,
    SRV_FRAMING_BAD,            /* 400, then close */
    SRV_FRAMING_EXPECTATION,    /* 417: an Expect other than 100-continue */
    SRV_FRAMING_UNKNOWN_CODING, /* 501, then close: a transfer coding other than chunked */
    SRV_FRAMING_VERSION         /* 505, then close: not HTTP/1.x */
};

/* struct srv_framing - what the headers say.
 *
 *     has_length, length   Content-Length
 *     chunked              Transfer-Encoding: chunked
 *     expect_continue      the client waits for 100 before it sends the body
 *     detail               on a fault: a sentence; static
 */
struct srv_framing {
    bool has_length, chunked, expect_continue;
    uint64_t length;
    const char *detail;
};

/* srv_framing_check - checks Host, Content-Length, Transfer-Encoding, Expect and the form of every line.
 *
 *     version   "HTTP/1.1"; NULL: not known, nothing that depends on it is refused
 *
 * Refused as SRV_FRAMING_BAD: a name that is not a token (also with a space before the colon), control characters in a
 * value, no or several Host lines in HTTP/1.1 (several also in 1.0), a malformed Host, repeated or malformed
 * Content-Length, Content-Length beside Transfer-Encoding, Transfer-Encoding in HTTP/1.0, repeated, or chunked twice or
 * not last.
 */
enum srv_framing_fault srv_framing_check(const char *version, const struct srv_field *fields, size_t count,
                                         struct srv_framing *framing);

/* srv_framing_status, srv_framing_code - status and problem code of a fault. */
int srv_framing_status(enum srv_framing_fault fault);
const char *srv_framing_code(enum srv_framing_fault fault);

/* srv_host_valid - is this a host, or host:port, as a Host header may hold it (RFC 3986, section 3.2.2)? Empty is. */
bool srv_host_valid(const char *host, size_t size);

#endif
