/* decimal_digits.h - many digits at a time, as side-by-side numbers in one register: each step joins neighbours, ones
 * to tens, tens to hundreds. With SSE2, which every x86-64 has, 16 at a time; elsewhere eight. Of use to decimal_fast.h
 * alone.
 */
#ifndef API_DECIMAL_DIGITS_H
#define API_DECIMAL_DIGITS_H

#include <stdint.h>
#include <string.h>
#if defined(__SSE2__) && !defined(DIKKAT_PLAIN_CPU)
#include <emmintrin.h>
#endif

enum { API_DECIMAL_SPAN = 32 }; /* characters that api_others and api_comma look at */

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

/* As api_load8. */
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

#endif
