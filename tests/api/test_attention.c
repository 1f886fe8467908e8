/* test_attention.c - properties that /attention has for any numbers, each tried on drawn ones; and the forms of its
 * answer. The numbers themselves are held by the golden cases.
 *
 * Tolerance: results that are summed in another order agree to 1e-12 of a row's largest; the same computation gives
 * the same bits.
 */
#include "tests/api/build.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define TOLERANCE 1e-12
#define EXACT 0.0

static json_t *qkv(uint64_t seed, int n_q, int n_k, int d, int d_v) {
    json_t *request = json_object();
    json_object_set_new(request, "q", tensor(&seed, n_q, d, 0));
    json_object_set_new(request, "k", tensor(&seed, n_k, d, 0));
    json_object_set_new(request, "v", tensor(&seed, n_k, d_v, 0));
    return request;
}

Test(attention, order_of_keys_does_not_matter) {
    const size_t order[] = {3, 0, 4, 1, 2};
    json_t *straight = with_new(qkv(1, 4, 5, 3, 2), "{\"key_padding_mask\":[false,true,false,false,false]}");
    json_t *permuted = with(straight, "{\"key_padding_mask\":[false,false,false,true,false]}");
    json_object_set_new(permuted, "k", chosen_rows(json_object_get(straight, "k"), order, 5));
    json_object_set_new(permuted, "v", chosen_rows(json_object_get(straight, "v"), order, 5));
    json_t *a = ask("/attention", straight), *b = ask("/attention", permuted);
    assert_near(json_object_get(a, "output"), json_object_get(b, "output"), TOLERANCE, "output");
    json_t *columns = transposed(json_object_get(a, "weights")), *moved = chosen_rows(columns, order, 5);
    json_t *back = transposed(moved);
    assert_near(back, json_object_get(b, "weights"), TOLERANCE, "weights");
    json_decref(columns), json_decref(moved), json_decref(back), json_decref(a), json_decref(b);
}

/* Caps and slopes that a float cannot hold: no cap at all, scores of 0, and only the query's own key. */
Test(attention, options_beyond_single_precision) {
    static const char *const rows[][2] = {
        {"{\"dtype\":\"float32\",\"softcap\":1e39}", "{\"dtype\":\"float32\"}"},
        {"{\"dtype\":\"float32\",\"softcap\":1e-60}", "{\"dtype\":\"float32\",\"scale\":0}"},
        {"{\"dtype\":\"float32\",\"alibi\":[1e39]}", "{\"dtype\":\"float32\",\"window\":[0,0]}"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        json_t *base = qkv(3, 4, 4, 3, 2);
        json_t *beyond = ask("/attention", with(base, rows[i][0])), *plain = ask("/attention", with(base, rows[i][1]));
        assert_near(json_object_get(plain, "weights"), json_object_get(beyond, "weights"), EXACT, rows[i][0]);
        assert_near(json_object_get(plain, "output"), json_object_get(beyond, "output"), EXACT, rows[i][0]);
        json_decref(base), json_decref(beyond), json_decref(plain);
    }
}

/* A key that is dropped, by whichever option, is as good as not sent. */
Test(attention, masked_equals_removed) {
    static const char *const masks[] = {
        "{\"key_padding_mask\":[false,false,false,true,true]}",
        "{\"key_lengths\":[3]}",
        "{\"attn_mask\":[true,true,true,false,false]}",
        "{\"attn_bias\":[0,0,0,\"-Infinity\",\"-Infinity\"]}",
        "{\"key_padding_mask\":[false,false,false,true,true],\"v\":[[1,2],[3,4],[5,6],[\"NaN\",0],[0,\"Infinity\"]]}",
    };
    for (size_t m = 0; m < sizeof masks / sizeof *masks; m++) {
        json_t *base = qkv(2, 3, 5, 4, 2), *masked = with(base, masks[m]), *removed = json_copy(masked);
        json_object_set_new(removed, "k", rows_of(json_object_get(masked, "k"), 0, 3));
        json_object_set_new(removed, "v", rows_of(json_object_get(masked, "v"), 0, 3));
        for (const char *const *name =
                 (const char *const[]){"key_padding_mask", "key_lengths", "attn_mask", "attn_bias", NULL};
             *name; name++)
            json_object_del(removed, *name);
        json_t *a = ask("/attention", masked), *b = ask("/attention", removed);
        assert_near(json_object_get(b, "output"), json_object_get(a, "output"), TOLERANCE, masks[m]);
        cr_assert(truth_at(a, "checks.ok"), "%s", masks[m]);
        json_decref(base), json_decref(a), json_decref(b);
    }
}

/* Any options: one example alone and as a batch of one are the same bits, one axis apart. */
Test(attention, batch_of_one_equals_none) {
    static const char *const options[] = {
        "{}",
        "{\"causal\":true,\"window\":[1,null]}",
        "{\"softcap\":1.5,\"alibi\":true,\"sinks\":[0.5]}",
        "{\"num_heads\":2,\"causal\":true,\"rope\":{\"dims\":2}}",
        "{\"dtype\":\"float32\",\"scale\":-1}",
    };
    for (size_t o = 0; o < sizeof options / sizeof *options; o++) {
        json_t *base = qkv(3, 4, 4, 4, 6), *one = with(base, options[o]), *batch = json_copy(one);
        for (const char *const *name = (const char *const[]){"q", "k", "v", NULL}; *name; name++)
            json_object_set_new(batch, *name, json_pack("[O]", json_object_get(one, *name)));
        json_t *a = ask("/attention", one), *b = ask("/attention", batch);
        for (const char *const *name = (const char *const[]){"output", "weights", NULL}; *name; name++)
            assert_near(json_object_get(a, *name), json_array_get(json_object_get(b, *name), 0), EXACT, options[o]);
        assert_near(json_object_get(a, "checks"), json_object_get(b, "checks"), EXACT, options[o]);
        json_decref(base), json_decref(a), json_decref(b);
    }
}

/* Heads of joined columns are attentions over the columns of each. */
Test(attention, heads_are_independent) {
    json_t *base = qkv(4, 3, 5, 6, 4), *both = with(base, "{\"num_heads\":2,\"causal\":true}");
    json_t *answer = ask("/attention", both);
    for (size_t h = 0; h < 2; h++) {
        json_t *alone = with(base, "{\"causal\":true}");
        for (const char *const *name = (const char *const[]){"q", "k", "v", NULL}; *name; name++) {
            size_t d = **name == 'v' ? 2 : 3;
            json_t *columns = transposed(json_object_get(base, *name)), *own = rows_of(columns, h * d, d);
            json_object_set_new(alone, *name, transposed(own));
            json_decref(columns), json_decref(own);
        }
        json_t *one = ask("/attention", alone), *joined = transposed(json_object_get(answer, "output"));
        json_t *own = rows_of(joined, h * 2, 2), *back = transposed(own);
        assert_near(json_object_get(one, "output"), back, TOLERANCE, "output of a head");
        assert_near(json_object_get(one, "weights"), json_array_get(json_object_get(answer, "weights"), h), TOLERANCE,
                    "weights of a head");
        json_decref(one), json_decref(joined), json_decref(own), json_decref(back);
    }
    json_decref(base), json_decref(answer);
}

/* A number added to a whole row of scores changes nothing but the logsumexp. */
Test(attention, softmax_is_blind_to_a_shift) {
    json_t *base = with_new(qkv(5, 3, 4, 2, 2), "{\"return\":[\"output\",\"weights\",\"logsumexp\"]}");
    json_t *a = ask("/attention", with(base, "{}"));
    json_t *b = ask("/attention", with(base, "{\"attn_bias\":[[100],[-3],[0.5]]}"));
    assert_near(json_object_get(a, "output"), json_object_get(b, "output"), TOLERANCE * 100, "output");
    cr_assert_float_eq(number_at(b, "logsumexp.0") - number_at(a, "logsumexp.0"), 100, 1e-12);
    cr_assert_float_eq(number_at(b, "logsumexp.1") - number_at(a, "logsumexp.1"), -3, 1e-13);
    json_decref(base), json_decref(a), json_decref(b);
}

/* What is not asked for is not computed in the same way, but comes to the same. */
Test(attention, output_does_not_depend_on_what_is_returned) {
    static const char *const options[] = {
        "{\"causal\":true}", "{\"window\":[3,2],\"alibi\":true}", "{\"sinks\":[1],\"softcap\":2,\"causal\":true}",
        "{\"mask_value\":-1e9,\"causal\":true,\"causal_alignment\":\"bottom_right\"}"};
    for (size_t o = 0; o < sizeof options / sizeof *options; o++) {
        json_t *base = with_new(qkv(6, 70, 67, 8, 5), options[o]);
        json_t *all =
            ask("/attention", with(base, "{\"return\":[\"output\",\"weights\",\"scores\",\"capped_scores\","
                                         "\"masked_scores\",\"logsumexp\",\"q\",\"k\",\"v\",\"present_key\"]}"));
        json_t *few = ask("/attention", with(base, "{\"return\":[\"output\",\"logsumexp\"],\"checks\":false}"));
        assert_near(json_object_get(all, "output"), json_object_get(few, "output"), TOLERANCE, options[o]);
        assert_near(json_object_get(all, "logsumexp"), json_object_get(few, "logsumexp"), TOLERANCE, options[o]);
        cr_assert_not(json_object_get(few, "weights"));
        cr_assert_not(json_object_get(few, "checks"));
        cr_assert(json_object_get(few, "shapes"));
        assert_near(json_object_get(json_object_get(all, "shapes"), "weights"),
                    json_object_get(json_object_get(few, "shapes"), "weights"), EXACT, "shape of weights");
        json_decref(base), json_decref(all), json_decref(few);
    }
}

Test(attention, shapes_name_axes_that_were_sent) {
    static const struct {
        const char *request, *output, *weights, *q;
    } rows[] = {
        {"{\"x\":[[1,2],[3,4],[5,6]]}", "[3,2]", "[3,3]", "[3,2]"},
        {"{\"x\":[[[1,2],[3,4],[5,6]]]}", "[1,3,2]", "[1,3,3]", "[1,3,2]"},
        {"{\"x\":[[1,2],[3,4],[5,6]],\"num_heads\":2}", "[3,2]", "[2,3,3]", "[2,3,1]"},
        {"{\"x\":[[1,2],[3,4],[5,6]],\"num_heads\":1}", "[3,2]", "[1,3,3]", "[1,3,2]"},
        {"{\"x\":[[[1,2],[3,4],[5,6]]],\"num_heads\":2}", "[1,3,2]", "[1,2,3,3]", "[1,2,3,1]"},
        {"{\"x\":[[[[1,2],[3,4],[5,6]]]]}", "[1,1,3,2]", "[1,1,3,3]", "[1,1,3,2]"},
        {"{\"x\":[[1,2],[3,4]],\"num_heads\":2,\"average_weights\":true}", "[2,2]", "[2,2]", "[2,2,1]"},
        {"{\"x\":[[1,2],[3,4]],\"return\":[]}", NULL, "[2,2]", "[2,2]"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        json_t *answer = ask("/attention", json_loads(rows[i].request, 0, NULL)),
               *shapes = json_object_get(answer, "shapes");
        const char *const expected[][2] = {{"output", rows[i].output}, {"weights", rows[i].weights}, {"q", rows[i].q}};
        for (size_t e = 0; e < 3; e++) {
            char *got = json_dumps(json_object_get(shapes, expected[e][0]), JSON_COMPACT | JSON_ENCODE_ANY);
            cr_assert(expected[e][1] ? got && strcmp(got, expected[e][1]) == 0 : !got, "%s: %s is %s", rows[i].request,
                      expected[e][0], got);
            free(got);
        }
        json_decref(answer);
    }
}

/* The caller's numbers are used where they lie; the check that changes them must put them back. */
Test(attention, checks_change_nothing) {
    static const char *const options[] = {
        "{\"return\":[\"output\",\"q\",\"k\",\"v\",\"present_key\",\"present_value\"]}",
        "{\"return\":[\"output\",\"q\",\"k\",\"v\",\"present_key\"],\"past_key\":[[1,2]],\"past_value\":[[3,4]]}",
        "{\"return\":[\"output\",\"q\",\"k\",\"v\"],\"rope\":{},\"causal\":true}",
        "{\"return\":[\"output\",\"q\",\"k\",\"v\"],\"num_heads\":2}",
    };
    for (size_t o = 0; o < sizeof options / sizeof *options; o++) {
        json_t *base = json_loads("{\"x\":[[1,0.5],[-2,3],[0.25,4]]}", 0, NULL), *asked = with(base, options[o]);
        json_t *a = ask("/attention", with(asked, "{}")), *b = ask("/attention", with(asked, "{\"checks\":false}"));
        cr_assert_eq(json_object_del(a, "checks"), 0);
        assert_near(b, a, EXACT, options[o]);
        json_decref(base), json_decref(asked), json_decref(a), json_decref(b);
    }
}

/* Limits are kept before anything is computed, and the refusal says what it would have cost. */
Test(attention, too_dear_is_refused_with_the_estimate) {
    struct api_env env = call_env();
    env.limits.multiply_adds = 1e9;
    const char body[] =
        "{\"random\":{\"seed\":0,\"draws\":[{\"into\":[\"x\"],\"shape\":[60000,8]}]},\"return\":[\"output\"]}";
    struct call answer = call_bytes(&env, "POST", "/attention", body, sizeof body - 1);
    cr_assert_eq(answer.response.status, 413);
    cr_assert_str_eq(json_string_value(json_object_get(answer.json, "code")), "too_costly");
    /* 60000 rows squared, 16 columns of k and v, twice with the check, and the weights once more to be looked at */
    const char *detail = json_string_value(json_object_get(answer.json, "detail"));
    cr_assert(strstr(detail, "1.48e+11 multiply-adds"), "%s", detail);
    call_free(&answer);

    env = call_env();
    const char large[] =
        "{\"random\":{\"seed\":0,\"draws\":[{\"into\":[\"x\"],\"shape\":[20000,1]}]},\"return\":[],\"trace\":true}";
    answer = call_bytes(&env, "POST", "/attention", large, sizeof large - 1);
    cr_assert_eq(answer.response.status, 413, "%s", answer.response.body);
    call_free(&answer);
}

static bool stop_after(void *ctx) {
    int *left = ctx;
    return --*left < 0;
}

/* Whenever the work is stopped, the answer is either the whole one or 503 "stopped". */
Test(attention, stopped_at_any_point) {
    const char body[] =
        "{\"x\":[[1,2],[3,4],[5,6]],\"wq\":{\"eye\":2},\"rope\":{},\"causal\":true,\"return\":[\"output\"]}";
    struct api_env env = call_env();
    int finished = 0, stopped = 0;
    for (int after = 0; after < 60; after++) {
        int left = after;
        struct attn_exec exec = {1, NULL, stop_after, &left};
        env.exec = &exec;
        struct call answer = call_bytes(&env, "POST", "/attention", body, sizeof body - 1);
        const char *code = json_string_value(json_object_get(answer.json, "code"));
        if (answer.response.status == 200) {
            finished++;
            cr_assert(truth_at(answer.json, "checks.ok"));
        } else {
            stopped++;
            cr_assert_eq(answer.response.status, 503);
            cr_assert_str_eq(code, "stopped");
        }
        call_free(&answer);
    }
    cr_assert(finished > 0 && stopped > 5, "%d finished, %d stopped", finished, stopped);
}
