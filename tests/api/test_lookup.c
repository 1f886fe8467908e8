/* test_lookup.c - /lookup beside the lesson's golden cases: forms of the answer, other queries, and what sharpness does
 * in the limit. */
#include "tests/api/build.h"

#include <criterion/criterion.h>
#include <math.h>

#define BASE "{\"keys\":[[1,0],[0,1],[1,1]],\"values\":[[10],[20],[30]]}"

static json_t *lookup(const char *members) {
    json_t *base = json_loads(BASE, 0, NULL), *request = with(base, members);
    json_decref(base);
    return ask("/lookup", request);
}

Test(lookup, one_sharpness_is_flat_and_a_list_is_a_list) {
    json_t *one = lookup("{\"sharpness\":2}"), *list = lookup("{\"sharpness\":[1,2]}");
    cr_assert_eq(json_array_size(json_object_get(list, "results")), 2);
    assert_near(value_at(list, "results.1"), one, 0, "the second of the list");
    cr_assert_eq(number_at(one, "sharpness"), 2);
    cr_assert_eq(number_at(list, "results.0.sharpness"), 1);
    cr_assert_not(json_object_get(list, "output"));
    json_decref(one), json_decref(list);
}

/* Sharpness 0 forgets the keys; a great one finds the key with the largest product. */
Test(lookup, limits_of_sharpness) {
    json_t *blunt = lookup("{\"sharpness\":0}"), *sharp = lookup("{\"sharpness\":30,\"queries\":[[0,1.5],[2,1.9]]}");
    for (size_t i = 0; i < 3; i++)
        cr_assert_float_eq(number_at(blunt, (const char *[]){"output.0.0", "output.1.0", "output.2.0"}[i]), 20, 1e-13);
    cr_assert_float_eq(number_at(blunt, "accuracy"), 1.0 / 3, 1e-15);
    cr_assert_float_eq(number_at(sharp, "output.1.0"), 30, 1e-12);
    cr_assert_eq(number_at(sharp, "nearest.1"), 2);
    json_decref(blunt), json_decref(sharp);
}

Test(lookup, other_queries_have_no_own_key) {
    json_t *answer = lookup("{\"queries\":[[1,2]]}");
    cr_assert(json_is_null(json_object_get(answer, "accuracy")));
    cr_assert(json_is_null(json_object_get(answer, "mean_own_weight")));
    cr_assert_eq(json_array_size(json_object_get(answer, "nearest")), 1);
    json_decref(answer);
}

/* The sign of the sharpness is squared away; weights need not be sent for their mean to be known. */
Test(lookup, what_is_returned) {
    json_t *plus = lookup("{\"sharpness\":1.5}"), *minus = lookup("{\"sharpness\":-1.5,\"return\":[\"nearest\"]}");
    assert_near(json_object_get(plus, "nearest"), json_object_get(minus, "nearest"), 0, "nearest");
    cr_assert_eq(number_at(plus, "mean_own_weight"), number_at(minus, "mean_own_weight"));
    cr_assert_not(json_object_get(minus, "weights"));
    cr_assert_not(json_object_get(minus, "output"));
    json_decref(plus), json_decref(minus);
}

Test(lookup, single_precision) {
    json_t *wide = lookup("{\"sharpness\":[0.5,2]}"), *narrow = lookup("{\"sharpness\":[0.5,2],\"dtype\":\"float32\"}");
    assert_near(value_at(wide, "results.0.output"), value_at(narrow, "results.0.output"), 1e-6, "output");
    cr_assert_neq(number_at(wide, "results.1.output.0.0"), number_at(narrow, "results.1.output.0.0"));
    cr_assert_float_eq(number_at(wide, "results.1.mean_own_weight"), number_at(narrow, "results.1.mean_own_weight"),
                       1e-6);
    json_decref(wide), json_decref(narrow);
}
