/* coding.c - negotiation by RFC 9110, section 12.5.3; packing by zlib. */
#include "server/coding.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#define ZLIB_CONST /* next_in is not written through */
#include <zlib.h>

const char *srv_coding_name(enum srv_coding coding) {
    return coding == SRV_GZIP ? "gzip" : coding == SRV_DEFLATE ? "deflate" : "identity";
}

/* --- negotiation ------------------------------------------------------------------------------------------------- */

static const char *blanks(const char *at, const char *end) {
    while (at < end && (*at == ' ' || *at == '\t')) {
        at++;
    }
    return at;
}

/* A weight in thousandths: 0[.ddd] or 1[.000]; -1 when malformed. */
static int read_q(const char *at, const char *end) {
    if (at == end || (*at != '0' && *at != '1')) {
        return -1;
    }
    int q = (*at++ - '0') * 1000, place = 100;
    if (at < end && *at == '.') {
        for (at++; at < end && isdigit((unsigned char)*at) && place; at++, place /= 10) {
            q += (*at - '0') * place;
        }
    }
    return blanks(at, end) == end && q <= 1000 ? q : -1;
}

/* One member: its name's length and its weight; false when malformed. */
static bool read_member(const char *at, const char *end, size_t *name_size, int *q) {
    const char *name_end = at;
    while (name_end < end && *name_end != ';' && *name_end != ' ' && *name_end != '\t') {
        name_end++;
    }
    *name_size = (size_t)(name_end - at);
    *q = 1000;
    at = blanks(name_end, end);
    if (at < end) {
        if (*at != ';') {
            return false;
        }
        at = blanks(at + 1, end);
        if (end - at < 2 || (*at != 'q' && *at != 'Q') || at[1] != '=') {
            return false;
        }
        *q = read_q(at + 2, end);
    }
    return *name_size > 0 && *q >= 0;
}

static bool is_name(const char *text, size_t size, const char *name) {
    return size == strlen(name) && strncasecmp(text, name, size) == 0;
}

/* struct wishes - weight of each coding in thousandths, -1 while nothing was said. */
struct wishes {
    int gzip, deflate, identity, any;
};

static struct wishes read_wishes(const char *header) {
    struct wishes w = {-1, -1, -1, -1};
    for (const char *at = header, *next; *at; at = *next ? next + 1 : next) {
        next = at + strcspn(at, ",");
        at = blanks(at, next);
        size_t size;
        int q;
        if (!read_member(at, next, &size, &q)) {
            continue;
        }
        int *wish = is_name(at, size, "gzip") || is_name(at, size, "x-gzip") ? &w.gzip
                    : is_name(at, size, "deflate")                           ? &w.deflate
                    : is_name(at, size, "identity")                          ? &w.identity
                    : is_name(at, size, "*")                                 ? &w.any
                                                                             : NULL;
        if (wish) {
            *wish = q;
        }
    }
    return w;
}

enum srv_coding srv_coding_negotiate(const char *accept_encoding) {
    if (!accept_encoding || !accept_encoding[strspn(accept_encoding, " \t,")]) {
        return SRV_IDENTITY;
    }
    struct wishes w = read_wishes(accept_encoding);
    int gzip = w.gzip >= 0 ? w.gzip : w.any, deflate = w.deflate >= 0 ? w.deflate : w.any;
    int identity = w.identity >= 0 ? w.identity : w.any;
    /* Not spoken of: acceptable, but behind everything that is. */
    bool silent = identity < 0;
    identity = silent ? 0 : identity;
    if (gzip > 0 && gzip >= deflate && gzip >= identity) {
        return SRV_GZIP;
    }
    if (deflate > 0 && deflate >= identity) {
        return SRV_DEFLATE;
    }
    return silent || identity > 0 ? SRV_IDENTITY : SRV_NOT_ACCEPTABLE;
}

bool srv_coding_takes_identity(const char *accept_encoding) {
    struct wishes w = read_wishes(accept_encoding ? accept_encoding : "");
    return (w.identity >= 0 ? w.identity : w.any) != 0;
}

bool srv_content_coding(const char *content_encoding, enum srv_coding *coding) {
    const char *name = content_encoding ? content_encoding + strspn(content_encoding, " \t") : "";
    size_t size = strcspn(name, " \t");
    if (name[size + strspn(name + size, " \t")]) {
        return false;
    }
    *coding = is_name(name, size, "gzip") || is_name(name, size, "x-gzip") ? SRV_GZIP
              : is_name(name, size, "deflate")                             ? SRV_DEFLATE
                                                                           : SRV_IDENTITY;
    return *coding != SRV_IDENTITY || size == 0 || is_name(name, size, "identity");
}

/* --- packing ----------------------------------------------------------------------------------------------------- */

/* zlib counts in unsigned int; and this much takes some milliseconds, after which somebody may want to stop. */
enum { PORTION = 1 << 18 };

static uInt portion(size_t left) {
    return left < PORTION ? (uInt)left : PORTION;
}

static int window(enum srv_coding coding) {
    return coding == SRV_GZIP ? 15 + 16 : 15;
}

void *srv_compress(const struct srv_packing *how, const void *data, size_t size, size_t *packed_size) {
    z_stream z = {0};
    size_t below = how->below ? how->below : size;
    unsigned char *out = below > 1 ? malloc(below) : NULL;
    if (!out || deflateInit2(&z, how->level, Z_DEFLATED, window(how->coding), 8, Z_DEFAULT_STRATEGY) != Z_OK) {
        free(out);
        return NULL;
    }
    size_t taken = 0, made = 0;
    int state = Z_OK;
    while (state == Z_OK && made < below - 1 && !(how->stop && how->stop(how->ctx))) {
        uInt in = portion(size - taken), room = portion(below - 1 - made);
        z.next_in = (const Bytef *)data + taken;
        z.avail_in = in;
        z.next_out = out + made;
        z.avail_out = room;
        state = deflate(&z, in == size - taken ? Z_FINISH : Z_NO_FLUSH);
        taken += in - z.avail_in;
        made += room - z.avail_out;
    }
    deflateEnd(&z);
    if (state != Z_STREAM_END) {
        free(out);
        return NULL;
    }
    *packed_size = made;
    void *fitted = realloc(out, made);
    return fitted ? fitted : out;
}

/* --- unpacking --------------------------------------------------------------------------------------------------- */

/* struct unpacking - `most` is one byte above the limit: room to see that too much comes out, or for the NUL. */
struct unpacking {
    z_stream z;
    unsigned char *out;
    size_t size, capacity, most;
};

static bool grow(struct unpacking *u, const struct srv_unpack_limit *limit, size_t hint) {
    size_t wanted = u->capacity ? 2 * u->capacity : hint;
    wanted = wanted < 4096 ? 4096 : wanted;
    wanted = wanted < u->most ? wanted : u->most;
    if (limit->grant && !limit->grant(limit->ctx, wanted - u->capacity)) {
        return false;
    }
    unsigned char *grown = realloc(u->out, wanted);
    if (grown) {
        u->out = grown;
        u->capacity = wanted;
    }
    return grown;
}

static enum srv_unpack unpack_all(struct unpacking *u, bool members, const unsigned char *data, size_t size,
                                  const struct srv_unpack_limit *limit) {
    size_t taken = 0;
    for (;;) {
        if (limit->stop && limit->stop(limit->ctx)) {
            return SRV_UNPACK_STOPPED;
        }
        if (u->size == u->most) {
            return SRV_UNPACK_TOO_LARGE;
        }
        if (u->size == u->capacity && !grow(u, limit, size < u->most / 4 ? 4 * size : u->most)) {
            return SRV_UNPACK_NO_MEMORY;
        }
        uInt in = portion(size - taken), room = portion(u->capacity - u->size);
        u->z.next_in = data + taken;
        u->z.avail_in = in;
        u->z.next_out = u->out + u->size;
        u->z.avail_out = room;
        int state = inflate(&u->z, Z_NO_FLUSH);
        taken += in - u->z.avail_in;
        u->size += room - u->z.avail_out;
        if (state == Z_STREAM_END) {
            if (taken == size) {
                return u->size < u->most ? SRV_UNPACKED : SRV_UNPACK_TOO_LARGE;
            }
            if (!members || inflateReset(&u->z) != Z_OK) {
                return SRV_UNPACK_MALFORMED;
            }
        } else if (state == Z_MEM_ERROR) {
            return SRV_UNPACK_NO_MEMORY;
        } else if (state != Z_OK && !(state == Z_BUF_ERROR && u->z.avail_out == 0)) {
            return SRV_UNPACK_MALFORMED;
        } else if (taken == size && u->z.avail_out > 0) {
            return SRV_UNPACK_MALFORMED; /* cut short */
        }
    }
}

enum srv_unpack srv_unpack(enum srv_coding coding, const void *data, size_t size, const struct srv_unpack_limit *limit,
                           char **out, size_t *out_size) {
    *out = NULL;
    *out_size = 0;
    if (coding != SRV_GZIP && coding != SRV_DEFLATE) {
        return SRV_UNPACK_UNKNOWN;
    }
    struct unpacking u = {.most = limit->bytes < SIZE_MAX ? limit->bytes + 1 : SIZE_MAX};
    if (inflateInit2(&u.z, window(coding)) != Z_OK) {
        return SRV_UNPACK_NO_MEMORY;
    }
    enum srv_unpack result = unpack_all(&u, coding == SRV_GZIP, data, size, limit);
    inflateEnd(&u.z);
    if (result == SRV_UNPACKED && u.size == u.capacity && !grow(&u, limit, 1)) {
        result = SRV_UNPACK_NO_MEMORY;
    }
    if (result != SRV_UNPACKED) {
        free(u.out);
        return result;
    }
    u.out[u.size] = 0;
    *out = (char *)u.out;
    *out_size = u.size;
    return SRV_UNPACKED;
}
