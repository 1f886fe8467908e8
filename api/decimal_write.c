/* decimal_write.c - the shortest text of a number, and the nearest among those of that length.
 *
 * A number c * 2^q stands for all reals between the middles to its neighbours. With k = floor(log10(2^q)), that
 * interval is 1 to 10 units of 10^k wide (for c * 2^q itself: half of it on each side). So it holds at most one
 * multiple of 10^(k+1), which is then the shortest text once its zeros are cut; otherwise the nearest multiple of 10^k
 * is. (Giulietti 2020, "The Schubfach way to render doubles".)
 *
 * One product gives c * 2^q * 10^-k with 64 binary places, too low by less than 2 units of the last one. When a
 * comparison is closer than that, or c is a power of two, whose lower neighbour is nearer, Schubfach itself decides.
 */
#include "api/decimal.h"
#include "api/decimal_fast.h"

#include <assert.h>
#include <math.h>
#if defined(__SSE2__) && !defined(DIKKAT_PLAIN_CPU)
#include <emmintrin.h>
#endif

/* struct decimal - digits * 10^exponent; at most 17 digits. */
struct decimal {
    uint64_t digits;
    int exponent;
};

/* floor(log10(2^q)) for |q| <= 1100. */
static inline int log10_of_2(int q) {
    return (q * 315653) >> 20;
}

/* floor(log10(3/4 * 2^q)) for |q| <= 1100. */
static inline int log10_of_3_4(int q) {
    return (q * 1262611 - 524031) >> 22;
}

/* The upper 64 of the 192 bits of (power + 1) * factor; the last bit is set when others below it are: rounding to odd,
 * which keeps what is below, at, or above a middle apart (Giulietti, section 9.6). */
static uint64_t product_to_odd(struct api_power power, uint64_t factor) {
    power.low++;
    power.high += power.low == 0;
    api_u128 product = (api_u128)power.high * factor + (uint64_t)((api_u128)power.low * factor >> 64);
    return (uint64_t)(product >> 64) | ((uint64_t)product > 1);
}

/* Schubfach. `uneven`: the lower neighbour is half as far away as the upper one. */
static __attribute__((noinline)) struct decimal shortest_exactly(uint64_t c, int q, bool uneven) {
    int k = uneven ? log10_of_3_4(q) : log10_of_2(q);
    int shift = q + api_log2_of_power(-k) + 1;
    struct api_power power = api_power_of_ten(-k);
    uint64_t odd = c & 1; /* the ends of the interval belong to it only if c is even: reading rounds ties to even */
    uint64_t low = product_to_odd(power, (4 * c - 2 + uneven) << shift) + odd;
    uint64_t value = product_to_odd(power, 4 * c << shift); /* in quarters */
    uint64_t high = product_to_odd(power, (4 * c + 2) << shift) - odd;
    uint64_t s = value / 4, tens = s / 10 * 10;
    bool below = low <= 4 * tens, above = 4 * tens + 40 <= high;
    if (s >= 10 && below != above)
        return (struct decimal){tens + (above ? 10 : 0), k};
    below = low <= 4 * s;
    above = 4 * s + 4 <= high;
    bool up = value > 4 * s + 2 || (value == 4 * s + 2 && s & 1);
    return (struct decimal){s + (below != above ? above : up), k};
}

/* Is a within 4 of b, with wrap-around? 0 or 1; an integer, so that several answers join without branches. */
static inline int close(uint64_t a, uint64_t b) {
    return a - b + 4 <= 8;
}

/* The shortest decimal of c * 2^q, whose neighbours are 2^q away on both sides. */
static inline struct decimal shortest(uint64_t c, int q) {
    int k = log10_of_2(q);
    int shift = q + api_log2_of_power(-k); /* 0 .. 3 */
    struct api_power power = api_power_of_ten(-k);
    uint64_t factor = c << (shift + 1);
    api_u128 product = (api_u128)power.high * factor + (uint64_t)((api_u128)power.low * factor >> 64);
    uint64_t s = (uint64_t)(product >> 64), places = (uint64_t)product;
    /* From here on in units of 2^-60: how far it is to the multiples of 10 around, and how far one may go. */
    uint64_t tens = s / 10 * 10, one = (uint64_t)1 << 60;
    uint64_t down = ((s - tens) << 60) | places >> 4, up = 10 * one - down, reach = power.high >> (4 - shift);
    uint64_t least = down < up ? down : up; /* at most one of them is within reach, which is less than 4.995 */
    if (close(least, reach) | close(places, (uint64_t)1 << 63))
        return shortest_exactly(c, q, false);
    uint64_t nearest = s + (places >> 63), ten = tens + (up < down ? 10 : 0);
    return (struct decimal){least < reach ? ten : nearest, k};
}

#if defined(__SSE2__) && !defined(DIKKAT_PLAIN_CPU)

/* Writes the 16 digits of value < 10^16; returns how many there are up to the last one that is not 0. Four times four
 * digits become eight times two, then 16, side by side in one register. */
static inline int put_16_digits(char *out, uint64_t value) {
    uint64_t upper = value / 100000000, lower = value - upper * 100000000;
    uint64_t a = upper * 109951163 >> 40, c = lower * 109951163 >> 40; /* 2^40 / 10^4, rounded up */
    uint64_t fours = a | (upper - 10000 * a) << 16 | c << 32 | (lower - 10000 * c) << 48;
    const __m128i zeros = _mm_set1_epi8('0');
    __m128i x = _mm_cvtsi64_si128((long long)fours);
    __m128i hundreds = _mm_srli_epi16(_mm_mulhi_epu16(x, _mm_set1_epi16(5243)), 3); /* 2^19 / 100, rounded up */
    __m128i twos = _mm_unpacklo_epi16(hundreds, _mm_sub_epi16(x, _mm_mullo_epi16(hundreds, _mm_set1_epi16(100))));
    __m128i tens = _mm_mulhi_epu16(twos, _mm_set1_epi16(6554)); /* 2^16 / 10, rounded up */
    __m128i ones = _mm_sub_epi16(twos, _mm_mullo_epi16(tens, _mm_set1_epi16(10)));
    __m128i digits = _mm_or_si128(tens, _mm_slli_epi16(ones, 8));
    _mm_storeu_si128((__m128i *)(void *)out, _mm_or_si128(digits, zeros));
    unsigned set = ~(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(digits, _mm_setzero_si128())) & 0xFFFF;
    return 32 - __builtin_clz(set << 1 | 1) - 1;
}

#else

/* The eight digits of x < 10^8, one in each byte, the first in the lowest: x is cut into two times four, four times
 * two, eight digits, side by side. The factors are 2^40 / 10^4, 2^20 / 100 and 2^10 / 10, rounded up. */
static inline uint64_t split8(uint64_t x) {
    uint64_t upper = x * 109951163 >> 40, fours = upper | (x - 10000 * upper) << 32;
    uint64_t hundreds = (fours * 10486 >> 20) & 0x0000007F0000007Fu;
    uint64_t twos = hundreds | (fours - 100 * hundreds) << 16;
    uint64_t tens = (twos * 103 >> 10) & 0x000F000F000F000Fu;
    return tens | (twos - 10 * tens) << 8;
}

static inline void store8(char *out, uint64_t x) {
    x |= 0x3030303030303030u;
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    x = __builtin_bswap64(x);
#endif
    memcpy(out, &x, sizeof x);
}

/* Writes the 16 digits of value < 10^16; returns how many there are up to the last one that is not 0. */
static inline int put_16_digits(char *out, uint64_t value) {
    uint64_t upper = value / 100000000, high = split8(upper), low = split8(value - upper * 100000000);
    store8(out, high);
    store8(out + 8, low);
    if (low)
        return 16 - (int)((unsigned)__builtin_clzll(low) / 8);
    return high ? 8 - (int)((unsigned)__builtin_clzll(high) / 8) : 0;
}

#endif

/* The same value with 17 digits; digits in 1 .. 10^17 - 1. */
static inline struct decimal with_17_digits(struct decimal d) {
    int count = (64 - __builtin_clzll(d.digits)) * 1233 >> 12; /* floor(log10) of the next power of two */
    count += d.digits >= api_tens[count];
    return (struct decimal){d.digits * api_tens[17 - count], d.exponent - (17 - count)};
}

/* `exponent` behind the digits: e21, e-8. */
static char *put_exponent(char *out, int exponent) {
    *out++ = 'e';
    if (exponent < 0) {
        *out++ = '-';
        exponent = -exponent;
    }
    if (exponent >= 100)
        *out++ = (char)('0' + exponent / 100);
    if (exponent >= 10)
        *out++ = (char)('0' + exponent / 10 % 10);
    *out++ = (char)('0' + exponent % 10);
    return out;
}

static const uint64_t first_unit = 10000000000000000u; /* of the first of 17 digits */

/* Numbers of at least 10 or below 1e-7: the first digit stands for 10^exponent. */
static __attribute__((noinline)) char *put_far(char *out, uint64_t value, int exponent) {
    char digits[40];
    digits[0] = (char)('0' + value / first_unit);
    int count = 1 + put_16_digits(digits + 1, value % first_unit), whole = exponent + 1;
    memset(digits + 17, '0', sizeof digits - 17);
    if (exponent >= 0 && exponent <= 20) {
        memcpy(out, digits, 24);
        if (count <= whole)
            return out + whole;
        out[whole] = '.';
        memcpy(out + whole + 1, digits + whole, 17);
        return out + count + 1;
    }
    out[0] = digits[0];
    out[1] = '.';
    memcpy(out + 2, digits + 1, 16);
    return put_exponent(count > 1 ? out + count + 1 : out + 1, exponent);
}

/* The text of a decimal with 17 digits, without its trailing zeros. Written without branches where numbers between 1e-7
 * and 10 differ: their first digit, '.' and zeros stand where they always stand, the others follow. */
static inline char *put_17_digits(char *out, struct decimal decimal) {
    int exponent = decimal.exponent + 16;
    if (exponent > 0 || exponent < -7)
        return put_far(out, decimal.digits, exponent);
    uint64_t first = decimal.digits / first_unit;
    unsigned zeros = (unsigned)-exponent;
    memcpy(out, "0.000000", 8);
    out[(zeros + 1) & -(unsigned)(zeros != 0)] = (char)('0' + first);
    out += zeros + 2;
    int count = put_16_digits(out, decimal.digits - first * first_unit);
    return count ? out + count : out - (zeros == 0);
}

static inline char *put(char *out, struct decimal d) {
    if (d.digits == 0) {
        *out = '0';
        return out + 1;
    }
    return put_17_digits(out, with_17_digits(d));
}

/* Integers that every bit of is kept: no search for the shortest text is needed. */
static char *put_whole(char *out, uint64_t value) {
    if (value < 10) {
        *out = (char)('0' + value);
        return out + 1;
    }
    return put(out, (struct decimal){value, 0});
}

char *api_decimal_write_f64(char *out, double value) {
    assert(isfinite(value));
    uint64_t bits = api_bits_of_double(value), c = bits & 0xFFFFFFFFFFFFF;
    int biased = (int)(bits >> 52 & 0x7FF);
    *out = '-';
    out += bits >> 63;
    if (biased == 0)
        return c ? put(out, shortest(c, -1074)) : put_whole(out, 0);
    c |= (uint64_t)1 << 52;
    if (biased + __builtin_ctzll(c) >= 1075 && biased <= 1075) /* no bits behind the point, and below 2^53 */
        return put_whole(out, c >> (1075 - biased));
    if (c == (uint64_t)1 << 52)
        return put(out, shortest_exactly(c, biased - 1075, biased > 1));
    struct decimal d = shortest(c, biased - 1075);
    int short_one = d.digits < 10000000000000000u;
    d.digits *= 1 + 9 * (uint64_t)short_one;
    d.exponent -= short_one;
    return put_17_digits(out, d);
}

char *api_decimal_write_f32(char *out, float value) {
    assert(isfinite(value));
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    *out = '-';
    out += bits >> 31;
    float magnitude = fabsf(value);
    if (magnitude < 0x1p24f && (float)(int32_t)magnitude == magnitude)
        return put_whole(out, (uint64_t)magnitude);
    uint64_t c = bits & 0x7FFFFF;
    int biased = (int)(bits >> 23 & 0xFF);
    if (biased == 0)
        return put(out, shortest(c, -149));
    if (c == 0)
        return put(out, shortest_exactly((uint64_t)1 << 23, biased - 150, biased > 1));
    return put(out, shortest(c | (uint64_t)1 << 23, biased - 150));
}

/* |value| * 10^decimals, rounded half to even on the exact value; UINT64_MAX for 10^17 and more. */
static uint64_t round_scaled(double magnitude, unsigned decimals) {
    uint64_t bits = api_bits_of_double(magnitude), c = bits & 0xFFFFFFFFFFFFF;
    int biased = (int)(bits >> 52), places = 1075 - (biased ? biased : 1); /* value = c * 2^-places */
    if (biased)
        c |= (uint64_t)1 << 52;
    if (places <= 0)
        return UINT64_MAX;
    if (places > 104)
        return 0;
    api_u128 scaled = (api_u128)c * api_tens[decimals]; /* below 2^103 */
    unsigned odd = (unsigned)(scaled >> places) & 1;
    api_u128 whole = (scaled + odd + (((api_u128)1 << (places - 1)) - 1)) >> places; /* a half goes up only if odd */
    return whole < api_tens[17] ? (uint64_t)whole : UINT64_MAX;
}

/* The double nearest to digits * 10^-decimals; digits in 1 .. 10^17. */
static double double_of(uint64_t digits, unsigned decimals) {
    char text[API_DECIMAL_FAST_ROOM];
    const char *next;
    double value;
    char *end = put_exponent(put_whole(text, digits), -(int)decimals);
    api_decimal_read(text, end, &value, &next);
    return value;
}

char *api_decimal_write_rounded(char *out, double value, unsigned decimals) {
    assert(isfinite(value) && decimals <= 15);
    uint64_t digits = round_scaled(fabs(value), decimals);
    if (digits == UINT64_MAX) /* a unit of `decimals` places is less than a tenth of the distance to a neighbour */
        return api_decimal_write_f64(out, value);
    if (digits >= api_tens[15])
        return api_decimal_write_f64(out, copysign(double_of(digits, decimals), value));
    *out = '-'; /* up to 15 digits are always the shortest text of the double they name */
    out += signbit(value) != 0;
    return put(out, (struct decimal){digits, -(int)decimals});
}

/* By way of the nearest double, which is as good as the nearest float: with 7 to 10 digits and up to 15 places four
 * decimals have the middle of two floats as their double without being it, and no float is rounded to one of the four.
 */
char *api_decimal_write_rounded_f32(char *out, float value, unsigned decimals) {
    assert(isfinite(value) && decimals <= 15);
    uint64_t digits = round_scaled((double)fabsf(value), decimals);
    if (digits > api_tens[9] || fabsf(value) >= 0x1p24f)
        return api_decimal_write_f32(out, value);
    if (digits >= api_tens[6])
        return api_decimal_write_f32(out, copysignf((float)double_of(digits, decimals), value));
    *out = '-'; /* up to 6 digits are always the shortest text of the float they name */
    out += signbit(value) != 0;
    return put(out, (struct decimal){digits, -(int)decimals});
}
