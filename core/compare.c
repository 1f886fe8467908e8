#include "core/compare.h"

#include <assert.h>
#include <math.h>

static double element(const struct attn_tensor *t, size_t i) {
    assert(t->dtype == ATTN_BOOL || t->dtype == ATTN_F64);
    return t->dtype == ATTN_BOOL ? ((const uint8_t *)t->data)[i] : ((const double *)t->data)[i];
}

/* The larger of two errors; once it is NaN it stays NaN, which fmax would lose. */
static double larger(double most, double error) {
    return error <= most || isnan(most) ? most : error;
}

struct attn_comparison attn_compare(const struct attn_tensor *got, const struct attn_tensor *expected, double rtol,
                                    double atol) {
    struct attn_comparison found = {.same = true};
    assert(attn_same_shape(got, expected));
    for (size_t i = 0, count = attn_tensor_count(got); i < count; i++) {
        double a = element(got, i), b = element(expected, i), error = a == b ? 0 : fabs(a - b);
        bool close = a == b || (isfinite(a) && isfinite(b) && error <= atol + rtol * fabs(b));
        found.max_abs_error = larger(found.max_abs_error, error);
        if (found.same && !close) {
            found.same = false;
            found.first = i;
            found.got = a;
            found.expected = b;
        }
    }
    return found;
}
