/* decimal_fast.h - the quick half of reading numbers, to be inlined into the loop that reads an array.
 *
 * Eight characters are looked at at a time, in a register: subtracting '0' from each byte leaves 0 .. 9 for digits, and
 * three multiplications join eight of them to a number. The decimal w * 10^n is then turned into binary by one 128-bit
 * product (Lemire 2021, "Number parsing at a gigabyte per second", section 5). Whatever is rare is left to
 * api_decimal_careful.
 */
#ifndef API_DECIMAL_FAST_H
#define API_DECIMAL_FAST_H

#include "api/decimal.h"
#include "api/decimal_powers.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { API_DECIMAL_FAST_ROOM = 48 }; /* characters that api_decimal_fast may look at */

/* api_load8 - eight characters, the first one in the lowest byte. */
static inline uint64_t api_load8(const char *p) {
    uint64_t x;
    memcpy(&x, p, sizeof x);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    x = __builtin_bswap64(x);
#endif
    return x;
}

/* api_digit_bits - 8 * the number of digits at the begin of `x`, characters with '0' subtracted by exclusive or; 0
 * .. 64. Bytes above 9 get their highest bit set; a carry runs only into bytes behind the first of them. */
static inline unsigned api_digit_bits(uint64_t x) {
    uint64_t others = ((x + 0x7676767676767676u) | x) & 0x8080808080808080u;
    return others ? (unsigned)__builtin_ctzll(others) & ~7u : 64;
}

/* api_join8 - the number with the eight digits in the bytes of x, the first digit in the lowest byte. */
static inline uint64_t api_join8(uint64_t x) {
    x = x * 10 + (x >> 8); /* pairs, in every other byte */
    return (((x & 0x000000FF000000FFu) * 0x000F424000000064u) +
            ((x >> 16 & 0x000000FF000000FFu) * 0x0000271000000001u)) >>
           32;
}

/* api_join_first - the same for the first bits / 8 digits only, bits < 64: zeros are put before them. */
static inline uint64_t api_join_first(uint64_t x, unsigned bits) {
    return api_join8(x << 8 << (56 - bits));
}

/* api_decimal_round - the bits of the double nearest to w * 10^n.
 *
 *     w in 1 .. 2^64 - 1,  n in API_POWER_MIN .. 308
 *
 * The power is cut off, and so is the product: with U the upper 128 of its 192 bits, the true value lies in
 * [U, U + 2). That settles the rounding unless the bits below the last kept one are 1000...0 or 0111...1.
 * Returns false when it does not, and for results that are subnormal or too large.
 */
static inline bool api_decimal_round(uint64_t w, int n, uint64_t *bits) {
    struct api_power power = api_power_of_ten(n);
    int zeros = __builtin_clzll(w);
    w <<= zeros;
    api_u128 product = (api_u128)w * power.high + (uint64_t)((api_u128)w * power.low >> 64);
    uint64_t high = (uint64_t)(product >> 64), low = (uint64_t)product;
    unsigned top = (unsigned)(high >> 63); /* the first 1 is bit 126 + top of the product */
    int exponent = 63 + (int)top - zeros + api_log2_of_power(n);
    uint64_t half = (uint64_t)1 << (9 + top), below = high & (2 * half - 1);
    bool open = (below == half && low == 0) || (below == half - 1 && low == UINT64_MAX);
    if (open || exponent < -1022 || exponent > 1023)
        return false;
    uint64_t mantissa = ((high >> (9 + top)) + 1) >> 1; /* 2^52 .. 2^53: the first 1 adds to the exponent */
    *bits = ((uint64_t)(exponent + 1022) << 52) + mantissa;
    return *bits < (uint64_t)0x7FF << 52;
}

static inline double api_double_of_bits(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint64_t api_bits_of_double(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* api_decimal_exponent - reads "e-12" at *p, up to three digits, and adds it to *n; false: something else. */
static inline bool api_decimal_exponent(const char **p, int *n) {
    const char *q = *p + 1;
    bool minus = *q == '-';
    q += minus || *q == '+';
    int value = 0;
    const char *first = q;
    for (; (unsigned char)(*q - '0') <= 9; q++) {
        if (q - first == 3)
            return false;
        value = 10 * value + (*q - '0');
    }
    *p = q;
    *n += minus ? -value : value;
    return q != first;
}

/* api_decimal_fast - reads the number at p, of which API_DECIMAL_FAST_ROOM characters may be looked at. Returns the
 * place behind it, or NULL when it is malformed or not worth a place here: api_decimal_careful then decides. */
static inline const char *api_decimal_fast(const char *p, double *value) {
    static const uint64_t ten[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000};
    /* the largest w that leaves room for so many digits more among 19 */
    static const uint64_t most[] = {9999999999999999999u, 999999999999999999u, 99999999999999999u, 9999999999999999u,
                                    999999999999999u,     99999999999999u,     9999999999999u,     999999999999u};
    bool minus = *p == '-';
    p += minus;
    uint64_t w, x;
    unsigned bits;
    int n = 0;
    if (p[1] == '.' && (unsigned char)(*p - '0') <= 9) {
        w = (uint64_t)(*p - '0');
        p++;
    } else {
        x = api_load8(p) ^ 0x3030303030303030u;
        bits = api_digit_bits(x);
        if (bits == 0 || bits == 64 || (*p == '0' && bits > 8))
            return NULL;
        w = api_join_first(x, bits);
        p += bits / 8;
    }
    if (*p == '.') {
        const char *point = ++p;
        x = api_load8(p) ^ 0x3030303030303030u;
        bits = api_digit_bits(x);
        if (bits == 64) {
            w = w * 100000000 + api_join8(x);
            p += 8;
            x = api_load8(p) ^ 0x3030303030303030u;
            bits = api_digit_bits(x);
            if (bits == 64) {
                if (w > 99999999999)
                    return NULL;
                w = w * 100000000 + api_join8(x);
                p += 8;
                x = api_load8(p) ^ 0x3030303030303030u;
                bits = api_digit_bits(x);
                if (bits == 64)
                    return NULL;
            }
        } else if (bits == 0) {
            return NULL;
        }
        if (w > most[bits / 8])
            return NULL;
        w = w * ten[bits / 8] + api_join_first(x, bits);
        p += bits / 8;
        n = (int)(point - p);
    }
    if ((*p | 0x20) == 'e' && !api_decimal_exponent(&p, &n))
        return NULL;
    uint64_t result;
    if (n == 0 || w == 0)
        result = api_bits_of_double((double)w);
    else if (n < API_POWER_MIN || n > 308 || !api_decimal_round(w, n, &result))
        return NULL;
    *value = api_double_of_bits(result | (uint64_t)minus << 63);
    return p;
}

/* api_decimal_careful - as api_decimal_read, without the quick way. */
enum api_decimal_status api_decimal_careful(const char *text, const char *end, double *value, const char **next);

/* api_decimal_inline - api_decimal_read for the inside of a loop. */
static inline enum api_decimal_status api_decimal_inline(const char *text, const char *end, double *value,
                                                         const char **next) {
    if (end - text >= API_DECIMAL_FAST_ROOM && (*next = api_decimal_fast(text, value)))
        return API_DECIMAL_OK;
    return api_decimal_careful(text, end, value, next);
}

#endif
