/* decimal_fast.h - the quick half of reading numbers, to be inlined into the loop that reads an array.
 *
 * The text becomes w * 10^n, an integer and a power, with few branches: what differs from one number to the next, such
 * as its length, is computed with rather than decided upon. One 128-bit product then makes it binary (Lemire 2021,
 * "Number parsing at a gigabyte per second", section 5). Whatever is rare is left to api_decimal_careful.
 */
#ifndef API_DECIMAL_FAST_H
#define API_DECIMAL_FAST_H

#include "api/decimal.h"
#include "api/decimal_digits.h"
#include "api/decimal_powers.h"
#include "core/clones.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { API_DECIMAL_FAST_ROOM = 48 }; /* characters that api_decimal_fast may look at */

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

/* api_tens - 10^0 to 10^17. */
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
                                    10000000000000000,
                                    100000000000000000};

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
        if (digits - 1 > 6 || (*p == '0' && digits > 1))
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

#endif
