#include "core/checks.h"
#include "core/real.h"

#include <math.h>

static double largest(const real *x, size_t count) {
    double most = 0;
    for (size_t j = 0; j < count; j++)
        if (fabs((double)x[j]) > most)
            most = fabs((double)x[j]);
    return most;
}

/* In runs that are added up: the rounding of a hundred thousand weights would otherwise look like an error of the row.
 */
static double sum_of(const real *row, size_t count) {
    enum { RUN = 512 };
    double total = 0;
    for (size_t begin = 0; begin < count; begin += RUN) {
        size_t end = count - begin < RUN ? count : begin + RUN;
        double run = 0;
#pragma omp simd reduction(+ : run)
        for (size_t j = begin; j < end; j++)
            run += (double)row[j];
        total += run;
    }
    return total;
}

struct attn_row_measure ATTN_REAL(attn_measure_row)(const real *row, size_t n_k, size_t split) {
    double magnitude = 0;
#pragma omp simd reduction(+ : magnitude)
    for (size_t j = split; j < n_k; j++)
        magnitude += fabs((double)row[j]);
    struct attn_row_measure measure = {sum_of(row, n_k), magnitude, 0};
    if (isnan(magnitude))
        measure.future_max = INFINITY;
    else if (magnitude > 0)
        measure.future_max = largest(row + split, n_k - split);
    return measure;
}

double ATTN_REAL(attn_dropped_sum)(const real *row, size_t n_k, const uint8_t *padding, size_t length) {
    double sum = 0;
    size_t end = length < n_k ? length : n_k;
    if (padding)
#pragma omp simd reduction(+ : sum)
        for (size_t j = 0; j < end; j++)
            sum += padding[j] ? fabs((double)row[j]) : 0;
    for (size_t j = end; j < n_k; j++)
        sum += fabs((double)row[j]);
    return sum;
}

double ATTN_REAL(attn_max_change)(const real *a, const real *b, size_t count) {
    double most = 0;
    for (size_t i = 0; i < count; i++) {
        if (a[i] == b[i] || (isnan(a[i]) && isnan(b[i])))
            continue;
        double change = fabs((double)a[i] - (double)b[i]);
        if (isnan(change))
            return INFINITY;
        if (change > most)
            most = change;
    }
    return most;
}

/* x - x is 0 for every finite x and NaN for the others, and NaN stays in a sum. */
bool ATTN_REAL(attn_all_finite)(const real *x, size_t count) {
    real sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < count; i++)
        sum += x[i] - x[i];
    return sum == 0;
}
