/* test_random.c - the stream of NumPy's default_rng, bit for bit.
 *
 * Checksums of some million numbers stand in tests/golden/random_stream.txt (see make_random.py there). The ziggurat's
 * tables are held against the equation that defines them, in long double.
 */
#include "core/random.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS_MAX = 16 };

/* Each layer is computed from the one below with roundings of double precision, which add up over 255 of them. */
#define TABLE_TOLERANCE 1e-12L

static uint64_t checksum(const double *numbers, size_t n) {
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t bits;
        memcpy(&bits, &numbers[i], sizeof bits);
        sum += (2 * i + 1) * bits;
    }
    return sum;
}

static size_t parse_words(char *text, uint32_t *words) {
    size_t n = 0;
    for (char *next = text; n < WORDS_MAX && *next; n++) {
        words[n] = (uint32_t)strtoul(next, &next, 16);
        next += *next == ',';
    }
    return n;
}

Test(random, stream_is_numpys, .timeout = 60) {
    FILE *file = fopen("tests/golden/random_stream.txt", "r");
    cr_assert(file, "run the tests from the project's root");
    char seed[256];
    size_t n, lines = 0, numbers = 0;
    unsigned long long normals, uniforms;
    while (fscanf(file, "%255s %zu %llx %llx", seed, &n, &normals, &uniforms) == 4) {
        uint32_t words[WORDS_MAX];
        struct attn_rng rng;
        double *out = malloc(n * sizeof *out);
        attn_rng_seed(&rng, words, parse_words(seed, words));
        attn_rng_normal(&rng, out, n, 0, 1);
        cr_expect_eq(checksum(out, n), normals, "normals of seed %s", seed);
        attn_rng_uniform(&rng, out, n, 0, 1);
        cr_expect_eq(checksum(out, n), uniforms, "uniforms of seed %s", seed);
        free(out);
        lines++;
        numbers += 2 * n;
    }
    fclose(file);
    fprintf(stderr, "random: %zu seeds, %zu numbers\n", lines, numbers);
    cr_assert_geq(lines, 10u);
}

Test(random, location_and_scale) {
    uint32_t seed = 7;
    struct attn_rng a, b;
    double plain[100], moved[100];
    attn_rng_seed(&a, &seed, 1);
    attn_rng_seed(&b, &seed, 1);
    attn_rng_normal(&a, plain, 100, 0, 1);
    attn_rng_normal(&b, moved, 100, -3, 0.25);
    for (size_t i = 0; i < 100; i++)
        cr_assert_eq(moved[i], -3 + 0.25 * plain[i]);
    attn_rng_uniform(&a, plain, 100, 0, 1);
    attn_rng_uniform(&b, moved, 100, 2, 4);
    for (size_t i = 0; i < 100; i++) {
        cr_assert(plain[i] >= 0 && plain[i] < 1);
        cr_assert_eq(moved[i], 2 + 4 * plain[i]);
    }
}

/* Drawing in pieces is drawing at once. */
Test(random, pieces) {
    uint32_t seed = 3;
    struct attn_rng a, b;
    double whole[1000], pieces[1000];
    attn_rng_seed(&a, &seed, 1);
    attn_rng_seed(&b, &seed, 1);
    attn_rng_normal(&a, whole, 1000, 0, 1);
    for (size_t i = 0; i < 1000; i += 125)
        attn_rng_normal(&b, pieces + i, 125, 0, 1);
    cr_assert(memcmp(whole, pieces, sizeof whole) == 0);
}

static long double near_one(long double ratio) {
    return fabsl(ratio - 1);
}

/* Area of the base strip: the rectangle up to r, and the tail behind it. */
static long double layer_area(void) {
    long double r = (long double)attn_ziggurat_end;
    return r * expl(-r * r / 2) + sqrtl(acosl(-1) / 2) * erfcl(r / sqrtl(2));
}

Test(random, layers_have_equal_areas) {
    const struct attn_ziggurat *z = &attn_ziggurat;
    long double area = layer_area(), unit = 0x1p52L;
    cr_assert_eq(z->width[255] * 0x1p52, attn_ziggurat_end);
    cr_assert_lt(near_one((long double)z->width[0] * unit * (long double)z->height[255] / area), TABLE_TOLERANCE);
    for (size_t i = 1; i < 256; i++) {
        long double x = (long double)z->width[i] * unit;
        cr_assert_lt(near_one(x * ((long double)z->height[i - 1] - (long double)z->height[i]) / area), TABLE_TOLERANCE,
                     "area of layer %zu", i);
        cr_assert_lt(near_one(expl(-x * x / 2) / (long double)z->height[i]), TABLE_TOLERANCE, "height of layer %zu", i);
    }
    cr_assert_eq(z->height[0], 1.0);
}

/* Below `accept` a point of layer i is left of the layer above, so it lies under the curve. */
Test(random, inner_points_are_accepted) {
    const struct attn_ziggurat *z = &attn_ziggurat;
    cr_assert_eq(z->accept[1], 0u);
    for (size_t i = 2; i < 256; i++)
        cr_assert_lt(
            fabsl((long double)z->accept[i] - (long double)z->width[i - 1] / (long double)z->width[i] * 0x1p52L), 1.0L);
    cr_assert_lt(fabsl((long double)z->accept[0] - (long double)attn_ziggurat_end / (long double)z->width[0]), 1.0L);
}
