#include "core/nearest.h"
#include "core/real.h"

#include <math.h>

int64_t ATTN_REAL(attn_nearest_row)(size_t count, size_t cols, const real *x, const real *values) {
    double least = INFINITY;
    int64_t nearest = -1;
    for (size_t j = 0; j < count; j++, values += cols) {
        double distance = 0;
#pragma omp simd reduction(+ : distance)
        for (size_t c = 0; c < cols; c++) {
            double apart = (double)x[c] - (double)values[c];
            distance += apart * apart;
        }
        if (distance < least || (nearest < 0 && !isnan(distance))) {
            least = distance;
            nearest = (int64_t)j;
        }
    }
    return nearest < 0 ? 0 : nearest;
}
