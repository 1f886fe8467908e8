/* decimal.h - exact conversion between decimal text and binary floating point; looks at no locale. */
#ifndef API_DECIMAL_H
#define API_DECIMAL_H

#include <stddef.h>

enum api_decimal_status {
    API_DECIMAL_OK,
    API_DECIMAL_MALFORMED,   /* not a JSON number */
    API_DECIMAL_OUT_OF_RANGE /* magnitude rounds to infinity */
};

/* api_decimal_read - reads one JSON number (RFC 8259 grammar) at `text`, correctly rounded (nearest, ties to even).
 *
 *     text   may be followed by anything; never read at or behind `end`
 *     next   out: first character behind the number; on failure the character at fault
 *
 * Underflow gives 0 or a subnormal; -0 keeps its sign.
 * Source    Lemire 2021, "Number parsing at a gigabyte per second"; a slow exact path for what it leaves open.
 */
enum api_decimal_status api_decimal_read(const char *text, const char *end, double *value, const char **next);

enum { API_DECIMAL_MAX = 40 }; /* room that a written number may need, and may be scribbled on */

/* api_decimal_write_f64, _f32 - the shortest JSON text that reads back to the same value (as double, as float), closest
 * to it among those of that length. Integers below 2^53 (2^24) print without point or exponent: 3, -0. Others print
 * like JavaScript's Number: positional for 1e-7 <= |x| < 1e21, else 1.5e-8, 1e+21 without the '+'.
 *
 * Requires  value finite (asserted); API_DECIMAL_MAX bytes at out.
 * Returns   end of the text; no NUL is written.
 */
char *api_decimal_write_f64(char *out, double value);
char *api_decimal_write_f32(char *out, float value);

/* api_decimal_write_rounded - value rounded to `decimals` (0 .. 15) places, half to even on the exact binary value like
 * Python's round(); then as api_decimal_write_f64. */
char *api_decimal_write_rounded(char *out, double value, unsigned decimals);

/* api_decimal_write_rounded_f32 - the same for a float, whose rounded value prints as api_decimal_write_f32 does: at
 * most the digits that a float holds, 0.1 and not 0.10000000149011612. */
char *api_decimal_write_rounded_f32(char *out, float value, unsigned decimals);

#endif
