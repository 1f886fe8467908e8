/* decimal_ref.h - holds the decimal conversions against the C library's, value by value.
 *
 * Used by test_decimal.c for ten million values and by tests/tools/decimal_check.c for as many as one likes.
 */
#ifndef TESTS_REF_DECIMAL_REF_H
#define TESTS_REF_DECIMAL_REF_H

#include "api/decimal.h"
#include "api/decimal_fast.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ref_random - 64 random bits (Vigna 2015, splitmix64). */
static inline uint64_t ref_random(uint64_t *state) {
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

/* ref_value - case `i` of a series: random bits, numbers as they occur in tensors, subnormals, neighbours of powers of
 * two, short decimals, large integers. May be infinite or NaN. */
static inline double ref_value(uint64_t i, uint64_t *state) {
    uint64_t bits = ref_random(state);
    double unit = (double)(bits >> 11) * 0x1p-53, sign = bits & 1 ? -1 : 1;
    switch (i % 16) {
    case 0:
    case 1:
    case 2:
    case 3:
        return sign * 4 * unit * unit;
    case 4:
        return api_double_of_bits(bits & (0x800FFFFFFFFFFFFFu >> bits % 50));
    case 5:
        return api_double_of_bits((bits & 0xFFF0000000000000u) + (bits & 3) - 1);
    case 6:
        return sign * (double)(bits >> 40) / 1e5;
    case 7:
        return sign * (double)(bits >> bits % 64);
    default:
        return api_double_of_bits(bits);
    }
}

/* struct ref_decimal - a decimal text taken apart: 0.d1d2d3... * 10^exponent, neither first nor last digit 0. */
struct ref_decimal {
    char digits[800];
    int count, exponent;
};

static inline struct ref_decimal ref_parse(const char *text) {
    struct ref_decimal d = {.count = 0};
    int point = 0, places = 0;
    for (; *text && *text != 'e'; text++) {
        if (*text == '.')
            point = 1;
        if (*text < '0' || *text > '9')
            continue;
        places += point;
        if (d.count || *text != '0')
            d.digits[d.count++] = *text;
    }
    d.exponent = d.count - places + (*text == 'e' ? atoi(text + 1) : 0);
    while (d.count && d.digits[d.count - 1] == '0')
        d.count--;
    d.digits[d.count] = '\0';
    return d;
}

static inline int ref_same_bits(double a, double b) {
    return memcmp(&a, &b, sizeof a) == 0;
}

/* Reads `text` at the end of its memory (the careful way) and with room behind it (the quick way). */
static inline int ref_reads_as(const char *text, double expected) {
    char padded[API_DECIMAL_MAX + API_DECIMAL_FAST_ROOM];
    size_t size = strlen(text);
    const char *next;
    double value;
    if (api_decimal_careful(text, text + size, &value, &next) != API_DECIMAL_OK || next != text + size ||
        !ref_same_bits(value, expected))
        return 0;
    memset(padded, ',', sizeof padded);
    memcpy(padded, text, size);
    return api_decimal_read(padded, padded + sizeof padded, &value, &next) == API_DECIMAL_OK && next == padded + size &&
           ref_same_bits(value, expected);
}

/* Is `text` as short as can be, and of those that are, the nearest to value? `reads_back` knows the type. */
static inline const char *ref_shortest(const char *text, double value, int (*reads_back)(const char *, double)) {
    char other[64];
    struct ref_decimal ours = ref_parse(text), theirs;
    if (ours.count > 1) {
        snprintf(other, sizeof other, "%.*e", ours.count - 2, value);
        if (reads_back(other, value))
            return "there is a shorter text";
    }
    if (ours.count > 0) {
        snprintf(other, sizeof other, "%.*e", ours.count - 1, value);
        theirs = ref_parse(other);
        if (reads_back(other, value) && (ours.exponent != theirs.exponent || strcmp(ours.digits, theirs.digits) != 0))
            return "there is a nearer text";
    }
    return NULL;
}

static inline int ref_back_f64(const char *text, double value) {
    return ref_same_bits(strtod(text, NULL), value);
}

static inline int ref_back_f32(const char *text, double value) {
    return ref_same_bits((double)strtof(text, NULL), value);
}

/* ref_check_f64, ref_check_f32 - what is wrong with the conversions of a value; NULL: nothing, or it is not finite.
 * `thorough` asks the C library, which takes ten times as long. `text` holds what was written. */
static inline const char *ref_check_f64(double value, int thorough, char text[API_DECIMAL_MAX + 1]) {
    if (!isfinite(value))
        return NULL;
    *api_decimal_write_f64(text, value) = '\0';
    if (!ref_reads_as(text, value))
        return "does not read back";
    if (!thorough)
        return NULL;
    if (!ref_back_f64(text, value))
        return "strtod reads another value";
    char long_text[64];
    snprintf(long_text, sizeof long_text, "%.*g", 17 + thorough % 4, value);
    char *plus = strchr(long_text, '+');
    if (plus && thorough % 2)
        memmove(plus, plus + 1, strlen(plus));
    if (strlen(long_text) < API_DECIMAL_MAX && !ref_reads_as(long_text, value))
        return "17 to 20 digits are read wrongly";
    return ref_shortest(text, value, ref_back_f64);
}

static inline const char *ref_check_f32(float value, int thorough, char text[API_DECIMAL_MAX + 1]) {
    if (!isfinite(value))
        return NULL;
    *api_decimal_write_f32(text, value) = '\0';
    const char *next;
    double back;
    if (api_decimal_read(text, text + strlen(text), &back, &next) != API_DECIMAL_OK || *next)
        return "does not read back";
    if ((float)back != value || !signbit(back) != !signbit(value))
        return "reads back as another float";
    if (!thorough)
        return NULL;
    if (!ref_back_f32(text, (double)value))
        return "strtof reads another value";
    return ref_shortest(text, (double)value, ref_back_f32);
}

#endif
