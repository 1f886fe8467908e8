/* Goal: which keys a query sees is one description, and it is the definition; contradictions are refused.
 * Method: every small combination of causal, offset, window and lengths against tests/ref; the interval, the
 * predicate and the striking of scores against each other. Refusals are one table.
 */
#include "core/mask.h"
#include "tests/ref/attention_ref.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { N = 5, WIDE = 40 };

static const struct attn_rule open_rule = {.scale = 1, .left = ATTN_OPEN, .right = ATTN_OPEN};

static void check_rule(const struct attn_rule *rule, const struct attn_dims *dims) {
    cr_assert(attn_rule_check(rule, dims).code == ATTN_OK);
    for (size_t i = 0; i < dims->n_q; i++) {
        struct attn_sight sight;
        attn_sights(rule, dims, 0, 0, i, 1, &sight);
        bool any = false;
        cr_assert(sight.lo <= sight.hi && sight.hi <= dims->n_k);
        for (size_t j = 0; j < dims->n_k; j++) {
            bool want = ref_allowed(rule, dims, 0, 0, i, j);
            any = any || want;
            cr_assert(attn_allowed(rule, dims, 0, 0, i, j) == want);
            cr_assert(attn_sees(&sight, j) == want);
            cr_assert(attn_sees_any(&sight, j, j + 1) == want);
        }
        cr_assert(attn_sees_any(&sight, 0, dims->n_k) == any);
    }
}

Test(mask, every_small_rule_is_the_definition) {
    static const int64_t sides[] = {ATTN_OPEN, 0, 1, 3, INT64_MAX};
    for (size_t n_q = 1; n_q <= N; n_q++)
        for (size_t n_k = 0; n_k <= N; n_k++)
            for (int64_t length = -1; length <= (int64_t)n_k; length++)
                for (int64_t past = 0; past <= (length < 0 ? (int64_t)n_k : 0); past++)
                    for (int bits = 0; bits < 4; bits++)
                        for (int left = 0; left < 5; left++)
                            for (int right = 0; right < 5; right++) {
                                struct attn_rule rule = open_rule;
                                struct attn_dims dims = {1, 1, 1, n_q, n_k, 1, 1};
                                rule.causal = bits & 1;
                                rule.bottom_right = past == 0 && bits & 2;
                                rule.past = past;
                                rule.lengths = length < 0 ? NULL : &length;
                                rule.left = sides[left];
                                rule.right = sides[right];
                                check_rule(&rule, &dims);
                            }
}

Test(mask, striking_is_the_predicate) {
    uint8_t mask[3 * WIDE], padding[WIDE];
    for (size_t j = 0; j < 3 * WIDE; j++)
        mask[j] = j % 3 == 0 ? (uint8_t)(j * 7 % 5) : 0;
    for (size_t j = 0; j < WIDE; j++)
        padding[j] = j % 11 == 4;
    for (size_t lo = 0; lo < WIDE; lo += 5)
        for (size_t hi = lo; hi <= WIDE; hi += 3)
            for (size_t step = 0; step < 4; step++)
                for (size_t j0 = 0; j0 <= WIDE; j0 += 8)
                    for (size_t j1 = j0; j1 <= WIDE; j1 += 9) {
                        struct attn_sight s = {lo, hi, mask, step, padding};
                        double x[WIDE + 1];
                        float y[WIDE + 1];
                        for (size_t j = 0; j <= WIDE; j++)
                            x[j] = y[j] = (float)NAN;
                        attn_strike_f64(&s, j0, j1, x, -1);
                        attn_strike_f32(&s, j0, j1, y, -1);
                        for (size_t j = j0; j < j1; j++)
                            cr_assert(attn_sees(&s, j) ? isnan(x[j - j0]) && isnan(y[j - j0])
                                                       : x[j - j0] == -1 && y[j - j0] == -1);
                        cr_assert(isnan(x[j1 - j0]) && isnan(y[j1 - j0]));
                    }
}

static const double nan_slopes[] = {1, (double)NAN}, infinite_sinks[] = {(double)INFINITY, 0},
                    silent_sinks[] = {-(double)INFINITY, 0};
static const int64_t long_lengths[] = {4, 7}, negative_lengths[] = {-1, 0}, lengths[] = {0, 6};

struct refusal {
    const char *arg;
    enum attn_code code;
    struct attn_rule rule;
};

#define RULE .scale = 1, .left = ATTN_OPEN, .right = ATTN_OPEN
static const struct refusal refusals[] = {
    {"scale", ATTN_BAD_VALUE, {.scale = (double)NAN, .left = ATTN_OPEN, .right = ATTN_OPEN}},
    {"scale", ATTN_BAD_VALUE, {.scale = (double)INFINITY, .left = ATTN_OPEN, .right = ATTN_OPEN}},
    {"softcap", ATTN_BAD_VALUE, {RULE, .softcap = -1}},
    {"softcap", ATTN_BAD_VALUE, {RULE, .softcap = (double)INFINITY}},
    {"softcap", ATTN_BAD_VALUE, {RULE, .softcap = (double)NAN}},
    {"alibi", ATTN_BAD_VALUE, {RULE, .alibi = nan_slopes}},
    {"sinks", ATTN_BAD_VALUE, {RULE, .sinks = infinite_sinks}},
    {"sinks", ATTN_BAD_VALUE, {RULE, .sinks = nan_slopes}},
    {"mask_value", ATTN_BAD_VALUE, {RULE, .fill = true, .fill_value = (double)NAN}},
    {"mask_value", ATTN_BAD_VALUE, {RULE, .fill = true, .fill_value = (double)INFINITY}},
    {"window", ATTN_BAD_VALUE, {.scale = 1, .left = -2, .right = ATTN_OPEN}},
    {"window", ATTN_BAD_VALUE, {.scale = 1, .left = ATTN_OPEN, .right = INT64_MIN}},
    {"key_lengths", ATTN_BAD_VALUE, {RULE, .lengths = long_lengths}},
    {"key_lengths", ATTN_BAD_VALUE, {RULE, .lengths = negative_lengths}},
    {"past_key", ATTN_SHAPE_MISMATCH, {RULE, .past = 7}},
    {"past_key", ATTN_SHAPE_MISMATCH, {RULE, .past = -1}},
    {"key_lengths", ATTN_CONFLICT, {RULE, .past = 2, .lengths = lengths}},
    {"causal_alignment", ATTN_CONFLICT, {RULE, .past = 2, .bottom_right = true}},
};

static const struct attn_rule accepted[] = {
    {RULE},
    {.scale = 0, .left = 0, .right = 0},
    {.scale = -2, .left = INT64_MAX, .right = INT64_MAX},
    {RULE, .softcap = 1e-300},
    {RULE, .sinks = silent_sinks},
    {RULE, .fill = true, .fill_value = -(double)INFINITY},
    {RULE, .fill_value = (double)NAN},
    {RULE, .lengths = lengths, .bottom_right = true},
    {RULE, .past = 6, .causal = true},
};

Test(mask, contradictions_are_refused_by_name) {
    const struct attn_dims dims = {2, 2, 1, 3, 6, 4, 4};
    for (size_t r = 0; r < sizeof refusals / sizeof *refusals; r++) {
        struct attn_err err = attn_rule_check(&refusals[r].rule, &dims);
        cr_assert(err.code == refusals[r].code, "row %zu", r);
        cr_assert_str_eq(err.arg, refusals[r].arg, "row %zu: %s", r, err.arg);
        cr_assert(strlen(err.why) > 10);
    }
    for (size_t r = 0; r < sizeof accepted / sizeof *accepted; r++)
        cr_assert(attn_rule_check(&accepted[r], &dims).code == ATTN_OK, "row %zu", r);
}

Test(mask, dimensions_that_do_not_fit_are_refused) {
    static const struct {
        struct attn_dims dims;
        const char *arg;
    } rows[] = {
        {{1, 0, 1, 2, 2, 2, 2}, "num_heads"},
        {{1, 4, 0, 2, 2, 2, 2}, "num_kv_heads"},
        {{1, 4, 3, 2, 2, 2, 2}, "num_kv_heads"},
        {{1, 2, 4, 2, 2, 2, 2}, "num_kv_heads"},
        {{1, 1, 1, 2, 2, 0, 2}, "q"},
        {{1, 1, 1, 2, 2, 2, 0}, "v"},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        struct attn_err err = attn_rule_check(&open_rule, &rows[r].dims);
        cr_assert(err.code != ATTN_OK);
        cr_assert_str_eq(err.arg, rows[r].arg);
    }
}
