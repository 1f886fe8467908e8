#include "core/compare.h"

#include <math.h>

static double apart(double got, double expected) {
    if (got == expected || (isnan(got) && isnan(expected)))
        return 0;
    double error = fabs(got - expected);
    return isnan(error) ? INFINITY : error;
}

static bool matches(double got, double expected, double rtol, double atol, bool equal_nan) {
    if (got == expected)
        return true;
    if (isnan(got) && isnan(expected))
        return equal_nan;
    if (!isfinite(got) || !isfinite(expected))
        return false;
    return fabs(got - expected) <= atol + rtol * fabs(expected);
}

bool attn_compare(const double *got, const double *expected, size_t count, double rtol, double atol, bool equal_nan,
                  struct attn_comparison *result) {
    *result = (struct attn_comparison){0};
    for (size_t i = 0; i < count; i++) {
        result->max_abs_error = fmax(result->max_abs_error, apart(got[i], expected[i]));
        if (!matches(got[i], expected[i], rtol, atol, equal_nan) && result->mismatches++ == 0)
            result->first = i;
    }
    return result->mismatches == 0;
}
