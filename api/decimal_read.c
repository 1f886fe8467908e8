/* decimal_read.c - the careful half of reading: any length, any exponent, exact in every case. */
#include "api/decimal.h"
#include "api/decimal_fast.h"

#include <assert.h>

enum {
    LIMBS = 48,   /* 3072 bits: 801 digits, or 54 bits times 5^1144 */
    DIGITS = 800, /* a double's exact decimal value and its neighbours' midpoints have at most 768 digits */
    EXPONENT_CAP = 1000000000
};

/* struct number - a number's text, taken apart.
 *
 *     first, last   from the first digit that is not 0 to the end of the digits; a '.' may be among them
 *     w, taken      the first up to 19 of these digits, and how many they are
 *     count         how many digits there are
 *     n             the number is (all digits as an integer) * 10^n
 */
struct number {
    bool minus;
    const char *first, *last;
    uint64_t w;
    size_t taken, count;
    int64_t n;
};

/* struct big - a natural number: `used` limbs, lowest first. */
struct big {
    unsigned used;
    uint64_t limb[LIMBS];
};

static void multiply_add(struct big *b, uint64_t factor, uint64_t addend) {
    uint64_t carry = addend;
    for (unsigned i = 0; i < b->used; i++) {
        api_u128 product = (api_u128)b->limb[i] * factor + carry;
        b->limb[i] = (uint64_t)product;
        carry = (uint64_t)(product >> 64);
    }
    if (carry) {
        assert(b->used < LIMBS);
        b->limb[b->used++] = carry;
    }
}

static void multiply_by_power_of_5(struct big *b, unsigned n) {
    const uint64_t five_27 = 7450580596923828125u;
    for (; n >= 27; n -= 27)
        multiply_add(b, five_27, 0);
    uint64_t rest = 1;
    while (n--)
        rest *= 5;
    multiply_add(b, rest, 0);
}

static void shift_left(struct big *b, unsigned bits) {
    unsigned limbs = bits / 64;
    multiply_add(b, (uint64_t)1 << bits % 64, 0);
    if (b->used == 0)
        return;
    assert(b->used + limbs <= LIMBS);
    memmove(b->limb + limbs, b->limb, b->used * sizeof *b->limb);
    memset(b->limb, 0, limbs * sizeof *b->limb);
    b->used += limbs;
}

static int compare(const struct big *a, const struct big *b) {
    if (a->used != b->used)
        return a->used < b->used ? -1 : 1;
    for (unsigned i = a->used; i-- > 0;)
        if (a->limb[i] != b->limb[i])
            return a->limb[i] < b->limb[i] ? -1 : 1;
    return 0;
}

/* The digits as a big number, with *n lowered or raised to match. What follows the first DIGITS of them can no longer
 * make two values equal, only break a tie: one digit 1 stands for it. */
static struct big big_of_digits(const struct number *number, int *n) {
    struct big b = {0};
    size_t taken = 0;
    uint64_t part = 0, unit = 1; /* the digits since the last multiplication */
    const char *p = number->first;
    for (; p < number->last && taken < DIGITS; p++) {
        if (*p == '.')
            continue;
        part = 10 * part + (uint64_t)(*p - '0');
        unit *= 10;
        taken++;
        if (unit == 1000000000000000000u) {
            multiply_add(&b, unit, part);
            part = 0;
            unit = 1;
        }
    }
    multiply_add(&b, unit, part);
    *n = (int)(number->n + (int64_t)(number->count - taken));
    while (p < number->last && (*p == '.' || *p == '0'))
        p++;
    if (p < number->last) {
        multiply_add(&b, 10, 1);
        --*n;
    }
    return b;
}

/* Compares the number with (2 m + 1) * 2^(x - 1), halfway between m * 2^x and its upper neighbour. */
static int compare_with_half(const struct number *number, uint64_t m, int x) {
    int n;
    struct big a = big_of_digits(number, &n), b = {1, {2 * m + 1}};
    if (n >= 0)
        multiply_by_power_of_5(&a, (unsigned)n);
    else
        multiply_by_power_of_5(&b, (unsigned)-n);
    int shift = n - (x - 1); /* of a against b */
    if (shift >= 0)
        shift_left(&a, (unsigned)shift);
    else
        shift_left(&b, (unsigned)-shift);
    return compare(&a, &b);
}

/* The nearest double, for magnitudes from 1e-330 to 1e310. The first 19 digits say between which two it is, or beside
 * them by so little that comparing with the middle of the two is right all the same. */
static uint64_t round_exactly(const struct number *number) {
    int n = (int)(number->n + (int64_t)(number->count - number->taken));
    struct api_power power = api_power_of_ten(n);
    int zeros = __builtin_clzll(number->w);
    uint64_t w = number->w << zeros;
    api_u128 product = (api_u128)w * power.high + (uint64_t)((api_u128)w * power.low >> 64);
    unsigned top = (unsigned)(product >> 127);
    int exponent = 63 + (int)top - zeros + api_log2_of_power(n);
    unsigned drop = 74 + top;
    if (exponent < -1022) {
        drop += (unsigned)(-1022 - exponent);
        exponent = -1022;
    }
    uint64_t m = drop < 128 ? (uint64_t)(product >> drop) : 0;
    int order = compare_with_half(number, m, exponent - 52);
    m += order > 0 || (order == 0 && m & 1);
    return ((uint64_t)(exponent + 1022) << 52) + m; /* a subnormal m has no bit 52 to add to the exponent */
}

static enum api_decimal_status convert(const struct number *number, double *value) {
    const uint64_t infinity = (uint64_t)0x7FF << 52;
    uint64_t bits, above;
    int64_t n = number->n + (int64_t)(number->count - number->taken);
    int64_t magnitude = n + (int64_t)number->taken; /* below 10^magnitude */
    if (number->w == 0 || magnitude < -323)
        bits = 0;
    else if (magnitude > 309)
        bits = infinity;
    else if (!(n >= API_ROUND_MIN && n <= API_ROUND_MAX && api_decimal_round(number->w, (int)n, &bits) &&
               (number->count == number->taken || (api_decimal_round(number->w + 1, (int)n, &above) && above == bits))))
        bits = round_exactly(number);
    if (bits > infinity)
        bits = infinity;
    *value = api_double_of_bits(bits | (uint64_t)number->minus << 63);
    return bits < infinity ? API_DECIMAL_OK : API_DECIMAL_OUT_OF_RANGE;
}

static bool digit_at(const char *p, const char *end) {
    return p < end && (unsigned char)(*p - '0') <= 9;
}

static const char *take_digits(struct number *number, const char *p, const char *end) {
    for (; digit_at(p, end); p++) {
        if (number->count == 0 && *p == '0')
            continue;
        if (number->count++ == 0)
            number->first = p;
        if (number->taken < 19) {
            number->w = 10 * number->w + (uint64_t)(*p - '0');
            number->taken++;
        }
    }
    number->last = p;
    return p;
}

/* Reads the digits of an exponent; one too large for any sense stays at EXPONENT_CAP. */
static const char *take_exponent(struct number *number, const char *p, const char *end) {
    bool minus = p < end && *p == '-';
    int64_t value = 0;
    p += p < end && (*p == '-' || *p == '+');
    for (; digit_at(p, end); p++)
        value = value < EXPONENT_CAP ? 10 * value + (*p - '0') : EXPONENT_CAP;
    number->n += minus ? -value : value;
    return p;
}

/* Takes the text apart: [ minus ] int [ frac ] [ exp ] of RFC 8259. Returns the place behind it; NULL with *wrong set:
 * malformed. */
static const char *parse(struct number *number, const char *p, const char *end, const char **wrong) {
    number->minus = p < end && *p == '-';
    p += number->minus;
    if (!digit_at(p, end))
        return *wrong = p, NULL;
    if (*p == '0' && digit_at(p + 1, end))
        return *wrong = p + 1, NULL;
    p = take_digits(number, p, end);
    if (p < end && *p == '.') {
        const char *point = p + 1;
        p = take_digits(number, point, end);
        if (p == point)
            return *wrong = p, NULL;
        number->n = point - p;
    }
    if (p < end && (*p == 'e' || *p == 'E')) {
        p = take_exponent(number, p + 1, end);
        if (!digit_at(p - 1, end))
            return *wrong = p, NULL;
    }
    return p;
}

enum api_decimal_status api_decimal_careful(const char *text, const char *end, double *value, const char **next) {
    struct number number = {0};
    const char *behind = parse(&number, text, end, next);
    if (!behind)
        return API_DECIMAL_MALFORMED;
    *next = behind;
    return convert(&number, value);
}

enum api_decimal_status api_decimal_read(const char *text, const char *end, double *value, const char **next) {
    if (end - text >= API_DECIMAL_FAST_ROOM && (*next = api_decimal_fast(text, value)))
        return API_DECIMAL_OK;
    return api_decimal_careful(text, end, value, next);
}
