#include "tests/ref/ref_linear.h"

#include <complex.h>
#include <math.h>

double ref_uniform(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-52 - 1;
}

void ref_project(size_t rows, size_t d_in, size_t d_out, const double *x, const double *w, bool out_in, const double *b,
                 long double *y, long double *magnitude) {
    for (size_t i = 0; i < rows; i++)
        for (size_t o = 0; o < d_out; o++) {
            long double sum = b ? b[o] : 0, size = fabsl(sum);
            for (size_t c = 0; c < d_in; c++) {
                long double term = (long double)x[i * d_in + c] * (out_in ? w[o * d_in + c] : w[c * d_out + o]);
                sum += term;
                size += fabsl(term);
            }
            y[i * d_out + o] = sum;
            magnitude[i * d_out + o] = size;
        }
}

void ref_rope(size_t dims, long double base, bool interleaved, long double position, long double *x) {
    for (size_t c = 0; c < dims / 2; c++) {
        size_t first = interleaved ? 2 * c : c, second = interleaved ? 2 * c + 1 : c + dims / 2;
        long double angle = position * powl(base, -2.0L * (long double)c / (long double)dims);
        long double complex turned = (x[first] + x[second] * I) * (cosl(angle) + sinl(angle) * I);
        x[first] = creall(turned);
        x[second] = cimagl(turned);
    }
}
