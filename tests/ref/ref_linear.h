/* ref_linear.h - naive oracles of projections and rotations: long double, one sum at a time, no BLAS. */
#ifndef TESTS_REF_LINEAR_H
#define TESTS_REF_LINEAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ref_uniform - the next number in [-1, 1) of a stream that starts at *state (SplitMix64). */
double ref_uniform(uint64_t *state);

/* ref_project - y[i][o] = b[o] + sum_c x[i][c] w[c][o] (out_in: w[o][c]); b may be NULL; `magnitude` gets the same sum
 * of absolute values, by which an error is judged. */
void ref_project(size_t rows, size_t d_in, size_t d_out, const double *x, const double *w, bool out_in, const double *b,
                 long double *y, long double *magnitude);

/* ref_rope - turns the pairs among the first `dims` of x [cols] by position * base^(-2c / dims), as a complex
 * product. */
void ref_rope(size_t dims, long double base, bool interleaved, long double position, long double *x);

#endif
