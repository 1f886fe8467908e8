/* decimal_powers.h - the powers of ten as 128-bit numbers, shared by reading and writing.
 *
 *     10^n = (P + e) * 2^(log2(n) - 127),   0 <= e < 1,   P = high * 2^64 + low in [2^127, 2^128)
 *
 * with log2(n) = floor(n * log2(10)): each P is the true value cut off, never rounded up. e is 0 for n in 0 .. 55.
 * decimal_powers.c is written by tests/tools/make_powers.c; test_decimal.c verifies every row.
 */
#ifndef API_DECIMAL_POWERS_H
#define API_DECIMAL_POWERS_H

#include <stdint.h>

enum { API_POWER_MIN = -342, API_POWER_MAX = 324 };

struct api_power {
    uint64_t high, low;
};

extern const struct api_power api_powers[API_POWER_MAX - API_POWER_MIN + 1];

__extension__ typedef unsigned __int128 api_u128;

static inline struct api_power api_power_of_ten(int n) {
    return api_powers[n - API_POWER_MIN];
}

/* api_log2_of_power - floor(n * log2(10)) for |n| <= 350; `>>` of a negative number rounds down in every compiler that
 * this project supports. */
static inline int api_log2_of_power(int n) {
    return (n * 217706) >> 16;
}

#endif
