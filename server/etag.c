/* etag.c - see etag.h. */
#include "server/etag.h"

#include "server/sha256.h"

#include <stdio.h>
#include <string.h>

void srv_etag_make(const void *data, size_t size, enum srv_coding coding, char out[SRV_ETAG_MAX]) {
    uint8_t digest[SRV_SHA256_SIZE];
    srv_sha256(data, size, digest);
    char *at = out;
    *at++ = '"';
    for (size_t i = 0; i < 8; i++) {
        at += sprintf(at, "%02x", digest[i]);
    }
    sprintf(at, "%s%s\"", coding == SRV_IDENTITY ? "" : "-", coding == SRV_IDENTITY ? "" : srv_coding_name(coding));
}

bool srv_etag_matches(const char *if_none_match, const char *etag) {
    if (!if_none_match) {
        return false;
    }
    size_t size = strlen(etag);
    const char *at = if_none_match;
    for (;;) {
        at += strspn(at, " \t,");
        if (*at == '*') {
            return true;
        }
        if (strncmp(at, "W/", 2) == 0) {
            at += 2; /* weak comparison looks at the opaque part only */
        }
        if (*at != '"') {
            return false;
        }
        size_t tag = 1 + strcspn(at + 1, "\"");
        if (!at[tag]) {
            return false;
        }
        tag++;
        if (tag == size && memcmp(at, etag, size) == 0) {
            return true;
        }
        at += tag;
    }
}
