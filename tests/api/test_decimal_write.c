/* test_decimal_write.c - the shape of written numbers, and rounding to decimals.
 *
 * That the digits are right is test_decimal.c's; here is where the point stands, when there is an exponent, and that
 * rounding equals the C library's "%.*f" (which rounds the exact binary value, half to even) read back.
 */
#include "tests/ref/decimal_ref.h"

#include <criterion/criterion.h>
#include <float.h>

Test(decimal_write, shape_f64) {
    static const struct {
        double value;
        const char *text;
    } cases[] = {{0.0, "0"},
                 {-0.0, "-0"},
                 {3.0, "3"},
                 {-1.0, "-1"},
                 {10.0, "10"},
                 {64.0, "64"},
                 {0.1, "0.1"},
                 {0.5, "0.5"},
                 {0.25, "0.25"},
                 {1.5, "1.5"},
                 {-2.5, "-2.5"},
                 {9.5, "9.5"},
                 {10.5, "10.5"},
                 {123.456, "123.456"},
                 {-0.13210486329130189, "-0.1321048632913019"},
                 {0.1 + 0.2, "0.30000000000000004"},
                 {1.0 / 3.0, "0.3333333333333333"},
                 {2.0 / 3.0, "0.6666666666666666"},
                 {1e-6, "0.000001"},
                 {1e-7, "0.0000001"},
                 {1.25e-7, "0.000000125"},
                 {9.9e-8, "9.9e-8"},
                 {1e-8, "1e-8"},
                 {1.5e-8, "1.5e-8"},
                 {1e20, "100000000000000000000"},
                 {1e21, "1e21"},
                 {1.5e21, "1.5e21"},
                 {123456789012345680000.0, "123456789012345680000"},
                 {1e22, "1e22"},
                 {9007199254740991.0, "9007199254740991"},
                 {9007199254740992.0, "9007199254740992"},
                 {9007199254740994.0, "9007199254740994"},
                 {4503599627370495.5, "4503599627370495.5"},
                 {1e15, "1000000000000000"},
                 {1e16, "10000000000000000"},
                 {1e17, "100000000000000000"},
                 {12345678.9, "12345678.9"},
                 {1e100, "1e100"},
                 {1.2345e-100, "1.2345e-100"},
                 {5e-324, "5e-324"},
                 {-5e-324, "-5e-324"},
                 {DBL_MIN, "2.2250738585072014e-308"},
                 {DBL_MAX, "1.7976931348623157e308"},
                 {9.5e-308, "9.5e-308"},
                 {2e-310, "2e-310"},
                 {0x1p-1022, "2.2250738585072014e-308"},
                 {9.999999999999997e22, "9.999999999999997e22"},
                 {1e23, "1e23"},
                 {999999999999999.9, "999999999999999.9"},
                 {0.00001234, "0.00001234"},
                 {100.0 / 3.0, "33.333333333333336"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[API_DECIMAL_MAX + 1];
        *api_decimal_write_f64(text, cases[i].value) = '\0';
        cr_assert_str_eq(text, cases[i].text);
    }
}

Test(decimal_write, shape_f32) {
    static const struct {
        float value;
        const char *text;
    } cases[] = {{0.0f, "0"},
                 {-0.0f, "-0"},
                 {0.1f, "0.1"},
                 {0.3f, "0.3"},
                 {3.0f, "3"},
                 {16777215.0f, "16777215"},
                 {16777216.0f, "16777216"},
                 {33554432.0f, "33554432"},
                 {1e20f, "100000000000000000000"},
                 {1e21f, "1e21"},
                 {FLT_MAX, "3.4028235e38"},
                 {FLT_MIN, "1.1754944e-38"},
                 {1e-45f, "1e-45"},
                 {0.33333334f, "0.33333334"},
                 {1e-7f, "0.0000001"},
                 {2.5e-8f, "2.5e-8"},
                 {8388608.5f, "8388608"},
                 {4194304.5f, "4194304.5"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[API_DECIMAL_MAX + 1];
        *api_decimal_write_f32(text, cases[i].value) = '\0';
        cr_assert_str_eq(text, cases[i].text);
    }
}

/* Nothing is written behind the room that the header asks for. */
Test(decimal_write, keeps_to_its_room) {
    uint64_t state = 3;
    for (int i = 0; i < 300000; i++) {
        char room[API_DECIMAL_MAX + 16];
        double value = ref_value((uint64_t)i, &state);
        if (!isfinite(value))
            continue;
        memset(room, '#', sizeof room);
        char *end = i % 3 == 0   ? api_decimal_write_f64(room, value)
                    : i % 3 == 1 ? api_decimal_write_f32(room, fabs(value) < (double)FLT_MAX ? (float)value : FLT_MAX)
                                 : api_decimal_write_rounded(room, value, (unsigned)(i % 16));
        cr_assert_leq(end - room, 26);
        for (int k = API_DECIMAL_MAX; k < (int)sizeof room; k++)
            cr_assert_eq(room[k], '#', "%a", value);
    }
}

Test(decimal_write, rounded) {
    static const struct {
        double value;
        unsigned decimals;
        const char *text;
    } cases[] = {{0.1, 10, "0.1"},
                 {2.675, 2, "2.67"},
                 {0.5, 0, "0"},
                 {1.5, 0, "2"},
                 {2.5, 0, "2"},
                 {-0.5, 0, "-0"},
                 {-0.4, 0, "-0"},
                 {0.125, 2, "0.12"},
                 {0.375, 2, "0.38"},
                 {1e-300, 15, "0"},
                 {-1e-300, 3, "-0"},
                 {1e300, 3, "1e300"},
                 {123456.789, 2, "123456.79"},
                 {0.9999, 3, "1"},
                 {-0.9996, 3, "-1"},
                 {1e15 + 0.3, 1, "1000000000000000.2"},
                 {4503599627370495.5, 0, "4503599627370496"},
                 {9007199254740993.0, 3, "9007199254740992"},
                 {1e-15, 15, "1e-15"},
                 {0.0, 4, "0"},
                 {-0.0, 4, "-0"},
                 {5e-324, 0, "0"},
                 {99.995, 2, "100"},
                 {1.005, 2, "1"},
                 {0.30000000000000004, 15, "0.3"},
                 {1234567.8901234567, 9, "1234567.890123457"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[API_DECIMAL_MAX + 1];
        *api_decimal_write_rounded(text, cases[i].value, cases[i].decimals) = '\0';
        cr_assert_str_eq(text, cases[i].text, "round(%.17g, %u) was %s", cases[i].value, cases[i].decimals, text);
    }
}

static double rounding_case(int i, uint64_t *state) {
    uint64_t bits = ref_random(state);
    double ties = (double)(int64_t)(bits >> 40) / (double)(1 << bits % 20); /* many end in 5 exactly */
    if (i % 4 == 0)
        return bits & 64 ? ties : -ties;
    return ref_value((uint64_t)i, state);
}

Test(decimal_write, rounded_like_the_c_library) {
    uint64_t state = 17;
    for (int i = 0; i < 400000; i++) {
        char text[API_DECIMAL_MAX + 1], theirs[400];
        double value = rounding_case(i, &state);
        unsigned decimals = (unsigned)(ref_random(&state) % 16);
        if (!isfinite(value))
            continue;
        *api_decimal_write_rounded(text, value, decimals) = '\0';
        snprintf(theirs, sizeof theirs, "%.*f", (int)decimals, value);
        double expected = strtod(theirs, NULL);
        cr_assert(ref_same_bits(strtod(text, NULL), expected), "round(%.17g, %u) was %s", value, decimals, text);
        const char *why = ref_shortest(text, expected, ref_back_f64);
        cr_assert_null(why, "round(%.17g, %u) was %s: %s", value, decimals, text, why);
    }
}

Test(decimal_write, rounded_floats) {
    uint64_t state = 19;
    for (int i = 0; i < 400000; i++) {
        char text[API_DECIMAL_MAX + 1], theirs[400];
        float value = (float)fmax(fmin(rounding_case(i, &state), 1e30), -1e30);
        unsigned decimals = (unsigned)(ref_random(&state) % 16);
        if (!isfinite(value))
            continue;
        *api_decimal_write_rounded_f32(text, value, decimals) = '\0';
        snprintf(theirs, sizeof theirs, "%.*f", (int)decimals, (double)value);
        double expected = (double)strtof(theirs, NULL);
        cr_assert(ref_back_f32(text, expected), "round(%.9g, %u) was %s", (double)value, decimals, text);
        const char *why = ref_shortest(text, expected, ref_back_f32);
        cr_assert_null(why, "round(%.9g, %u) was %s: %s", (double)value, decimals, text, why);
    }
}
