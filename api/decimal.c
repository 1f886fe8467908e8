/* decimal.c - see decimal.h. */
#include "api/decimal.h"

#include <assert.h>
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static locale_t c_locale(void) {
    static locale_t made;
    locale_t l = __atomic_load_n(&made, __ATOMIC_ACQUIRE);
    if (!l) {
        l = newlocale(LC_ALL_MASK, "C", (locale_t)0);
        __atomic_store_n(&made, l, __ATOMIC_RELEASE);
    }
    return l;
}

static const char *digits(const char *p, const char *end) {
    while (p < end && *p >= '0' && *p <= '9')
        p++;
    return p;
}

enum api_decimal_status api_decimal_read(const char *text, const char *end, double *value, const char **next) {
    const char *p = text, *q;
    *next = p;
    if (p < end && *p == '-')
        p++;
    q = digits(p, end);
    *next = q;
    if (q == p)
        return API_DECIMAL_MALFORMED;
    if (*p == '0' && q > p + 1) {
        *next = p + 1;
        return API_DECIMAL_MALFORMED;
    }
    p = q;
    if (p < end && *p == '.') {
        q = digits(p + 1, end);
        *next = q;
        if (q == p + 1)
            return API_DECIMAL_MALFORMED;
        p = q;
    }
    if (p < end && (*p == 'e' || *p == 'E')) {
        p++;
        if (p < end && (*p == '+' || *p == '-'))
            p++;
        q = digits(p, end);
        *next = q;
        if (q == p)
            return API_DECIMAL_MALFORMED;
        p = q;
    }
    *next = p;
    char stack[512], *copy = stack;
    size_t n = (size_t)(p - text);
    if (n >= sizeof stack && !(copy = malloc(n + 1)))
        return API_DECIMAL_MALFORMED;
    memcpy(copy, text, n);
    copy[n] = 0;
    *value = strtod_l(copy, NULL, c_locale());
    if (copy != stack)
        free(copy);
    return isinf(*value) ? API_DECIMAL_OUT_OF_RANGE : API_DECIMAL_OK;
}

static char *format(char *out, const char *e_text) {
    char d[32];
    int n = 0, e = atoi(strchr(e_text, 'e') + 1);
    for (const char *p = e_text; *p != 'e'; p++) {
        if (*p == '-')
            *out++ = '-';
        else if (*p >= '0' && *p <= '9')
            d[n++] = *p;
    }
    while (n > 1 && d[n - 1] == '0')
        n--;
    if (n == 1 && d[0] == '0') {
        *out++ = '0';
    } else if (e >= 21 || e < -7) {
        *out++ = d[0];
        if (n > 1)
            *out++ = '.';
        memcpy(out, d + 1, (size_t)n - 1);
        out += n - 1;
        out += sprintf(out, "e%d", e);
    } else if (e < 0) {
        *out++ = '0';
        *out++ = '.';
        for (int i = -1; i > e; i--)
            *out++ = '0';
        memcpy(out, d, (size_t)n);
        out += n;
    } else {
        for (int i = 0; i < n || i <= e; i++) {
            if (i == e + 1)
                *out++ = '.';
            *out++ = i < n ? d[i] : '0';
        }
    }
    return out;
}

static char *shortest(char *out, double value, bool single) {
    char text[64];
    locale_t before = uselocale(c_locale());
    for (int precision = 0; precision < 17; precision++) {
        snprintf(text, sizeof text, "%.*e", precision, value);
        if (single ? strtof(text, NULL) == (float)value : strtod(text, NULL) == value)
            break;
    }
    uselocale(before);
    return format(out, text);
}

char *api_decimal_write_f64(char *out, double value) {
    assert(isfinite(value));
    return shortest(out, value, false);
}

char *api_decimal_write_f32(char *out, float value) {
    assert(isfinite(value));
    return shortest(out, (double)value, true);
}

char *api_decimal_write_rounded(char *out, double value, unsigned decimals) {
    assert(isfinite(value) && decimals <= 15);
    char text[400];
    locale_t before = uselocale(c_locale());
    snprintf(text, sizeof text, "%.*f", (int)decimals, value);
    double rounded = strtod(text, NULL);
    uselocale(before);
    return shortest(out, rounded, false);
}

char *api_decimal_write_rounded_f32(char *out, float value, unsigned decimals) {
    assert(isfinite(value) && decimals <= 15);
    char text[400];
    locale_t before = uselocale(c_locale());
    snprintf(text, sizeof text, "%.*f", (int)decimals, (double)value);
    float rounded = strtof(text, NULL);
    uselocale(before);
    return shortest(out, (double)rounded, true);
}
