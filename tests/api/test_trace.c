/* test_trace.c - "trace": the steps, their order and shapes, and that each follows from those before it: products,
 * softmax and sums are formed again here from the values that were sent. */
#include "tests/api/build.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char request[] = "{\"x\":[[1,0.5,-1,2],[0,1,1,-1],[2,1,0,1]],"
                              "\"wq\":[[1,0,2,1],[0,1,0,1],[1,1,0,0],[0,2,1,0]],\"wk\":{\"eye\":4},"
                              "\"wv\":[[0,1,0,0],[1,0,0,0],[0,0,0,1],[0,0,1,0]],\"wo\":[[1,2],[0,1],[1,0],[2,1]],"
                              "\"num_heads\":2,\"causal\":true,\"trace\":true}";

static json_t *traced(const char *members) {
    json_t *base = json_loads(request, 0, NULL), *all = with(base, members);
    json_decref(base);
    return ask("/mha", all);
}

static void names_of(const json_t *answer, char *out, size_t size) {
    size_t i;
    json_t *step;
    *out = 0;
    json_array_foreach(json_object_get(answer, "trace"), i, step) {
        strncat(out, i ? " " : "", size - strlen(out) - 1);
        strncat(out, json_string_value(json_object_get(step, "name")), size - strlen(out) - 1);
        const char *formula = json_string_value(json_object_get(step, "formula"));
        cr_assert(formula && *formula);
    }
}

static const json_t *values_of(const json_t *answer, const char *name) {
    size_t i;
    json_t *step;
    json_array_foreach(json_object_get(answer, "trace"), i,
                       step) if (strcmp(json_string_value(json_object_get(step, "name")), name) ==
                                 0) return json_object_get(step, "values");
    cr_assert_fail("no step %s", name);
    return NULL;
}

static double at(const json_t *values, size_t a, size_t b, size_t c) {
    return json_number_value(json_array_get(json_array_get(json_array_get(values, a), b), c));
}

Test(trace, steps_in_order) {
    static const char *const rows[][2] = {
        {"{}", "x q k v scores masked_scores weights heads joined output"},
        {"{\"softcap\":2}", "x q k v scores capped_scores masked_scores weights heads joined output"},
        {"{\"rope\":{}}", "x q k v q_rotated k_rotated scores masked_scores weights heads joined output"},
        {"{\"context\":[[1,2,3,4]],\"causal\":false}",
         "x context q k v scores masked_scores weights heads joined output"},
        {"{\"past_key\":[[[1,2]],[[3,4]]],\"past_value\":[[[1,2]],[[3,4]]]}",
         "x q k v present_key present_value scores masked_scores weights heads joined output"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        json_t *answer = traced(rows[i][0]);
        char names[256];
        names_of(answer, names, sizeof names);
        cr_assert_str_eq(names, rows[i][1]);
        json_decref(answer);
    }
}

/* Each step's shape is that of its values. */
static void check_shape(const json_t *shape, const json_t *values) {
    size_t i;
    json_t *size;
    json_array_foreach(shape, i, size) {
        cr_assert_eq((size_t)json_integer_value(size), json_array_size(values));
        values = json_array_get(values, 0);
    }
    cr_assert(json_is_number(values) || json_is_string(values));
}

Test(trace, each_step_follows_from_those_before) {
    json_t *answer = traced("{}");
    const json_t *q = values_of(answer, "q"), *k = values_of(answer, "k"), *v = values_of(answer, "v");
    const json_t *scores = values_of(answer, "scores"), *masked = values_of(answer, "masked_scores");
    const json_t *weights = values_of(answer, "weights"), *heads = values_of(answer, "heads");
    for (size_t h = 0; h < 2; h++)
        for (size_t i = 0; i < 3; i++) {
            double total = 0, sum[2] = {0, 0};
            for (size_t j = 0; j < 3; j++) {
                double score = (at(q, h, i, 0) * at(k, h, j, 0) + at(q, h, i, 1) * at(k, h, j, 1)) / sqrt(2);
                cr_assert_float_eq(at(scores, h, i, j), score, 1e-14);
                const json_t *cell = json_array_get(json_array_get(json_array_get(masked, h), i), j);
                if (j <= i)
                    cr_assert_eq(json_number_value(cell), at(scores, h, i, j));
                else
                    cr_assert_str_eq(json_string_value(cell), "-Infinity");
                total += j <= i ? exp(score) : 0;
            }
            for (size_t j = 0; j < 3; j++) {
                cr_assert_float_eq(at(weights, h, i, j), j <= i ? exp(at(scores, h, i, j)) / total : 0, 1e-14);
                for (size_t c = 0; c < 2; c++)
                    sum[c] += at(weights, h, i, j) * at(v, h, j, c);
            }
            for (size_t c = 0; c < 2; c++) {
                cr_assert_float_eq(at(heads, h, i, c), sum[c], 1e-13);
                const json_t *row = json_array_get(values_of(answer, "joined"), i);
                cr_assert_eq(json_number_value(json_array_get(row, 2 * h + c)), at(heads, h, i, c));
            }
        }
    assert_near(json_object_get(answer, "output"), values_of(answer, "output"), 0, "output");
    assert_near(json_object_get(answer, "weights"), weights, 0, "weights");
    size_t s;
    json_t *step;
    json_array_foreach(json_object_get(answer, "trace"), s, step)
        check_shape(json_object_get(step, "shape"), json_object_get(step, "values"));
    json_decref(answer);
}

/* Before the rotation stands what would be there without one. */
Test(trace, rotation_shows_both_sides) {
    json_t *turned = traced("{\"rope\":{\"base\":100},\"return\":[\"q\",\"k\"]}"), *straight = traced("{}");
    assert_near(values_of(straight, "q"), values_of(turned, "q"), 0, "q before");
    assert_near(json_object_get(turned, "q"), values_of(turned, "q_rotated"), 0, "q after");
    assert_near(json_object_get(turned, "k"), values_of(turned, "k_rotated"), 0, "k after");
    double x1 = at(values_of(turned, "q"), 0, 1, 0), x2 = at(values_of(turned, "q"), 0, 1, 1);
    cr_assert_float_eq(at(values_of(turned, "q_rotated"), 0, 1, 0), cos(1) * x1 - sin(1) * x2, 1e-14);
    json_decref(turned), json_decref(straight);
}

/* A formula names the steps that stand before it and every digit of its numbers, so that it can be evaluated. */
Test(trace, formulas_name_the_options) {
    static const char *const rows[][2] = {
        {"{\"scale\":3}", "3 · q kᵀ"},
        {"{}", "q kᵀ / √2"},
        {"{\"weight_layout\":\"out_in\",\"wo\":[[1,2,3,4]]}", "joined woᵀ"},
        {"{\"bq\":[1,2,3,4]}", "x wq + bq, columns split into heads"},
        {"{\"mask_value\":-1e9,\"alibi\":true}", "scores − slope · |j − p| where key j may be seen, else -1000000000"},
        {"{\"attn_bias\":[0.5]}", "scores + attn_bias where key j may be seen, else −∞"},
        {"{\"sinks\":[1,2]}", "softmax(masked_scores) over keys and the head's sink"},
        {"{\"scale\":0.1234567891}", "0.1234567891 · q kᵀ"},
        {"{\"softcap\":12.3456789}", "12.3456789 · tanh(scores / 12.3456789)"},
        {"{\"rope\":{\"base\":1234567.5}}",
         "pairs (i, i + dims/2) of the first 2 columns turned by position · 1234567.5^(−2i/2)"},
        {"{\"rope\":{}}", "q_rotated k_rotatedᵀ / √2"},
        {"{\"past_key\":[[[1,2]],[[3,4]]],\"past_value\":[[[1,2]],[[3,4]]]}", "q present_keyᵀ / √2"},
        {"{\"past_key\":[[[1,2]],[[3,4]]],\"past_value\":[[[1,2]],[[3,4]]]}", "weights present_value"},
        {"{\"past_key\":[[[1,2]],[[3,4]]],\"past_value\":[[[1,2]],[[3,4]]],\"rope\":{}}", "past_key, then k_rotated"},
        {"{\"num_kv_heads\":1,\"wk\":[[1,0],[0,1],[1,1],[2,0]],\"wv\":[[1],[2],[3],[4]],\"wo\":[[1],[2]]}",
         "q kᵀ / √2, head h with kv head ⌊h / 2⌋"},
        {"{\"num_kv_heads\":1,\"wk\":[[1,0],[0,1],[1,1],[2,0]],\"wv\":[[1],[2],[3],[4]],\"wo\":[[1],[2]]}",
         "weights v, head h with kv head ⌊h / 2⌋"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        json_t *answer = traced(rows[i][0]);
        bool found = false;
        size_t s;
        json_t *step;
        json_array_foreach(json_object_get(answer, "trace"), s, step) found |=
            strcmp(json_string_value(json_object_get(step, "formula")), rows[i][1]) == 0;
        cr_assert(found, "no step says %s", rows[i][1]);
        json_decref(answer);
    }
}

Test(trace, of_attention) {
    json_t *answer = ask("/attention", json_loads("{\"q\":[[1,2]],\"k\":[[1,2],[3,4]],\"v\":[[1],[2]],\"trace\":true,"
                                                  "\"return\":[],\"checks\":false}",
                                                  0, NULL));
    char names[256];
    names_of(answer, names, sizeof names);
    cr_assert_str_eq(names, "q k v scores masked_scores weights output");
    json_decref(answer);
}
