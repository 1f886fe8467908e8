/* test_decimal.c - the conversions between decimal text and binary numbers are exact.
 *
 * Ten million values go through writing and both ways of reading, bit for bit; one in 64 is held against the C library,
 * also for being the shortest and nearest text. Tables hold the cases that are hard on purpose, and what is no number.
 */
#include "tests/ref/decimal_ref.h"

#include <criterion/criterion.h>

#ifdef __OPTIMIZE__
#define VALUES 10000000
#else
#define VALUES 1000000
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SLOWNESS 20
#else
#define SLOWNESS 1
#endif

Test(decimal, random_values, .timeout = 120) {
    char text[API_DECIMAL_MAX + 1];
    uint64_t state = 20240229;
    for (uint64_t i = 0; i < VALUES / SLOWNESS; i++) {
        double value = ref_value(i, &state);
        const char *why = ref_check_f64(value, i % 64 == i / 64 % 64 ? (int)(i % 4) + 4 : 0, text);
        cr_assert_null(why, "value %llu: %a was written as %s: %s", (unsigned long long)i, value, text, why);
    }
}

Test(decimal, random_floats, .timeout = 120) {
    char text[API_DECIMAL_MAX + 1];
    uint64_t state = 7;
    for (uint64_t i = 0; i < VALUES / 4 / SLOWNESS; i++) {
        uint32_t bits = (uint32_t)ref_random(&state);
        if (i % 4 == 1)
            bits = (bits & 0xBFFFFFFF) | 0x38000000; /* 3e-5 to 4e9 */
        if (i % 16 == 2)
            bits &= 0x807FFFFF >> bits % 16;
        float value;
        memcpy(&value, &bits, sizeof value);
        const char *why = ref_check_f32(value, i % 16 == i / 16 % 16, text);
        cr_assert_null(why, "%a was written as %s: %s", (double)value, text, why);
    }
}

/* Powers of two have a nearer lower neighbour; they and what lies beside them are where shortest texts go wrong. */
Test(decimal, powers_of_two_and_ten) {
    char text[API_DECIMAL_MAX + 1];
    for (int e = -1074; e <= 1023; e++)
        for (int side = -1; side <= 1; side++) {
            double value = ldexp(1, e);
            value = side ? nextafter(value, side * HUGE_VAL) : value;
            const char *why = ref_check_f64(value, 4, text);
            cr_assert_null(why, "%a was written as %s: %s", value, text, why);
            if (e < -149 || e > 127)
                continue;
            float single = ldexpf(1, e);
            single = side ? nextafterf(single, (float)side * HUGE_VALF) : single;
            why = ref_check_f32(single, 1, text);
            cr_assert_null(why, "%a was written as %s: %s", (double)single, text, why);
        }
    for (int e = -323; e <= 308; e++) {
        char power[16];
        snprintf(power, sizeof power, "1e%d", e);
        double value = strtod(power, NULL);
        cr_assert(ref_reads_as(power, value), "%s", power);
        cr_assert_null(ref_check_f64(value, 4, text), "%s was written as %s", power, text);
    }
}

/* Every row of the table, checked without division: P <= 10^n * 2^(127 - log2(n)) < P + 1. */
enum { LIMBS = 80 };

static void multiply(uint32_t a[LIMBS], uint32_t factor) {
    uint64_t carry = 0;
    for (int i = 0; i < LIMBS; i++) {
        carry += (uint64_t)a[i] * factor;
        a[i] = (uint32_t)carry;
        carry >>= 32;
    }
    cr_assert_eq(carry, 0);
}

static void shift(uint32_t a[LIMBS], int bits) {
    for (; bits > 0; bits -= bits < 31 ? bits : 31)
        multiply(a, (uint32_t)1 << (bits < 31 ? bits : 31));
}

static int compare(const uint32_t a[LIMBS], const uint32_t b[LIMBS]) {
    for (int i = LIMBS; i-- > 0;)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return 0;
}

/* Compares P + more with 10^n * 2^(127 - log2(n)). */
static int compare_power(int n, unsigned more) {
    uint32_t p[LIMBS] = {0}, exact[LIMBS] = {1};
    struct api_power power = api_power_of_ten(n);
    for (int i = 0; i < 2; i++) {
        p[i] = (uint32_t)(power.low >> 32 * i);
        p[2 + i] = (uint32_t)(power.high >> 32 * i);
    }
    uint64_t carry = more;
    for (int i = 0; i < LIMBS && carry; i++) {
        carry += p[i];
        p[i] = (uint32_t)carry;
        carry >>= 32;
    }
    int scale = 127 - api_log2_of_power(n);
    for (int i = 0; i < (n < 0 ? -n : n); i++)
        multiply(n < 0 ? p : exact, 10);
    shift(scale < 0 ? p : exact, scale < 0 ? -scale : scale);
    return compare(p, exact);
}

Test(decimal, table_of_powers) {
    for (int n = API_POWER_MIN; n <= API_POWER_MAX; n++) {
        cr_assert_geq(api_power_of_ten(n).high, (uint64_t)1 << 63, "1e%d", n);
        cr_assert_leq(compare_power(n, 0), 0, "1e%d is too large", n);
        cr_assert_gt(compare_power(n, 1), 0, "1e%d is too small", n);
    }
}

Test(decimal, hard_texts) {
    static const char *const texts[] = {
        "0",
        "-0",
        "-0.0",
        "0e999999999999",
        "-0e-999999999999",
        "0.000e5",
        "1e-400",
        "-1e-99999999999999999999",
        "5e-324",
        "4.9406564584124654e-324",
        "2.4703282292062327208e-324",
        "2.4703282292062328e-324",
        "2.4703282292062327e-324",
        "2.2250738585072011e-308",
        "2.2250738585072012e-308",
        "2.2250738585072014e-308",
        "1.7976931348623157e308",
        "1.7976931348623158e308",
        "-1.7976931348623158e308",
        "17976931348623157E292",
        "9007199254740991",
        "9007199254740992",
        "9007199254740993",
        "9007199254740994",
        "9007199254740995",
        "9007199254740993.0",
        "9007199254740993.00000000000000000000000000000000000000000000000000000001",
        "4503599627370497.5",
        "4503599627370496.5",
        "9223372036854775807",
        "9223372036854775808",
        "18446744073709551615",
        "18446744073709551616",
        "18446744073709551617",
        "99999999999999999999",
        "10000000000000000000",
        "9999999999999999999",
        "123456789012345678901234567890",
        "0.1",
        "0.2",
        "0.3",
        "0.5",
        "1.5",
        "1e0",
        "1E+2",
        "1e-2",
        "1e22",
        "1e23",
        "1e-22",
        "8.5e22",
        "8.41e+21",
        "9.0608011534336e15",
        "6.9294956446009195e15",
        "7.2057594037927933e16",
        "0.00000000000000000000000000000000000012345678901234567",
        "0.000000000000000000000000000000",
        "100000000000000000000000000000000000000000e-40",
        "3.141592653589793238462643383279502884197169399375105820974944592",
        "0.13210486329130189",
        "-0.13210486329130189",
        "12345678.5",
        "1234567.5",
        "12345678901.5",
        "123.45678901234567",
        "99999999999.99999999",
        "0.9999999999999999999",
        "0.99999999999999999999999",
        "1.00000000000000011102230246251565",
        "1.00000000000000011102230246251566",
        "1.00000000000000011102230246251565404236316680908203125",
        "1.00000000000000011102230246251565404236316680908203124",
        "1.00000000000000011102230246251565404236316680908203126",
        "6250000000000000000000000000e-28",
        "1.0e-3",
        "7e-7",
        "1e000000000000000000001",
        "1e-000000000000000000001",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        double value;
        const char *next, *end = texts[i] + strlen(texts[i]);
        cr_assert_eq(api_decimal_careful(texts[i], end, &value, &next), API_DECIMAL_OK, "%s", texts[i]);
        cr_assert_eq(next, end, "%s", texts[i]);
        cr_assert(ref_same_bits(value, strtod(texts[i], NULL)), "%s was read as %.17g", texts[i], value);
        if (strlen(texts[i]) < API_DECIMAL_MAX)
            cr_assert(ref_reads_as(texts[i], strtod(texts[i], NULL)), "%s, quickly", texts[i]);
    }
}

/* Reads text and the same text with `tail` at its end, with and without room behind it. */
static void reads_like_strtod(const char *text) {
    char room[1400];
    size_t size = strlen(text);
    double value, expected = strtod(text, NULL);
    const char *next;
    memset(room, ' ', sizeof room);
    memcpy(room, text, size);
    cr_assert_eq(api_decimal_read(room, room + sizeof room, &value, &next), API_DECIMAL_OK);
    cr_assert_eq(next, room + size, "%s", text);
    cr_assert(ref_same_bits(value, expected), "%s was read as %a, not %a", text, value, expected);
    cr_assert_eq(api_decimal_read(room, room + size, &value, &next), API_DECIMAL_OK);
    cr_assert(ref_same_bits(value, expected), "%s was read as %a, not %a", text, value, expected);
}

/* The exact middle between two neighbours, hundreds of digits long, and what is beside it in the last digit. */
Test(decimal, halfway, .timeout = 60) {
    uint64_t state = 11;
    char text[1300];
    for (int i = 0; i < 3000; i++) {
        double value = fabs(ref_value((uint64_t)i, &state)), above = nextafter(value, HUGE_VAL);
        if (!isfinite(value) || !isfinite(above))
            continue;
        long double middle = (long double)value + ((long double)above - (long double)value) / 2;
        for (int form = 0; form < 2; form++) {
            int size =
                form ? snprintf(text, sizeof text, "%.1100Lf", middle) : snprintf(text, sizeof text, "%.770Le", middle);
            if (size >= (int)sizeof text)
                continue;
            reads_like_strtod(text);
            char *last = form ? text + size - 1 : strchr(text, 'e') - 1;
            cr_assert_eq(*last, '0');
            *last = '1';
            reads_like_strtod(text);
            for (char *p = last; *p != '.' || p == last; p--) { /* minus one unit: the last digit not 0 goes down */
                if (*p >= '1' && p != last) {
                    --*p;
                    break;
                }
                if (*p >= '0')
                    *p = '9';
            }
            reads_like_strtod(text);
        }
    }
}

/* More than 19 digits, more than 800, at random. */
Test(decimal, long_texts, .timeout = 60) {
    uint64_t state = 5;
    char text[1300];
    for (int i = 0; i < 20000; i++) {
        int digits = i % 50 ? 18 + (int)(ref_random(&state) % 12) : 700 + (int)(ref_random(&state) % 400);
        int point = (int)(ref_random(&state) % (unsigned)digits);
        char *p = text;
        *p++ = (char)('1' + ref_random(&state) % 9);
        for (int k = 1; k < digits; k++) {
            *p++ = (char)('0' + (ref_random(&state) % 4 ? ref_random(&state) % 10 : 0));
            if (k == point)
                *p++ = '.', *p++ = '0';
        }
        sprintf(p, "e%d", (int)(ref_random(&state) % 600) - 300 - (point ? point : digits));
        reads_like_strtod(text);
    }
}

Test(decimal, out_of_range) {
    static const char *const texts[] = {
        "1e309",
        "-1e309",
        "1.7976931348623159e308",
        "1.797693134862315808e308",
        "1e400",
        "1e99999999999999999999",
        "17976931348623159077293051907890247336179769789423065727343008115773267580550096313270847732240753602112011387"
        "98713933576587897688144166224928474306394741243777678934248654852763022196012460941194530829520850057688381506"
        "82342462881473913110540827237163350510684586298239947245938479716304835356329624224137216",
        "123456789e301"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        double value;
        const char *next, *end = texts[i] + strlen(texts[i]);
        cr_assert_eq(api_decimal_read(texts[i], end, &value, &next), API_DECIMAL_OUT_OF_RANGE, "%s", texts[i]);
        cr_assert_eq(next, end, "%s", texts[i]);
        cr_assert(isinf(value) && !signbit(value) == (texts[i][0] != '-'), "%s", texts[i]);
    }
}

/* What RFC 8259 does not allow, and the place of the character at fault. */
Test(decimal, malformed) {
    static const struct {
        const char *text;
        int at;
    } cases[] = {{"", 0},     {"-", 1},
                 {"+1", 0},   {".5", 0},
                 {"-.5", 1},  {"1.", 2},
                 {"1.e5", 2}, {"01", 1},
                 {"-012", 2}, {"00", 1},
                 {"1e", 2},   {"1e+", 3},
                 {"1E-x", 3}, {"1.5e", 4},
                 {"x", 0},    {"--1", 1},
                 {"NaN", 0},  {"-Infinity", 1},
                 {" 1", 0},   {"0.", 2},
                 {"1.-5", 2}, {"0123456789012345678901234567890123456789012345678901234567890", 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char room[128];
        size_t size = strlen(cases[i].text);
        double value;
        const char *next;
        memset(room, ' ', sizeof room);
        memcpy(room, cases[i].text, size);
        cr_assert_eq(api_decimal_read(room, room + sizeof room, &value, &next), API_DECIMAL_MALFORMED, "%s",
                     cases[i].text);
        cr_assert_eq(next - room, cases[i].at, "%s: %td", cases[i].text, next - room);
        cr_assert_eq(api_decimal_read(room, room + size, &value, &next), API_DECIMAL_MALFORMED, "%s", cases[i].text);
        cr_assert_eq(next - room, cases[i].at, "%s: %td", cases[i].text, next - room);
    }
}

/* The number ends where its grammar ends; what follows is the caller's. */
Test(decimal, ends_where_it_ends) {
    static const struct {
        const char *text;
        int size;
    } cases[] = {{"0,", 1},    {"1]", 1},    {"-0.5e3}", 6}, {"12abc", 2},
                 {"1.5.5", 3}, {"1e5e5", 3}, {"0x10", 1},    {"1-2", 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char room[64] = {0};
        double value;
        const char *next;
        memcpy(room, cases[i].text, strlen(cases[i].text));
        cr_assert_eq(api_decimal_read(room, room + sizeof room, &value, &next), API_DECIMAL_OK);
        cr_assert_eq(next - room, cases[i].size, "%s", cases[i].text);
        cr_assert_eq(api_decimal_read(room, room + strlen(room), &value, &next), API_DECIMAL_OK);
        cr_assert_eq(next - room, cases[i].size, "%s", cases[i].text);
    }
}
