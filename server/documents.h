/* documents.h - answers that never change: files compiled into the program, and the list of problems. */
#ifndef SRV_DOCUMENTS_H
#define SRV_DOCUMENTS_H

#include "server/etag.h"

#include <stdbool.h>
#include <stddef.h>

/* struct srv_document
 *
 *     path, type   "/openapi.yaml" and its media type
 *     policy       Content-Security-Policy; NULL: the one that allows nothing
 *     data         the bytes; `packed` the same with gzip, NULL when that saves nothing
 *     etag         of each form
 *     owned        data was made at run time
 */
struct srv_document {
    const char *path, *type, *policy;
    const void *data;
    size_t size;
    void *packed;
    size_t packed_size;
    char etag[SRV_ETAG_MAX], packed_etag[SRV_ETAG_MAX];
    bool owned;
};

/* srv_documents_new - all documents, packed and tagged; `count` out. Returns NULL out of memory. */
struct srv_document *srv_documents_new(size_t *count);
void srv_documents_free(struct srv_document *documents, size_t count);

#endif
