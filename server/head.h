/* head.h - the request line and the headers, from the library's hands into ours, and nothing doubtful among them. */
#ifndef SRV_HEAD_H
#define SRV_HEAD_H

#include "server/request.h"

enum { SRV_TARGET_MAX = 8192, SRV_HEADERS_MAX = 16384, SRV_FIELDS_MAX = 100 };

/* srv_head_read - reads and checks the head of a request: fills method, path, query, head, and begins its trace.
 *
 *     url, version   as the library gives them to its handler
 *
 * Returns NULL, or the problem code of a refusal after which the connection must be closed, with a sentence in
 * `detail`.
 */
const char *srv_head_read(struct srv_request *request, const char *url, const char *method, const char *version,
                          const char **detail);

/* srv_head_fault - what is wrong in the framing, as far as the headers that the library has read tell. Returns NULL
 * when it is something else, or a problem code with a sentence in `detail`. */
const char *srv_head_fault(struct srv_request *request, const char **detail);

/* srv_target_split - the request target (RFC 9112, section 3.2: origin form, absolute form, or "*") into a decoded
 * path and a raw query, in place.
 * Returns false when it is malformed, or holds %00. */
bool srv_target_split(char *target, const char **path, const char **query);

#endif
