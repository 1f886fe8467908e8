/* etag.h - validators of fixed documents. */
#ifndef SRV_ETAG_H
#define SRV_ETAG_H

#include "server/coding.h"

#include <stdbool.h>
#include <stddef.h>

enum { SRV_ETAG_MAX = 48 };

/* srv_etag_make - a strong validator from the bytes of the document before packing; each coding has its own, as it
 * must. `out` becomes e.g. "9f86d081884c7d65-gzip" with the quotes. */
void srv_etag_make(const void *data, size_t size, enum srv_coding coding, char out[SRV_ETAG_MAX]);

/* srv_etag_matches - does an If-None-Match value (NULL: no) name this tag, by weak comparison, or is it "*"? */
bool srv_etag_matches(const char *if_none_match, const char *etag);

#endif
