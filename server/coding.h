/* coding.h - gzip and deflate: which to answer with, packing answers, unpacking request bodies within a bound. */
#ifndef SRV_CODING_H
#define SRV_CODING_H

#include <stdbool.h>
#include <stddef.h>

enum srv_coding {
    SRV_IDENTITY,
    SRV_GZIP,
    SRV_DEFLATE,       /* the zlib format of RFC 1950, as RFC 9110 defines "deflate" */
    SRV_NOT_ACCEPTABLE /* the client rules out everything, also identity: answer 406 */
};

enum { SRV_COMPRESS_MIN = 1024 }; /* below this an answer is not worth packing */

/* srv_coding_name - "gzip", "deflate", "identity": the value of Content-Encoding. */
const char *srv_coding_name(enum srv_coding coding);

/* srv_coding_negotiate - what an Accept-Encoding value (several lines joined by ", "; NULL: none) asks for. The highest
 * q wins; at equal q gzip before deflate before identity. identity is acceptable unless identity;q=0, or *;q=0 without
 * a word about identity. Without the header, or with an empty one: identity. A malformed member is passed over. */
enum srv_coding srv_coding_negotiate(const char *accept_encoding);

/* srv_coding_takes_identity - may an answer to this Accept-Encoding value (NULL: none) go as it is? */
bool srv_coding_takes_identity(const char *accept_encoding);

/* struct srv_packing
 *
 *     coding, level   gzip or deflate; 1 .. 9
 *     below           a result of this size or more is not wanted; 0: of the size of the data
 *     stop            asked now and then, with ctx, whether to give up; NULL: never
 */
struct srv_packing {
    enum srv_coding coding;
    int level;
    size_t below;
    bool (*stop)(void *ctx);
    void *ctx;
};

/* srv_compress - packs `size` bytes with zlib. Returns malloc'd memory (the caller frees it) with its size in
 * `packed_size`, or NULL when out of memory, stopped, or the result would be too large. */
void *srv_compress(const struct srv_packing *how, const void *data, size_t size, size_t *packed_size);

enum srv_unpack {
    SRV_UNPACKED,
    SRV_UNPACK_UNKNOWN,   /* coding not known, or more than one: 415 with Accept-Encoding: gzip, deflate */
    SRV_UNPACK_MALFORMED, /* not in the format, cut short, or followed by something else: 400 */
    SRV_UNPACK_TOO_LARGE, /* more than `limit` bytes come out: 413 */
    SRV_UNPACK_NO_MEMORY, /* `grant` or the system refused: 503 */
    SRV_UNPACK_STOPPED    /* nobody wants it any more */
};

/* struct srv_unpack_limit - most bytes that may come out, whom to ask before memory grows by `bytes` (grant NULL:
 * nobody), and now and then whether to give up (stop NULL: never). What was granted is the caller's to give back,
 * whatever the result. */
struct srv_unpack_limit {
    size_t bytes;
    bool (*grant)(void *ctx, size_t bytes);
    bool (*stop)(void *ctx);
    void *ctx;
};

/* srv_content_coding - the coding a Content-Encoding value (NULL: identity) names; false when it is not known. */
bool srv_content_coding(const char *content_encoding, enum srv_coding *coding);

/* srv_unpack - unpacks a request body; a stream that expands without end costs no more than the limit.
 * On SRV_UNPACKED `*out` is malloc'd (the caller frees it), ends in a NUL that `out_size` does not count, and is never
 * NULL. Otherwise it is NULL. */
enum srv_unpack srv_unpack(enum srv_coding coding, const void *data, size_t size, const struct srv_unpack_limit *limit,
                           char **out, size_t *out_size);

#endif
