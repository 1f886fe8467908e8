/* test_positions.c - sines and cosines against long double, learned rows against plain addition. */
#include "core/positions.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

/* The angle carries the rounding of its power and quotient, up to 2 ulp of n: 1024 * 2 * 2^-53. */
#define TOLERANCE_F64 5e-13
#define TOLERANCE_F32 1e-6

enum { BATCH = 2, N = 1024, MOST = 17 };

static double exact(size_t i, size_t j, size_t d) {
    long double angle = (long double)i / powl(10000, (long double)(j - j % 2) / (long double)d);
    return (double)(j % 2 ? cosl(angle) : sinl(angle));
}

Test(positions, sinusoidal) {
    static double out[BATCH * N * MOST];
    static float single[BATCH * N * MOST];
    for (size_t d = 1; d <= MOST; d += 4) {
        for (size_t i = 0; i < BATCH * N * d; i++)
            single[i] = (float)(out[i] = (double)(i % 8));
        attn_positions_sinusoidal_f64(out, BATCH, N, d, ATTN_POSITION_BASE, NULL);
        attn_positions_sinusoidal_f32(single, BATCH, N, d, ATTN_POSITION_BASE, NULL);
        for (size_t i = 0; i < BATCH * N * d; i++) {
            double want = (double)(i % 8) + exact(i / d % N, i % d, d);
            cr_assert_leq(fabs(out[i] - want), TOLERANCE_F64 * 8, "d %zu, element %zu", d, i);
            cr_assert_leq(fabs((double)single[i] - want), TOLERANCE_F32 * 8, "d %zu, element %zu", d, i);
        }
    }
}

/* Position 0 is 0, 1, 0, 1 ... and the first pair turns by one radian a step. */
Test(positions, known_values) {
    double out[2 * 4] = {0};
    attn_positions_sinusoidal_f64(out, 1, 2, 4, ATTN_POSITION_BASE, NULL);
    const double want[8] = {
        0, 1, 0, 1, 0.8414709848078965, 0.5403023058681398, 0.009999833334166664, 0.9999500004166653};
    for (size_t i = 0; i < 8; i++)
        cr_assert_float_eq(out[i], want[i], 1e-15);
}

Test(positions, learned) {
    double out[2 * 3 * 2], positions[3 * 2] = {1, -2, 0.5, 8, 0, 3};
    float single[2 * 3 * 2], single_positions[3 * 2];
    for (size_t i = 0; i < 12; i++)
        single[i] = (float)(out[i] = (double)i / 3);
    for (size_t i = 0; i < 6; i++)
        single_positions[i] = (float)positions[i];
    attn_positions_add_f64(out, 2, positions, 3, 2);
    attn_positions_add_f32(single, 2, single_positions, 3, 2);
    for (size_t i = 0; i < 12; i++) {
        cr_assert_eq(out[i], (double)i / 3 + positions[i % 6]);
        cr_assert_eq(single[i], (float)((double)i / 3) + single_positions[i % 6]);
    }
}
