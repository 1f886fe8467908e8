/* test_coding - negotiation by table; packing and unpacking as each other's oracle, with gzip(1) as a third party;
 * bombs, cuts and noise. */
#include "server/coding.h"
#include "server/etag.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

Test(coding, negotiation) {
    static const struct {
        const char *header;
        enum srv_coding expected;
    } rows[] = {
        {NULL, SRV_IDENTITY},
        {"", SRV_IDENTITY},
        {" , ", SRV_IDENTITY},
        {"gzip", SRV_GZIP},
        {"GZip", SRV_GZIP},
        {"x-gzip", SRV_GZIP},
        {"deflate", SRV_DEFLATE},
        {"gzip, deflate, br, zstd", SRV_GZIP},
        {"deflate, gzip", SRV_GZIP},
        {"deflate;q=1.0, gzip;q=0.5", SRV_DEFLATE},
        {"gzip;q=0.5", SRV_GZIP},
        {"gzip ; q=0.001", SRV_GZIP},
        {"gzip;q=0", SRV_IDENTITY},
        {"gzip;q=0.000,deflate;q=0", SRV_IDENTITY},
        {"identity", SRV_IDENTITY},
        {"identity, gzip;q=0.5", SRV_IDENTITY},
        {"identity;q=0.5, gzip;q=0.5", SRV_GZIP},
        {"br", SRV_IDENTITY},
        {"*", SRV_GZIP},
        {"*;q=0", SRV_NOT_ACCEPTABLE},
        {"identity;q=0", SRV_NOT_ACCEPTABLE},
        {"identity;q=0, br", SRV_NOT_ACCEPTABLE},
        {"*;q=0, identity", SRV_IDENTITY},
        {"*;q=0, gzip", SRV_GZIP},
        {"gzip;q=0, *", SRV_DEFLATE},
        {"gzip;q=0, deflate;q=0, *;q=0.5", SRV_IDENTITY},
        {"gzip;q=0, deflate;q=0, *;q=0", SRV_NOT_ACCEPTABLE},
        {"gzip;q=2", SRV_IDENTITY},
        {"gzip;q=1.001", SRV_IDENTITY},
        {"gzip;q=0.1234", SRV_IDENTITY},
        {"gzip;q=", SRV_IDENTITY},
        {"gzip;level=9", SRV_IDENTITY},
        {";q=1", SRV_IDENTITY},
        {"gzipp", SRV_IDENTITY},
        {"gzip;q=x, deflate", SRV_DEFLATE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        cr_assert_eq(srv_coding_negotiate(rows[i].header), rows[i].expected, "%s gives %s", rows[i].header,
                     srv_coding_name(srv_coding_negotiate(rows[i].header)));
}

Test(coding, identity_unless_refused) {
    static const char *const taken[] = {NULL, "", "gzip", "br", "identity", "identity;q=0.001", "*;q=0, identity"};
    static const char *const refused[] = {"identity;q=0", "gzip, identity;q=0", "*;q=0", "*;q=0.0, gzip"};
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        cr_assert(srv_coding_takes_identity(taken[i]), "%s", taken[i]);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        cr_assert(!srv_coding_takes_identity(refused[i]), "%s", refused[i]);
    size_t size;
    void *packed = srv_compress(&(struct srv_packing){.coding = SRV_GZIP, .level = 1, .below = 64}, "{}\n", 3,
                                &size); /* larger than it was, because it must be */
    struct srv_unpack_limit limit = {.bytes = 8};
    char *out;
    size_t out_size;
    cr_assert(packed && size > 3 && size < 64);
    cr_assert_eq(srv_unpack(SRV_GZIP, packed, size, &limit, &out, &out_size), SRV_UNPACKED);
    cr_assert_str_eq(out, "{}\n");
    free(out);
    free(packed);
}

Test(coding, content_encoding) {
    enum srv_coding coding;
    cr_assert(srv_content_coding(NULL, &coding) && coding == SRV_IDENTITY);
    cr_assert(srv_content_coding(" identity ", &coding) && coding == SRV_IDENTITY);
    cr_assert(srv_content_coding("gzip", &coding) && coding == SRV_GZIP);
    cr_assert(srv_content_coding("X-GZIP ", &coding) && coding == SRV_GZIP);
    cr_assert(srv_content_coding("deflate", &coding) && coding == SRV_DEFLATE);
    const char *unknown[] = {"br", "gzip, gzip", "gzip gzip", "gzip;q=1", "zstd", "identity, gzip", ","};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        cr_assert(!srv_content_coding(unknown[i], &coding), "%s", unknown[i]);
}

/* Text like a request's, the same every time. */
static char *sample(size_t size) {
    char *text = malloc(size + 32);
    unsigned random = 7;
    for (size_t n = 0; n < size;) {
        random = random * 1664525u + 1013904223u;
        n += (size_t)sprintf(text + n, "%.6f,", (double)random / 1e9);
    }
    text[size] = 0;
    return text;
}

static const struct srv_unpack_limit roomy = {.bytes = 1u << 30};

Test(coding, there_and_back) {
    for (size_t size = 10; size < 3000000; size = size * 5 + 1) {
        char *text = sample(size);
        for (enum srv_coding coding = SRV_GZIP; coding <= SRV_DEFLATE; coding++) {
            size_t packed_size, out_size;
            void *packed = srv_compress(&(struct srv_packing){.coding = coding, .level = 1}, text, size, &packed_size);
            if (!packed) {
                cr_assert(size < 100, "%zu bytes do not get smaller", size);
                continue;
            }
            cr_assert(packed_size < size);
            char *out;
            cr_assert_eq(srv_unpack(coding, packed, packed_size, &roomy, &out, &out_size), SRV_UNPACKED);
            cr_assert(out_size == size && memcmp(out, text, size) == 0 && out[size] == 0);
            free(out);
            free(packed);
        }
        free(text);
    }
}

static bool stop_after(void *ctx) {
    unsigned *left = ctx;
    return *left == 0 || --*left == 0;
}

/* Megabytes are packed and unpacked in steps, between which it is asked whether to stop. */
Test(coding, stopped_in_the_middle) {
    enum { SIZE = 8 << 20, STEPS = 16 };
    char *text = sample(SIZE), *out;
    size_t packed_size, size;
    unsigned left = 1u << 30;
    struct srv_packing how = {.coding = SRV_GZIP, .level = 1, .stop = stop_after, .ctx = &left};
    void *packed = srv_compress(&how, text, SIZE, &packed_size);
    cr_assert(packed && (1u << 30) - left > STEPS, "asked %u times", (1u << 30) - left);
    left = STEPS;
    cr_expect_null(srv_compress(&how, text, SIZE, &size));
    struct srv_unpack_limit limit = {.bytes = SIZE, .stop = stop_after, .ctx = &left};
    left = STEPS;
    cr_expect_eq(srv_unpack(SRV_GZIP, packed, packed_size, &limit, &out, &size), SRV_UNPACK_STOPPED);
    left = 1u << 30;
    cr_assert_eq(srv_unpack(SRV_GZIP, packed, packed_size, &limit, &out, &size), SRV_UNPACKED);
    cr_expect(size == SIZE && memcmp(out, text, SIZE) == 0);
    free(out);
    free(packed);
    free(text);
}

Test(coding, noise_is_not_packed) {
    unsigned char noise[5000];
    unsigned random = 3;
    for (size_t i = 0; i < sizeof noise; i++) {
        random = random * 1664525u + 1013904223u;
        noise[i] = (unsigned char)(random >> 24);
    }
    size_t size;
    cr_assert_null(srv_compress(&(struct srv_packing){.coding = SRV_GZIP, .level = 6}, noise, sizeof noise, &size));
    cr_assert_null(srv_compress(&(struct srv_packing){.coding = SRV_GZIP, .level = 6}, noise, 0, &size));
    cr_assert_null(srv_compress(&(struct srv_packing){.coding = SRV_GZIP, .level = 6}, noise, 1, &size));
}

Test(coding, gzip_the_program_agrees) {
    char path[] = "/tmp/dikkat-coding-XXXXXX", command[128];
    int fd = mkstemp(path);
    char *text = sample(100000), *back = calloc(1, 100001);
    size_t size;
    void *packed = srv_compress(&(struct srv_packing){.coding = SRV_GZIP, .level = 6}, text, 100000, &size);
    cr_assert_eq(write(fd, packed, size), (ssize_t)size);
    close(fd);
    snprintf(command, sizeof command, "gzip -dc <%s", path);
    FILE *gzip = popen(command, "r");
    cr_assert_eq(fread(back, 1, 100001, gzip), 100000);
    cr_assert_eq(pclose(gzip), 0);
    cr_assert(memcmp(text, back, 100000) == 0);
    snprintf(command, sizeof command, "{ printf abc | gzip; printf def | gzip -9; } >%s", path);
    cr_assert_eq(system(command), 0);
    FILE *file = fopen(path, "r");
    char members[200], *out;
    size_t n = fread(members, 1, sizeof members, file);
    fclose(file);
    cr_assert_eq(srv_unpack(SRV_GZIP, members, n, &roomy, &out, &size), SRV_UNPACKED);
    cr_assert_str_eq(out, "abcdef", "several members follow each other");
    free(out);
    free(packed);
    free(text);
    free(back);
    unlink(path);
}

Test(coding, the_limit_is_exact) {
    enum { SIZE = 50000 };
    char *text = sample(SIZE), *out;
    size_t packed_size, size;
    void *packed = srv_compress(&(struct srv_packing){.coding = SRV_DEFLATE, .level = 6}, text, SIZE, &packed_size);
    static const struct {
        size_t limit;
        enum srv_unpack expected;
    } rows[] = {{SIZE, SRV_UNPACKED},         {SIZE + 1, SRV_UNPACKED},  {SIZE - 1, SRV_UNPACK_TOO_LARGE},
                {4096, SRV_UNPACK_TOO_LARGE}, {1, SRV_UNPACK_TOO_LARGE}, {0, SRV_UNPACK_TOO_LARGE},
                {SIZE_MAX, SRV_UNPACKED}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct srv_unpack_limit limit = {.bytes = rows[i].limit};
        cr_assert_eq(srv_unpack(SRV_DEFLATE, packed, packed_size, &limit, &out, &size), rows[i].expected, "limit %zu",
                     rows[i].limit);
        cr_assert_eq(!out, rows[i].expected != SRV_UNPACKED);
        free(out);
    }
    free(packed);
    free(text);
}

/* struct purse - what memory was granted. */
struct purse {
    size_t left, granted;
};

static bool grant(void *ctx, size_t bytes) {
    struct purse *purse = ctx;
    if (bytes > purse->left)
        return false;
    purse->left -= bytes;
    purse->granted += bytes;
    return true;
}

Test(coding, a_bomb_costs_no_more_than_the_limit) {
    enum { LIMIT = 1 << 20 };
    static char zeros[64 << 20];
    size_t packed_size, size;
    char *out;
    void *bomb = srv_compress(&(struct srv_packing){.coding = SRV_GZIP, .level = 9}, zeros, sizeof zeros, &packed_size);
    cr_assert(packed_size < sizeof zeros / 500);
    struct purse purse = {.left = SIZE_MAX};
    struct srv_unpack_limit limit = {.bytes = LIMIT, .grant = grant, .ctx = &purse};
    cr_assert_eq(srv_unpack(SRV_GZIP, bomb, packed_size, &limit, &out, &size), SRV_UNPACK_TOO_LARGE);
    cr_assert(purse.granted <= LIMIT + 1, "%zu bytes", purse.granted);
    purse = (struct purse){.left = LIMIT / 2};
    cr_assert_eq(srv_unpack(SRV_GZIP, bomb, packed_size, &limit, &out, &size), SRV_UNPACK_NO_MEMORY);
    free(bomb);
}

Test(coding, cuts_noise_and_trailers) {
    enum { SIZE = 5000 };
    char *text = sample(SIZE), *out;
    size_t packed_size, size;
    for (enum srv_coding coding = SRV_GZIP; coding <= SRV_DEFLATE; coding++) {
        unsigned char *packed =
            srv_compress(&(struct srv_packing){.coding = coding, .level = 6}, text, SIZE, &packed_size);
        for (size_t n = 0; n < packed_size; n++) {
            cr_assert_eq(srv_unpack(coding, packed, n, &roomy, &out, &size), SRV_UNPACK_MALFORMED, "cut at %zu", n);
            cr_assert_null(out);
        }
        unsigned char *longer = malloc(packed_size + 1);
        memcpy(longer, packed, packed_size);
        longer[packed_size] = 'x';
        cr_assert_eq(srv_unpack(coding, longer, packed_size + 1, &roomy, &out, &size), SRV_UNPACK_MALFORMED);
        free(longer);
        for (size_t at = packed_size - 4; at < packed_size; at++) {
            packed[at] ^= 1; /* the checksum, or gzip's length */
            cr_assert_eq(srv_unpack(coding, packed, packed_size, &roomy, &out, &size), SRV_UNPACK_MALFORMED);
            packed[at] ^= 1;
        }
        enum srv_coding other = coding == SRV_GZIP ? SRV_DEFLATE : SRV_GZIP;
        cr_assert_eq(srv_unpack(other, packed, packed_size, &roomy, &out, &size), SRV_UNPACK_MALFORMED);
        cr_assert_eq(srv_unpack(SRV_IDENTITY, packed, packed_size, &roomy, &out, &size), SRV_UNPACK_UNKNOWN);
        free(packed);
    }
    cr_assert_eq(srv_unpack(SRV_GZIP, text, SIZE, &roomy, &out, &size), SRV_UNPACK_MALFORMED);
    free(text);
}

Test(coding, empty_content) {
    static const unsigned char gzip_of_nothing[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    char *out;
    size_t size = 9;
    struct srv_unpack_limit none = {.bytes = 0};
    cr_assert_eq(srv_unpack(SRV_GZIP, gzip_of_nothing, sizeof gzip_of_nothing, &none, &out, &size), SRV_UNPACKED);
    cr_assert(size == 0 && out && out[0] == 0);
    free(out);
}

Test(etag, made_from_the_bytes_and_the_coding) {
    char plain[SRV_ETAG_MAX], gzip[SRV_ETAG_MAX], other[SRV_ETAG_MAX];
    srv_etag_make("abc", 3, SRV_IDENTITY, plain);
    srv_etag_make("abc", 3, SRV_GZIP, gzip);
    srv_etag_make("abd", 3, SRV_IDENTITY, other);
    cr_assert_str_eq(plain, "\"ba7816bf8f01cfea\"");
    cr_assert_str_eq(gzip, "\"ba7816bf8f01cfea-gzip\"");
    cr_assert_str_neq(plain, other);
}

Test(etag, if_none_match) {
    static const struct {
        const char *header;
        bool matches;
    } rows[] = {{NULL, false},
                {"", false},
                {"\"a\"", true},
                {"W/\"a\"", true},
                {"*", true},
                {"\"b\"", false},
                {"\"b\", \"a\"", true},
                {"\"b,\", W/\"a\"", true},
                {"\"a", false},
                {"a", false},
                {"\"b\" ,\t\"a\"", true},
                {"\"a,b\"", false},
                {"\"x\", a, \"a\"", false},
                {"\"A\"", false},
                {"w/\"a\"", false},
                {"\"\"", false},
                {",,\"a\"", true},
                {"\"b\"\"a\"", true}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        cr_assert_eq(srv_etag_matches(rows[i].header, "\"a\""), rows[i].matches, "%s", rows[i].header);
}
