/* test_mha.c - properties of /mha on drawn numbers: decoding in chunks equals one run, transposed matrices, grouped and
 * averaged heads, rotation, and how it is made of /attention.
 *
 * Tolerance: results that are summed in another order agree to 1e-12 of a row's largest, single precision to 2e-6.
 */
#include "tests/api/build.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

#define TOLERANCE 1e-12
#define TOLERANCE_F32 2e-6
#define EXACT 0.0

enum { N = 7, D = 8 };

static json_t *layer(uint64_t seed, int kv_columns) {
    json_t *request = json_object();
    json_object_set_new(request, "x", tensor(&seed, N, D, 0));
    json_object_set_new(request, "wq", tensor(&seed, D, D, 0));
    json_object_set_new(request, "wk", tensor(&seed, D, kv_columns, 0));
    json_object_set_new(request, "wv", tensor(&seed, D, kv_columns, 0));
    json_object_set_new(request, "wo", tensor(&seed, D, D, 0));
    json_object_set_new(request, "bq", tensor(&seed, D, 0));
    json_object_set_new(request, "bk", tensor(&seed, kv_columns, 0));
    json_object_set_new(request, "bo", tensor(&seed, D, 0));
    json_object_set_new(request, "num_heads", json_integer(4));
    json_object_set_new(request, "num_kv_heads", json_integer(kv_columns / 2));
    return request;
}

/* Runs the layer over chunks of `size` rows, each with the keys and values that the last one left behind, and compares
 * every row of output and weights with the run in one piece. */
static void decode(const json_t *request, size_t size, double tolerance, const char *what) {
    json_t *whole = ask("/mha", with(request, "{}")), *past_key = NULL, *past_value = NULL;
    for (size_t first = 0; first < N; first += size) {
        size_t rows = N - first < size ? N - first : size;
        json_t *chunk = with(request, "{\"return\":[\"output\",\"present_key\",\"present_value\"]}");
        json_object_set_new(chunk, "x", rows_of(json_object_get(request, "x"), first, rows));
        if (past_key) {
            json_object_set_new(chunk, "past_key", past_key);
            json_object_set_new(chunk, "past_value", past_value);
        }
        json_t *answer = ask("/mha", chunk), *expected = rows_of(json_object_get(whole, "output"), first, rows);
        assert_near(expected, json_object_get(answer, "output"), tolerance, what);
        cr_assert(truth_at(answer, "checks.ok"), "%s", what);
        past_key = json_incref(json_object_get(answer, "present_key"));
        past_value = json_incref(json_object_get(answer, "present_value"));
        json_decref(answer), json_decref(expected);
    }
    json_decref(past_key), json_decref(past_value), json_decref(whole);
}

Test(mha, decoding_in_chunks_equals_one_run) {
    static const char *const options[] = {
        "{\"causal\":true}",
        "{\"causal\":true,\"rope\":{}}",
        "{\"causal\":true,\"rope\":{\"interleaved\":true,\"base\":50}}",
        "{\"causal\":true,\"window\":[2,null],\"alibi\":true}",
        "{\"causal\":true,\"softcap\":2,\"sinks\":[1,0,-1,0.5],\"scale\":0.7}",
        "{\"causal\":true,\"rope\":{\"dims\":2},\"dtype\":\"float32\"}",
    };
    for (size_t o = 0; o < sizeof options / sizeof *options; o++)
        for (int kv_columns = 2; kv_columns <= D; kv_columns *= 2)
            for (size_t size = 1; size <= 3; size++) {
                json_t *base = layer(10 + o, kv_columns), *request = with(base, options[o]);
                decode(request, size, o == 5 ? TOLERANCE_F32 : TOLERANCE, options[o]);
                json_decref(base), json_decref(request);
            }
}

Test(mha, transposed_matrices_equal_straight_ones) {
    json_t *straight = layer(20, 4), *turned = with(straight, "{\"weight_layout\":\"out_in\"}");
    for (const char *const *name = (const char *const[]){"wq", "wk", "wv", "wo", NULL}; *name; name++)
        json_object_set_new(turned, *name, transposed(json_object_get(straight, *name)));
    json_t *a = ask("/mha", straight), *b = ask("/mha", turned);
    assert_near(json_object_get(a, "output"), json_object_get(b, "output"), TOLERANCE, "output");
    assert_near(json_object_get(a, "weights"), json_object_get(b, "weights"), TOLERANCE, "weights");
    json_decref(a), json_decref(b);
}

Test(mha, batch_of_one_equals_none) {
    json_t *one = with_new(layer(21, 4), "{\"causal\":true,\"rope\":{},\"attn_bias\":[0.5,0,0,1,0,0,-1]}"),
           *batch = json_copy(one);
    json_object_set_new(batch, "x", json_pack("[O]", json_object_get(one, "x")));
    json_t *a = ask("/mha", one), *b = ask("/mha", batch);
    assert_near(json_object_get(a, "output"), json_array_get(json_object_get(b, "output"), 0), EXACT, "output");
    assert_near(json_object_get(a, "weights"), json_array_get(json_object_get(b, "weights"), 0), EXACT, "weights");
    json_decref(a), json_decref(b);
}

/* Examples of a batch do not see each other. */
Test(mha, batch_equals_its_examples) {
    uint64_t seed = 22;
    json_t *base = layer(23, 8), *batch = with(base, "{\"causal\":true}");
    json_object_set_new(batch, "x", tensor(&seed, 3, N, D, 0));
    json_t *answer = ask("/mha", json_copy(batch));
    for (size_t b = 0; b < 3; b++) {
        json_t *one = json_copy(batch);
        json_object_set(one, "x", json_array_get(json_object_get(batch, "x"), b));
        json_t *alone = ask("/mha", one);
        assert_near(json_object_get(alone, "output"), json_array_get(json_object_get(answer, "output"), b), TOLERANCE,
                    "output");
        json_decref(alone);
    }
    json_decref(base), json_decref(batch), json_decref(answer);
}

/* /mha is /attention on the projected q, k, v, with its heads joined and multiplied by wo. */
Test(mha, is_attention_between_projections) {
    json_t *base = with_new(layer(24, 4), "{\"causal\":true,\"return\":[\"q\",\"k\",\"v\",\"heads\",\"weights\"]}");
    json_t *answer = ask("/mha", base), *inner = json_object();
    for (const char *const *name = (const char *const[]){"q", "k", "v", NULL}; *name; name++)
        json_object_set_new(inner, *name, json_pack("[O]", json_object_get(answer, *name)));
    json_object_set_new(inner, "causal", json_true());
    json_t *attention = ask("/attention", inner);
    assert_near(json_object_get(answer, "heads"), json_array_get(json_object_get(attention, "output"), 0), EXACT,
                "heads");
    assert_near(json_object_get(answer, "weights"), json_array_get(json_object_get(attention, "weights"), 0), EXACT,
                "weights");
    json_decref(answer), json_decref(attention);
}

Test(mha, average_is_the_mean_over_heads) {
    json_t *base = with_new(layer(25, 2), "{\"causal\":true}");
    json_t *each = ask("/mha", with(base, "{}")), *mean = ask("/mha", with(base, "{\"average_weights\":true}"));
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++) {
            double sum = 0;
            char path[64];
            for (size_t h = 0; h < 4; h++) {
                snprintf(path, sizeof path, "weights.%zu.%zu.%zu", h, i, j);
                sum += number_at(each, path);
            }
            snprintf(path, sizeof path, "weights.%zu.%zu", i, j);
            cr_assert_float_eq(number_at(mean, path), sum / 4, 1e-15);
        }
    assert_near(json_object_get(each, "output"), json_object_get(mean, "output"), EXACT, "output");
    json_decref(base), json_decref(each), json_decref(mean);
}

/* Rotations see only the distance: moving all positions on changes nothing. */
Test(mha, rotation_is_relative) {
    json_t *base = layer(26, 8);
    json_t *a = ask("/mha", with(base, "{\"rope\":{\"positions\":[0,1,2,3,4,5,6]},\"causal\":true}"));
    json_t *b = ask("/mha", with(base, "{\"rope\":{\"positions\":[40,41,42,43,44,45,46]},\"causal\":true}"));
    json_t *c = ask("/mha", with(base, "{\"rope\":{},\"causal\":true}"));
    assert_near(json_object_get(a, "output"), json_object_get(b, "output"), 1e-11, "moved on");
    assert_near(json_object_get(a, "output"), json_object_get(c, "output"), EXACT, "by default from 0");
    json_decref(base), json_decref(a), json_decref(b), json_decref(c);
}

/* Padding that tokens make is dropped from the keys like one that is sent. */
Test(mha, tokens_pad_the_keys) {
    json_t *base = layer(27, 8);
    uint64_t seed = 28;
    json_object_del(base, "x");
    json_t *tokens = json_pack("{s:[[i,i,i],[i,i,i]],s:o}", "ids", 1, 2, 0, 3, 0, 0, "table", tensor(&seed, 4, D, 0));
    json_t *answer = ask("/mha", with_value(base, "tokens", tokens));
    cr_assert(truth_at(answer, "checks.padding.requested"));
    cr_assert(truth_at(answer, "checks.ok"));
    cr_assert_eq(number_at(answer, "weights.0.2.1.2"), 0);
    cr_assert_eq(number_at(answer, "weights.1.3.2.0"), 1);
    json_decref(base), json_decref(answer);
}

/* Behind a past only the new keys can be padding. */
Test(mha, tokens_pad_behind_a_past) {
    json_t *answer = ask("/attention", json_loads("{\"tokens\":{\"ids\":[[1,0],[2,1]],\"table\":[[1],[2],[3]]},"
                                                  "\"past_key\":[[[1],[1],[1]],[[1],[1],[1]]],"
                                                  "\"past_value\":[[[1],[1],[1]],[[1],[1],[1]]]}",
                                                  0, NULL));
    cr_assert_eq(number_at(answer, "weights.0.0.4"), 0);
    for (const char *const *seen =
             (const char *const[]){"weights.0.0.0", "weights.0.0.1", "weights.0.0.2", "weights.0.0.3", "weights.1.1.2",
                                   "weights.1.1.3", "weights.1.1.4", NULL};
         *seen; seen++)
        cr_assert_gt(number_at(answer, *seen), 0.01, "%s", *seen);
    json_decref(answer);
}

/* Each example of a batch may stand at positions of its own. */
Test(mha, rotation_by_example) {
    uint64_t seed = 29;
    json_t *base = layer(30, 8), *batch = with(base, "{\"rope\":{\"positions\":[[0,1,2,3,4,5,6],[9,8,3,2,1,0,5]]}}");
    json_object_set_new(batch, "x", tensor(&seed, 2, N, D, 0));
    json_t *answer = ask("/mha", json_copy(batch));
    for (size_t b = 0; b < 2; b++) {
        json_t *one = with(batch, b ? "{\"rope\":{\"positions\":[9,8,3,2,1,0,5]}}" : "{\"rope\":{}}");
        json_object_set(one, "x", json_array_get(json_object_get(batch, "x"), b));
        json_t *alone = ask("/mha", one);
        assert_near(json_object_get(alone, "output"), json_array_get(json_object_get(answer, "output"), b), TOLERANCE,
                    "output");
        json_decref(alone);
    }
    /* The check turns the changed last row by its own position too. */
    json_t *last = json_deep_copy(json_object_get(batch, "x"));
    for (size_t b = 0; b < 2; b++)
        for (size_t c = 0; c < D; c++) {
            json_t *row = json_array_get(json_array_get(last, b), N - 1);
            json_array_set_new(row, c, json_real(json_number_value(json_array_get(row, c)) + 2));
        }
    json_t *after = ask("/mha", with_value(batch, "x", last));
    double most = 0;
    for (size_t b = 0; b < 2; b++)
        for (size_t i = 0; i + 1 < N; i++)
            for (size_t c = 0; c < D; c++) {
                char path[64];
                snprintf(path, sizeof path, "output.%zu.%zu.%zu", b, i, c);
                most = fmax(most, fabs(number_at(after, path) - number_at(answer, path)));
            }
    cr_assert_float_eq(number_at(answer, "checks.causality.max_past_change"), most, 1e-12);
    json_decref(base), json_decref(batch), json_decref(answer), json_decref(after);
}
