/* test_rule.c - every refusal of /attention, /mha and /lookup: one table of requests that are wrong in one way each.
 *
 * Each must be answered with the status 422, the stable code, the pointer to the field at fault, and a detail (or hint)
 * that names what would help. After each the same service still answers a good request.
 */
#include "tests/api/call.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* q, k, v of three rows and two columns; the same as a batch of two; with two heads of one example. */
#define QKV "\"q\":[[1,2],[3,4],[5,6]],\"k\":[[1,0],[0,1],[1,1]],\"v\":[[1,2],[3,4],[5,6]]"
#define BATCH "\"q\":[[[1,2]],[[3,4]]],\"k\":[[[1,0],[0,1]],[[1,1],[1,2]]],\"v\":[[[1],[2]],[[3],[4]]]"
#define HEADS                                                                                                          \
    "\"q\":[[[[1,2]],[[3,4]]],[[[1,2]],[[3,4]]],[[[1,2]],[[3,4]]]],"                                                   \
    "\"k\":[[[[1,0]],[[0,1]]],[[[1,0]],[[0,1]]],[[[1,0]],[[0,1]]]],"                                                   \
    "\"v\":[[[[1,0]],[[0,1]]],[[[1,0]],[[0,1]]],[[[1,0]],[[0,1]]]]"
#define PAST "\"past_key\":[[1,1]],\"past_value\":[[1,1]]"
#define EYE4 "\"wq\":{\"eye\":4},\"wk\":{\"eye\":4},\"wv\":{\"eye\":4},\"wo\":{\"eye\":4}"
#define X4 "\"x\":[[1,2,3,4],[5,6,7,8]]"
#define LAYER X4 "," EYE4 ",\"num_heads\":2"

static const struct refusal {
    const char *path, *body, *code, *pointer, *says;
} refusals[] = {
    /* what is attended to */
    {"/attention", "{}", "missing_field", "/q", "x, or tokens"},
    {"/attention", "{\"q\":[[1]],\"v\":[[1]]}", "missing_field", "/k", "go together"},
    {"/attention", "{\"k\":[[1]],\"v\":[[1]]}", "missing_field", "/q", "go together"},
    {"/attention", "{" QKV ",\"x\":[[1,2]]}", "conflict", "/x", "q, k and v"},
    {"/attention", "{" QKV ",\"wq\":{\"eye\":2}}", "conflict", "/wq", "q, k and v"},
    {"/attention", "{" QKV ",\"context\":[[1,2]]}", "conflict", "/context", "q, k and v"},
    {"/attention", "{\"x\":[[1,2]],\"tokens\":{\"ids\":[0],\"table\":[[1,2]]}}", "conflict", "/tokens", "`x`"},
    {"/attention", "{\"x\":[[1,2]],\"wq\":{\"eye\":3}}", "shape_mismatch", "/wq", "(3, 3)"},
    {"/attention", "{\"x\":[[1,2]],\"bq\":[1,2]}", "conflict", "/bq", "`wq`"},
    {"/attention", "{\"x\":[[1,2]],\"wq\":{\"eye\":2},\"bq\":[1]}", "shape_mismatch", "/bq", "(2,)"},
    {"/attention", "{\"q\":[[1,2]],\"k\":[[1,2,3]],\"v\":[[1]]}", "shape_mismatch", "/k", "(1, 3)"},
    {"/attention", "{\"q\":[[1,2]],\"k\":[[1,2]],\"v\":[[1],[2]]}", "shape_mismatch", "/v", "(2, 1)"},
    {"/attention", "{\"q\":[[1,2]],\"k\":[[[1,2]]],\"v\":[[1]]}", "shape_mismatch", "/k", "rank 2"},
    {"/attention", "{\"q\":[[[1]],[[1]]],\"k\":[[[1]]],\"v\":[[[1]]]}", "shape_mismatch", "/k", "batch of 2"},
    {"/attention", "{\"q\":[1,2],\"k\":[1,2],\"v\":[1,2]}", "wrong_rank", "/q", "(n_q, d)"},
    {"/attention", "{\"q\":[[1,2],[3]],\"k\":[[1,2]],\"v\":[[1,2]]}", "ragged", "/q/1", NULL},
    {"/attention", "{" QKV ",\"Causal\":true}", "unknown_field", "/Causal", "causal"},
    {"/attention", "{" QKV ",\"wo\":{\"eye\":2}}", "unknown_field", "/wo", NULL},

    /* heads */
    {"/attention", "{\"q\":[[1,2]],\"k\":[[1,2,3]],\"v\":[[1]]}", "shape_mismatch", "/k", "is (1, 3)"},
    {"/attention", "{\"q\":[[1,2]],\"k\":[[1,2,3]],\"v\":[[1]]}", "shape_mismatch", "/k", "like q, (1, 2)"},
    {"/attention", "{\"x\":{\"eye\":3},\"num_heads\":3,\"num_kv_heads\":1}", "missing_field", "/wk",
     "x has 3 columns, but k takes 1"},
    {"/attention", "{" QKV ",\"num_heads\":3}", "shape_mismatch", "/num_heads", "2 columns of q."},
    {"/attention", "{" QKV ",\"key_lengths\":{\"shape\":[1],\"data\":[9]}}", "bad_value", "/key_lengths/data/0",
     "The length 9"},
    {"/attention", "{" QKV ",\"key_lengths\":[9]}", "bad_value", "/key_lengths/0", "The length 9"},
    {"/attention", "{" QKV ",\"num_heads\":0}", "bad_value", "/num_heads", "at least 1"},
    {"/attention", "{" QKV ",\"num_heads\":1.5}", "wrong_type", "/num_heads", "integer"},
    {"/attention", "{" QKV ",\"num_kv_heads\":1}", "missing_field", "/num_heads", "`num_kv_heads`"},
    {"/attention", "{" QKV ",\"num_heads\":2,\"num_kv_heads\":0}", "bad_value", "/num_kv_heads", "at least 1"},
    {"/attention", "{" HEADS ",\"num_heads\":4}", "conflict", "/num_heads", "2 heads"},
    {"/attention", "{" HEADS ",\"num_kv_heads\":1}", "conflict", "/num_kv_heads", "2 heads"},
    {"/attention", "{\"q\":[[[[1]],[[1]],[[1]]]],\"k\":[[[[1]],[[1]]]],\"v\":[[[[1]],[[1]]]]}", "shape_mismatch", "/k",
     "3 heads"},
    {"/attention", "{\"q\":[[[[1]],[[1]]]],\"k\":[[[[1]],[[1]]]],\"v\":[[[[1]]]]}", "shape_mismatch", "/v", "2 heads"},
    {"/mha", "{" X4 "," EYE4 "}", "missing_field", "/num_heads", NULL},
    {"/mha", "{" X4 "," EYE4 ",\"num_heads\":null}", "missing_field", "/num_heads", NULL},
    {"/mha", "{" X4 "," EYE4 ",\"num_heads\":3}", "shape_mismatch", "/num_heads", "4 columns of q"},
    {"/mha", "{" X4 "," EYE4 ",\"num_heads\":-1}", "bad_value", "/num_heads", "at least 1"},
    {"/mha", "{" X4 "," EYE4 ",\"num_heads\":4,\"num_kv_heads\":3}", "shape_mismatch", "/num_kv_heads", "4 columns"},
    {"/mha",
     "{\"x\":[[1,2,3,4]],\"wq\":{\"eye\":4},\"wk\":[[1,2],[1,2],[1,2],[1,2]],\"wv\":[[1,2],[1,2],[1,2],[1,2]],"
     "\"wo\":{\"eye\":4},\"num_heads\":2}",
     "shape_mismatch", "/wk", "\"num_kv_heads\": 1"},

    /* projections */
    {"/mha", "{" EYE4 ",\"num_heads\":2}", "missing_field", "/x", "tokens"},
    {"/mha", "{" X4 ",\"wq\":{\"eye\":4},\"wk\":{\"eye\":4},\"wv\":{\"eye\":4},\"num_heads\":2}", "missing_field",
     "/wo", NULL},
    {"/mha", "{" LAYER ",\"Wq\":[[1]]}", "unknown_field", "/Wq", "wq"},
    {"/mha", "{\"x\":[[1,2,3]]," EYE4 ",\"num_heads\":2}", "shape_mismatch", "/wq", "3"},
    {"/mha", "{\"x\":[1,2,3,4]," EYE4 ",\"num_heads\":2}", "wrong_rank", "/x", "(n, d)"},
    {"/mha", "{" X4 ",\"wq\":{\"eye\":4},\"wk\":{\"eye\":4},\"wv\":{\"eye\":4},\"wo\":{\"eye\":3},\"num_heads\":2}",
     "shape_mismatch", "/wo", "(3, 3)"},
    {"/mha", "{" LAYER ",\"bo\":[1,2]}", "shape_mismatch", "/bo", "(4,)"},
    {"/mha", "{" LAYER ",\"bv\":[1,2]}", "shape_mismatch", "/bv", "(4,)"},
    {"/mha", "{" LAYER ",\"bk\":[[1,2,3,4]]}", "wrong_rank", "/bk", NULL},
    {"/mha", "{" LAYER ",\"context\":[[1,2,3]]}", "shape_mismatch", "/wk", "3"},
    {"/mha", "{" LAYER ",\"context\":[[[1,2,3,4]]]}", "shape_mismatch", "/context", "rank 2"},
    {"/mha", "{" LAYER ",\"weight_layout\":\"out-in\"}", "unknown_choice", "/weight_layout", "out_in"},
    {"/mha", "{" LAYER ",\"dtype\":\"float16\"}", "unknown_choice", "/dtype", "float32"},

    /* scores */
    {"/attention", "{" QKV ",\"scale\":\"half\"}", "wrong_type", "/scale", "number"},
    {"/attention", "{" QKV ",\"softcap\":-1}", "bad_value", "/softcap", "more than 0"},
    {"/attention", "{" QKV ",\"attn_bias\":[1,2]}", "shape_mismatch", "/attn_bias", "(3, 3)"},
    {"/attention", "{" QKV ",\"attn_bias\":[[[1]]]}", "shape_mismatch", "/attn_bias", "(3, 3)"},
    {"/attention", "{" QKV ",\"attn_bias\":[true,false,true]}", "wrong_type", "/attn_bias/0", "numbers"},
    {"/attention", "{" HEADS ",\"attn_bias\":[[[1]],[[1]],[[1]]]}", "shape_mismatch", "/attn_bias", "(3, 1, 1, 1)"},
    {"/attention", "{" QKV ",\"alibi\":[1,2]}", "shape_mismatch", "/alibi", "(1,)"},
    {"/attention", "{" QKV ",\"alibi\":1}", "wrong_type", "/alibi", NULL},
    {"/attention", "{" QKV ",\"alibi\":[\"Infinity\"]}", "bad_value", "/alibi", "finite"},
    {"/attention", "{" QKV ",\"sinks\":[1,2]}", "shape_mismatch", "/sinks", "(1,)"},
    {"/attention", "{" QKV ",\"sinks\":1}", "wrong_type", "/sinks", NULL},
    {"/attention", "{" QKV ",\"sinks\":[\"NaN\"]}", "bad_value", "/sinks", NULL},

    /* masks */
    {"/attention", "{" QKV ",\"attn_mask\":[[1,0,1],[1,1,1],[0,0,1]]}", "numeric_mask", "/attn_mask", "attn_bias"},
    {"/attention", "{" QKV ",\"attn_mask\":[true,false]}", "shape_mismatch", "/attn_mask", "(3, 3)"},
    {"/attention", "{" HEADS ",\"attn_mask\":[[[true]],[[true]],[[true]]]}", "shape_mismatch", "/attn_mask",
     "one for each example is (3, 1, 1, 1)"},
    {"/attention", "{" QKV ",\"key_padding_mask\":[0,0,1]}", "numeric_mask", "/key_padding_mask", NULL},
    {"/attention", "{" QKV ",\"key_padding_mask\":[true,false]}", "shape_mismatch", "/key_padding_mask", "(3,)"},
    {"/attention", "{" BATCH ",\"key_padding_mask\":[true,false]}", "shape_mismatch", "/key_padding_mask", "(2, 2)"},
    {"/attention", "{" QKV "," PAST ",\"key_padding_mask\":[true,false,false]}", "shape_mismatch", "/key_padding_mask",
     "past as well"},
    {"/attention", "{" BATCH ",\"key_lengths\":[1]}", "shape_mismatch", "/key_lengths", "(2,)"},
    {"/attention", "{" BATCH ",\"key_lengths\":[1,3]}", "bad_value", "/key_lengths/1", "2 keys"},
    {"/attention", "{" BATCH ",\"key_lengths\":[-1,1]}", NULL, NULL, NULL},
    {"/attention", "{" BATCH ",\"key_lengths\":[1.5,1]}", NULL, NULL, NULL},
    {"/attention", "{" QKV ",\"causal\":1}", "wrong_type", "/causal", "true or false"},
    {"/attention", "{" QKV ",\"causal_alignment\":\"bottom\"}", "unknown_choice", "/causal_alignment", "bottom_right"},
    {"/attention", "{" QKV ",\"window\":[-1,0]}", "bad_value", "/window/0", NULL},
    {"/attention", "{" QKV ",\"window\":[1]}", "wrong_type", "/window", NULL},
    {"/attention", "{" QKV ",\"window\":[null,0.5]}", NULL, "/window/1", NULL},
    {"/attention", "{" QKV ",\"window\":2}", "wrong_type", "/window", NULL},
    {"/attention", "{" QKV ",\"mask_value\":\"low\"}", "wrong_type", "/mask_value", NULL},

    /* cache */
    {"/attention", "{" QKV ",\"past_key\":[[1,1]]}", "missing_field", "/past_value", "together"},
    {"/attention", "{" QKV ",\"past_value\":[[1,1]]}", "missing_field", "/past_key", "together"},
    {"/attention", "{" QKV ",\"past_key\":[[1,1,1]],\"past_value\":[[1,1]]}", "shape_mismatch", "/past_key", "(1, 2)"},
    {"/attention", "{" QKV ",\"past_key\":[[1,1]],\"past_value\":[[1,1],[2,2]]}", "shape_mismatch", "/past_value",
     "(1, 2)"},
    {"/mha", "{" LAYER "," PAST "}", "shape_mismatch", "/past_key", "(2, 1, 2)"},
    {"/attention", "{" QKV "," PAST ",\"key_lengths\":[2]}", "conflict", "/key_lengths", "key_padding_mask"},
    {"/attention", "{" QKV "," PAST ",\"causal_alignment\":\"bottom_right\"}", "conflict", "/causal_alignment",
     "past_key"},

    /* rotation */
    {"/mha", "{" LAYER ",\"rope\":true}", "wrong_type", "/rope", "object"},
    {"/mha", "{" LAYER ",\"rope\":{\"bases\":1}}", "unknown_field", "/rope/bases", "base"},
    {"/mha", "{" LAYER ",\"rope\":{\"base\":0}}", "bad_value", "/rope/base", "more than 0"},
    {"/mha", "{" LAYER ",\"rope\":{\"dims\":3}}", "bad_value", "/rope/dims", "even"},
    {"/mha", "{" LAYER ",\"rope\":{\"dims\":4}}", "bad_value", "/rope/dims", "2 columns"},
    {"/mha", "{" LAYER ",\"rope\":{\"dims\":0}}", "bad_value", "/rope/dims", "at least 2"},
    {"/mha", "{" LAYER ",\"rope\":{\"positions\":[1]}}", "shape_mismatch", "/rope/positions", "(2,)"},
    {"/mha", "{" LAYER ",\"context\":[[1,2,3,4]],\"rope\":{\"positions\":[1,2]}}", "conflict", "/rope/positions", NULL},
    {"/mha", "{" X4 "," EYE4 ",\"num_heads\":4,\"rope\":{}}", "bad_value", "/rope", "dims"},

    /* what is sent back */
    {"/attention", "{" QKV ",\"return\":[\"outputs\"]}", "unknown_choice", "/return/0", "output"},
    {"/attention", "{" QKV ",\"return\":[\"heads\"]}", "unknown_choice", "/return/0", NULL},
    {"/attention", "{" QKV ",\"return\":\"output\"}", "wrong_type", "/return", NULL},
    {"/attention", "{" QKV ",\"checks\":\"no\"}", "wrong_type", "/checks", NULL},

    /* lookup */
    {"/lookup", "{}", "missing_field", "/keys", NULL},
    {"/lookup", "{\"keys\":{\"eye\":2}}", "missing_field", "/values", NULL},
    {"/lookup", "{\"keys\":{\"eye\":2},\"values\":{\"eye\":3}}", "shape_mismatch", "/values", "(2, 2)"},
    {"/lookup", "{\"keys\":{\"eye\":2},\"values\":{\"eye\":2},\"queries\":[[1]]}", "shape_mismatch", "/queries",
     "columns"},
    {"/lookup", "{\"keys\":{\"eye\":2},\"values\":{\"eye\":2},\"sharpness\":\"high\"}", "wrong_type", "/sharpness",
     NULL},
    {"/lookup", "{\"keys\":{\"eye\":2},\"values\":{\"eye\":2},\"sharpness\":1e200}", "bad_value", "/sharpness",
     "finite"},
    {"/lookup", "{\"keys\":{\"eye\":2},\"values\":{\"eye\":2},\"sharpness\":[1,1e200]}", "bad_value", "/sharpness/1",
     "finite"},
    {"/lookup", "{\"keys\":{\"eye\":2},\"values\":{\"eye\":2},\"sharpness\":[\"NaN\"]}", "bad_value", "/sharpness/0",
     "finite"},
    {"/lookup", "{\"keys\":[1,2],\"values\":[[1],[2]]}", "wrong_rank", "/keys", "(n, d)"},
};

static const char *member(const struct call *answer, const char *name) {
    const char *text = json_string_value(json_object_get(answer->json, name));
    return text ? text : "";
}

static bool same(const char *got, const char *expected) {
    return !expected || strcmp(got, expected) == 0;
}

static bool refused_as_stated(const struct refusal *r) {
    struct call answer = call("POST", r->path, r->body);
    bool says = !r->says || strstr(member(&answer, "detail"), r->says) || strstr(member(&answer, "hint"), r->says) ||
                strstr(member(&answer, "expected"), r->says);
    bool fine = answer.response.status == 422 && same(member(&answer, "code"), r->code) &&
                same(member(&answer, "pointer"), r->pointer) && says && *member(&answer, "detail") &&
                strcmp(answer.response.content_type, "application/problem+json") == 0;
    if (!fine)
        fprintf(stderr, "rule: %s %s: %d %.*s", r->path, r->body, answer.response.status,
                (int)answer.response.body_size, answer.response.body);
    call_free(&answer);
    return fine;
}

Test(rule, every_refusal_names_its_field) {
    size_t wrong = 0;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        wrong += !refused_as_stated(&refusals[i]);
        struct call good = call("POST", "/attention", "{" QKV "}");
        cr_assert_eq(good.response.status, 200, "the service is broken after %s", refusals[i].body);
        call_free(&good);
    }
    cr_assert_eq(wrong, 0, "%zu requests are not refused as stated", wrong);
}

/* The fragments of the table are right by themselves: otherwise a refusal could be for another reason. */
Test(rule, what_is_spoiled_above_is_good) {
    static const char *const good[][2] = {
        {"/attention", "{" BATCH "}"},
        {"/attention", "{" HEADS "}"},
        {"/attention", "{" HEADS ",\"num_heads\":2,\"num_kv_heads\":2}"},
        {"/attention", "{" QKV "," PAST "}"},
        {"/attention", "{" QKV ",\"num_heads\":2,\"num_kv_heads\":2}"},
        {"/attention", "{" BATCH ",\"key_lengths\":[0,2]}"},
        {"/attention", "{" QKV ",\"window\":[null,null],\"softcap\":0,\"scale\":null,\"mask_value\":null}"},
        {"/mha", "{" LAYER "}"},
        {"/mha", "{" LAYER ",\"rope\":{\"positions\":[3,4],\"dims\":2}}"},
        {"/lookup", "{\"keys\":{\"eye\":2},\"values\":{\"eye\":2},\"sharpness\":[1,-3.5]}"},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct call answer = call("POST", good[i][0], good[i][1]);
        cr_expect_eq(answer.response.status, 200, "%s %s: %s", good[i][0], good[i][1], answer.response.body);
        call_free(&answer);
    }
}

/* A draw can fill what is checked for its values only after it is drawn. */
Test(rule, drawn_options_are_checked_too) {
    struct call answer = call("POST", "/attention",
                              "{" QKV ",\"random\":{\"seed\":1,\"draws\":[{\"into\":[\"sinks\"],\"shape\":[2]}]}}");
    cr_assert_eq(answer.response.status, 422);
    cr_assert_str_eq(member(&answer, "pointer"), "/sinks");
    call_free(&answer);
}
