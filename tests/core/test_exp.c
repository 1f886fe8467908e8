/* Goal: exp and tanh inside the softmax are as accurate as core/softmax.h says, at every magnitude.
 * Method: against expl and tanhl, on random arguments of every size and on the borders: 0, the smallest normal and
 * subnormal results, what vanishes, infinities and NaN.
 */
#include "core/softmax.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdint.h>

enum { ROW = 251, ROWS = 800 }; /* an odd length: every position within a vector, and every tail */

static const long double EXP_ULP = 1, TANH_ULP = 4;

static double next(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) * 0x1p-53;
}

/* Distance of neighbours at `x` in a format of `digits` bits whose smallest subnormal is 2^least. */
static long double ulp_at(long double x, int digits, int least) {
    int exponent;
    frexpl(x, &exponent);
    return ldexpl(1, exponent - digits > least && x != 0 ? exponent - digits : least);
}

static void exp_f64(double *x, size_t n) {
    struct attn_span all = {0, n};
    double top = 0, sum = 0, shrink;
    attn_rows_exp_f64(x, n, &all, 1, &top, &sum, &shrink);
}

static void exp_f32(float *x, size_t n) {
    struct attn_span all = {0, n};
    float top = 0, shrink;
    double sum = 0;
    attn_rows_exp_f32(x, n, &all, 1, &top, &sum, &shrink);
}

static void check_exp(double x, double got64, float got32) {
    long double want = expl((long double)x), want32 = expl((long double)(float)x);
    cr_assert(fabsl((long double)got64 - want) <= EXP_ULP * ulp_at(want, DBL_MANT_DIG, -1074), "exp(%a) gave %a", x,
              got64);
    cr_assert(fabsl((long double)got32 - want32) <= EXP_ULP * ulp_at(want32, FLT_MANT_DIG, -149),
              "exp(%a) gave %a in single precision", (double)(float)x, (double)got32);
}

static void check_exp_row(const double *x) {
    double y[ROW];
    float z[ROW];
    for (int j = 0; j < ROW; j++) {
        y[j] = x[j];
        z[j] = (float)x[j];
    }
    exp_f64(y, ROW);
    exp_f32(z, ROW);
    for (int j = 0; j < ROW; j++)
        check_exp(x[j], y[j], z[j]);
}

Test(exp, is_within_an_ulp_at_every_magnitude) {
    uint64_t state = 1;
    static const double reach[] = {1e-300, 1e-17, 1e-7, 0.3, 1, 20, 110, 800, 1e5, 1e300};
    for (int r = 0; r < ROWS; r++) {
        double x[ROW];
        for (int j = 0; j < ROW; j++)
            x[j] = -next(&state) * reach[r % 10];
        check_exp_row(x);
    }
}

Test(exp, borders) {
    static const double borders[] = {0,
                                     -0.0,
                                     -0x1p-1074,
                                     -0x1.62e42fefa39efp-2,
                                     -0x1.62e42fefa39efp-1,
                                     -708.3964185322641,
                                     -708.39641853226408,
                                     -744.44007192138122,
                                     -745.13321910194122,
                                     -745.14,
                                     -746,
                                     -746.0001,
                                     -87.336544,
                                     -87.34,
                                     -103.27893,
                                     -103.97207,
                                     -103.98,
                                     -105,
                                     -1e308,
                                     -(double)INFINITY};
    double x[ROW] = {0};
    for (size_t i = 0; i < sizeof borders / sizeof *borders; i++)
        x[i] = borders[i];
    check_exp_row(x);
    double one = -0.0, gone = -(double)INFINITY, lost = (double)NAN;
    exp_f64(&one, 1);
    exp_f64(&gone, 1);
    exp_f64(&lost, 1);
    cr_assert(one == 1 && gone == 0 && isnan(lost));
    float one32 = -0.0F, gone32 = -(float)INFINITY, lost32 = (float)NAN;
    exp_f32(&one32, 1);
    exp_f32(&gone32, 1);
    exp_f32(&lost32, 1);
    cr_assert(one32 == 1 && gone32 == 0 && isnan(lost32));
}

static void check_cap(double cap, const double *x) {
    double y[ROW];
    float z[ROW];
    for (int j = 0; j < ROW; j++) {
        y[j] = x[j];
        z[j] = (float)x[j];
    }
    attn_row_cap_f64(y, ROW, cap);
    attn_row_cap_f32(z, ROW, (float)cap);
    for (int j = 0; j < ROW; j++) {
        long double want = (long double)cap * tanhl((long double)x[j] / (long double)cap);
        long double cap32 = (long double)(float)cap, want32 = cap32 * tanhl((long double)(float)x[j] / cap32);
        cr_assert(fabsl((long double)y[j] - want) <= TANH_ULP * ulp_at(want, DBL_MANT_DIG, -1074),
                  "cap %g of %a gave %a", cap, x[j], y[j]);
        cr_assert(fabsl((long double)z[j] - want32) <= TANH_ULP * ulp_at(want32, FLT_MANT_DIG, -149),
                  "cap %g of %a gave %a in single precision", cap, x[j], (double)z[j]);
    }
}

Test(exp, softcap_is_within_four_ulp_small_values_included) {
    uint64_t state = 2;
    static const double caps[] = {0.5, 1, 30, 50, 1000}, reach[] = {1e-30, 1e-9, 0.1, 1, 3, 1e4, 1e30};
    for (int r = 0; r < ROWS; r++) {
        double x[ROW];
        for (int j = 0; j < ROW; j++)
            x[j] = (2 * next(&state) - 1) * reach[r % 7] * caps[r % 5];
        check_cap(caps[r % 5], x);
    }
}

/* Where x / cap loses digits or is lost, the cap leaves x as it is. */
Test(exp, softcap_far_above_the_scores) {
    double x[] = {1e-8, -1e-300, -0.0, 0x1p-1074};
    attn_row_cap_f64(x, 4, 1e308);
    cr_assert(x[0] == 1e-8 && x[1] == -1e-300 && x[2] == 0 && signbit(x[2]) && x[3] == 0x1p-1074);
    float y[] = {1e-3F, -1e-30F, -0.0F, 0x1p-149F};
    attn_row_cap_f32(y, 4, 3e38F);
    cr_assert(y[0] == 1e-3F && y[1] == -1e-30F && y[2] == 0 && signbit(y[2]) && y[3] == 0x1p-149F);
}

Test(exp, softcap_at_the_borders) {
    double x[] = {0, (double)INFINITY, -(double)INFINITY, (double)NAN, 1e308};
    attn_row_cap_f64(x, 5, 30);
    cr_assert(x[0] == 0 && x[1] == 30 && x[2] == -30 && isnan(x[3]) && x[4] == 30);
    float y[] = {0, (float)INFINITY, -(float)INFINITY, (float)NAN, 1e38F};
    attn_row_cap_f32(y, 5, 30);
    cr_assert(y[0] == 0 && y[1] == 30 && y[2] == -30 && isnan(y[3]) && y[4] == 30);
}
