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
#include "core/clones.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if defined(__SSE2__) && !defined(DIKKAT_PLAIN_CPU)
#include <emmintrin.h>
#endif

enum {
    API_DECIMAL_SPAN = 32,     /* characters that are looked at for digits */
    API_DECIMAL_FAST_ROOM = 48 /* characters that api_decimal_fast may look at */
};

/* api_load8 - eight characters, the first one in the lowest byte, with '0' taken off: 0 .. 9 for digits. */
static inline uint64_t api_load8(const char *p) {
    uint64_t x;
    memcpy(&x, p, sizeof x);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    x = __builtin_bswap64(x);
#endif
    return x ^ 0x3030303030303030u;
}

/* api_join8 - the number with the eight digits in the bytes of x, the first digit in the lowest byte. */
static inline uint64_t api_join8(uint64_t x) {
    x = x * 10 + (x >> 8); /* pairs, in every other byte */
    return (((x & 0x000000FF000000FFu) * 0x000F424000000064u) +
            ((x >> 16 & 0x000000FF000000FFu) * 0x0000271000000001u)) >>
           32;
}

/* api_join_first - the number with the first 1 .. 8 digits of x only. */
static inline uint64_t api_join_first(uint64_t x, unsigned digits) {
    return api_join8(x << (64 - 8 * digits));
}

/* api_others - bit i is set where p[i] is no digit, i < API_DECIMAL_SPAN; all bits from there on are set.
 * api_comma - the place of the first comma among as many characters at p; 63 if there is none.
 * api_join16 - the number with the `digits` <= 16 digits at p, as if zeros behind them made them 16. */
#if defined(__SSE2__) && !defined(DIKKAT_PLAIN_CPU)

static inline __m128i api_load16(const char *p) {
    return _mm_sub_epi8(_mm_loadu_si128((const __m128i *)(const void *)p), _mm_set1_epi8('0'));
}

static inline unsigned api_digits16(const char *p) {
    __m128i over = _mm_subs_epu8(api_load16(p), _mm_set1_epi8(9));
    return (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(over, _mm_setzero_si128()));
}

static inline unsigned api_commas16(const char *p) {
    __m128i text = _mm_loadu_si128((const __m128i *)(const void *)p);
    return (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(text, _mm_set1_epi8(',')));
}

static inline unsigned api_comma(const char *p) {
    uint64_t commas = api_commas16(p) | (uint64_t)api_commas16(p + 16) << 16;
    return (unsigned)__builtin_ctzll(commas | (uint64_t)1 << 63);
}

static inline uint64_t api_others(const char *p) {
    return ~(uint64_t)(api_digits16(p) | api_digits16(p + 16) << 16);
}

static inline uint64_t api_join16(const char *p, unsigned digits) {
    static const char window[32] = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
    __m128i kept = _mm_loadu_si128((const __m128i *)(const void *)(window + 16 - digits));
    __m128i x = _mm_and_si128(api_load16(p), kept);
    __m128i tens = _mm_mullo_epi16(x, _mm_set1_epi16(10)); /* of every other one, in the lower half */
    __m128i twos = _mm_and_si128(_mm_add_epi16(tens, _mm_srli_epi16(x, 8)), _mm_set1_epi16(0xFF));
    __m128i fours = _mm_madd_epi16(twos, _mm_set1_epi32(1 << 16 | 100));
    __m128i eights = _mm_madd_epi16(_mm_packs_epi32(fours, fours), _mm_set1_epi32(1 << 16 | 10000));
    uint64_t both = (uint64_t)_mm_cvtsi128_si64(eights);
    return (both & 0xFFFFFFFF) * 100000000 + (both >> 32);
}

#else

/* One bit for each byte of `high`, of which only the highest bits may be set. */
static inline uint64_t api_gather(uint64_t high) {
    return (high >> 7) * 0x0102040810204080u >> 56;
}

static inline uint64_t api_others(const char *p) {
    const uint64_t low = 0x7F7F7F7F7F7F7F7Fu;
    uint64_t others = ~(uint64_t)0 << API_DECIMAL_SPAN;
    for (unsigned i = 0; i < API_DECIMAL_SPAN; i += 8) {
        uint64_t x = api_load8(p + i), above_9 = ((x & low) + 0x7676767676767676u) | x;
        others |= api_gather(above_9 & ~low) << i;
    }
    return others;
}

static inline unsigned api_comma(const char *p) {
    const uint64_t low = 0x7F7F7F7F7F7F7F7Fu;
    uint64_t commas = (uint64_t)1 << 63;
    for (unsigned i = 0; i < API_DECIMAL_SPAN; i += 8) {
        uint64_t x = api_load8(p + i) ^ 0x1C1C1C1C1C1C1C1Cu; /* ',' less '0' */
        commas |= api_gather(~(((x & low) + low) | x) & ~low) << i;
    }
    return (unsigned)__builtin_ctzll(commas);
}

static inline uint64_t api_join16(const char *p, unsigned digits) {
    uint64_t a = api_load8(p), b = api_load8(p + 8);
    if (digits < 8)
        a &= ((uint64_t)1 << 8 * digits) - 1;
    if (digits < 16)
        b &= digits > 8 ? ((uint64_t)1 << 8 * (digits - 8)) - 1 : 0;
    return api_join8(a) * 100000000 + api_join8(b);
}

#endif

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

enum { API_ROUND_MIN = -307, API_ROUND_MAX = 288 }; /* w * 10^n is normal for any w */

/* api_decimal_round - the bits of the double nearest to w * 10^n.
 *
 *     w in 1 .. 2^64 - 1,  n in API_ROUND_MIN .. API_ROUND_MAX
 *
 * The power is cut off, and so is the product: with U the upper 128 of its 192 bits, the true value lies in
 * [U, U + 2). The upper 64 bits of U, halved to have a sign and with a 1 for what is below, are rounded by the
 * processor. It needs 54 of them and to know whether what follows is 0. Only if the last 9 are all 0 or all 1 can the
 * lower half of U matter for that, and then only if it is all 0 or all 1 too can the true value lie elsewhere.
 * Returns false when that cannot be told.
 */
static inline bool api_decimal_round(uint64_t w, int n, uint64_t *bits) {
    struct api_power power = api_power_of_ten(n);
    int zeros = __builtin_clzll(w), scale = api_log2_of_power(n) - zeros + 2;
    w <<= zeros;
    api_u128 product = (api_u128)w * power.high;
    uint64_t high = (uint64_t)(product >> 64), rest = 1;
    if (((high + 1) & 0x1FF) <= 1) {
        product += (uint64_t)((api_u128)w * power.low >> 64);
        high = (uint64_t)(product >> 64);
        uint64_t low = (uint64_t)product, half = (uint64_t)1 << (9 + (high >> 63)), below = high & (2 * half - 1);
        if ((below == half && low == 0) || (below == half - 1 && low == UINT64_MAX))
            return false;
        rest = (high & 1) | (low != 0);
    }
    *bits = api_bits_of_double((double)(int64_t)(high >> 1 | rest)) + ((uint64_t)(int64_t)scale << 52);
    return true;
}

static const uint64_t api_tens[] = {1,
                                    10,
                                    100,
                                    1000,
                                    10000,
                                    100000,
                                    1000000,
                                    10000000,
                                    100000000,
                                    1000000000,
                                    10000000000,
                                    100000000000,
                                    1000000000000,
                                    10000000000000,
                                    100000000000000,
                                    1000000000000000,
                                    10000000000000000};

/* api_join_over - the number with the 0 .. 7 digits at p, mostly up to 2 of them. */
static inline uint64_t api_join_over(const char *p, unsigned digits) {
    static const struct { uint64_t first, second; } factors[] = {{0, 0}, {1, 0}, {10, 1}};
    if (digits > 2)
        return api_join_first(api_load8(p), digits);
    return (uint64_t)(p[0] & 15) * factors[digits].first + (uint64_t)(p[1] & 15) * factors[digits].second;
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

/* api_join_more - puts the digits at p, 9 .. 22 of them, behind w; times 10^n. False: they do not fit.
 *
 * They are taken as 16, zeros put behind them, and what is over before those: that needs no branch for their number,
 * which differs from one to the next. */
static inline bool api_join_more(uint64_t *w, const char *p, unsigned digits, int *n) {
    unsigned over = digits > 16 ? digits - 16 : 0, rest = digits - over;
    uint64_t before = *w * api_tens[over] + api_join_over(p, over), sixteen = api_join16(p + over, rest);
    if (before < api_tens[3]) {
        *w = before * api_tens[16] + sixteen;
        *n = -16 - (int)over;
        return true;
    }
    *w = before * api_tens[rest] + sixteen / api_tens[16 - rest];
    *n = -(int)digits;
    return before < api_tens[19 - rest];
}

/* api_decimal_fast - reads the number at p, of which API_DECIMAL_FAST_ROOM characters may be looked at. Returns the
 * place behind it, or NULL when it is malformed or not worth a place here: api_decimal_careful then decides.
 *
 * Up to 8 digits behind the point leave an integer that a double holds, to be divided by a power that it holds: that
 * rounds once (Clinger 1990). */
ATTN_PART const char *api_decimal_fast(const char *p, double *value) {
    static const double powers[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8};
    bool minus = *p == '-';
    p += minus;
    uint64_t w, result = 0;
    int n = 0;
    if (p[1] == '.' && (unsigned char)(*p - '0') <= 9) {
        w = (uint64_t)(*p++ & 15);
    } else {
        unsigned digits = (unsigned)__builtin_ctzll(api_others(p));
        if (digits - 1 > 6 || *p == '0')
            return NULL;
        w = api_join_first(api_load8(p), digits);
        p += digits;
    }
    if (*p == '.') {
        const char *fraction = p + 1;
        unsigned digits = (unsigned)__builtin_ctzll(api_others(fraction));
        p = fraction + digits;
        if (digits - 1 > 21)
            return NULL;
        if (digits > 8) {
            if (!api_join_more(&w, fraction, digits, &n))
                return NULL;
        } else {
            w = w * api_tens[digits] + api_join_first(api_load8(fraction), digits);
            n = -(int)digits;
        }
    }
    bool exponent = (*p | 0x20) == 'e';
    if (n >= -8 && !exponent) {
        result = api_bits_of_double((double)(int64_t)w / powers[-n]);
    } else {
        if (exponent && (!api_decimal_exponent(&p, &n) || n < API_ROUND_MIN || n > API_ROUND_MAX))
            return NULL;
        if (w && !api_decimal_round(w, n, &result))
            return NULL;
    }
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
