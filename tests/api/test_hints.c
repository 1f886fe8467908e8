/* test_hints.c - the mistakes of people who come from Python, JavaScript, a shell or another library: every refusal has
 * a hint that leads to the mending. */
#include "tests/api/call.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* struct mistake - `hint`: what the answer's hint must hold. */
struct mistake {
    const char *path, *body, *code, *hint;
};

#define QKV "\"q\":[[1,0],[0,1]],\"k\":[[1,0],[0,1]],\"v\":[[1,2],[3,4]]"
#define LAYER                                                                                                          \
    "\"x\":[[1,0]],\"wq\":{\"eye\":2},\"wk\":{\"eye\":2},\"wv\":{\"eye\":2},\"wo\":{\"eye\":2},\"num_heads\":1"
#define ATTENTION(more) "/attention", "{" QKV "," more "}"
#define MHA(more) "/mha", "{" LAYER "," more "}"
#define EMBED(more) "/embed", "{" more "}"
#define LOOKUP(more) "/lookup", "{\"keys\":[[1]],\"values\":[[1]]," more "}"
#define CHECK(more) "/check", "{\"endpoint\":\"attention\",\"request\":{" QKV "}," more "}"
#define DRAW(more) "/embed", "{\"ids\":[0],\"random\":{\"seed\":0,\"draws\":[{" more "}]}}"

static const struct mistake mistakes[] = {
    /* names of other libraries */
    {ATTENTION("\"is_causal\":true"), "unknown_field", "\"causal\"?"},
    {ATTENTION("\"isCausal\":true"), "unknown_field", "\"causal\"?"},
    {ATTENTION("\"use_causal_mask\":true"), "unknown_field", "\"causal\"?"},
    {ATTENTION("\"n_heads\":1"), "unknown_field", "\"num_heads\"?"},
    {ATTENTION("\"nhead\":1"), "unknown_field", "\"num_heads\"?"},
    {ATTENTION("\"h\":1"), "unknown_field", "\"num_heads\"?"},
    {ATTENTION("\"num-heads\":1"), "unknown_field", "\"num_heads\"?"},
    {ATTENTION("\"num_key_value_heads\":1"), "unknown_field", "\"num_kv_heads\"?"},
    {ATTENTION("\"kv_heads\":1"), "unknown_field", "\"num_kv_heads\"?"},
    {ATTENTION("\"enable_gqa\":true"), "unknown_field", "`num_kv_heads`"},
    {ATTENTION("\"embed_dim\":2"), "unknown_field", "read off the arrays"},
    {ATTENTION("\"dropout_p\":0"), "unknown_field", "without dropout"},
    {ATTENTION("\"batch_first\":true"), "unknown_field", "leave it out"},
    {ATTENTION("\"need_weights\":true"), "unknown_field", "\"return\": [\"output\", \"weights\"]"},
    {ATTENTION("\"use_cache\":true"), "unknown_field", "\"present_key\""},
    {ATTENTION("\"past_key_values\":[]"), "unknown_field", "`past_value`"},
    {ATTENTION("\"mask\":[[true]]"), "unknown_field", "`key_padding_mask` (true = padding)"},
    {ATTENTION("\"attention_mask\":[[1]]"), "unknown_field", "`attn_mask` (true = may attend)"},
    {ATTENTION("\"attention_bias\":[[1]]"), "unknown_field", "\"attn_bias\"?"},
    {ATTENTION("\"sliding_window\":2"), "unknown_field", "[left, right]"},
    {ATTENTION("\"softmax_scale\":1"), "unknown_field", "\"scale\"?"},
    {ATTENTION("\"temperature\":1"), "unknown_field", "\"scale\"?"},
    {ATTENTION("\"logits_soft_cap\":1"), "unknown_field", "\"softcap\"?"},
    {ATTENTION("\"seq_lens\":[1]"), "unknown_field", "\"key_lengths\"?"},
    {ATTENTION("\"decimals\":3"), "unknown_field", "\"round\"?"},
    {ATTENTION("\"pretty\":true"), "unknown_field", "?pretty"},
    {ATTENTION("\"seed\":0"), "unknown_field", "\"random\": {\"seed\": 0"},
    {ATTENTION("\"texts\":[\"a\"]"), "unknown_field", "`tokens`"},
    {"/attention", "{\"query\":[[1]],\"key\":[[1]],\"value\":[[1]]}", "unknown_field", "\"q\"?"},
    {"/attention", "{\"q\":[[1]],\"key\":[[1]],\"value\":[[1]]}", "unknown_field", "\"k\"?"},
    {"/attention", "{\"q\":[[1]],\"k\":[[1]],\"value\":[[1]]}", "unknown_field", "\"v\"?"},
    {MHA("\"query\":[[1]]"), "unknown_field", "\"x\"?"},
    {MHA("\"key\":[[1]]"), "unknown_field", "\"context\"?"},
    {MHA("\"memory\":[[1]]"), "unknown_field", "\"context\"?"},
    {MHA("\"W_q\":[[1]]"), "unknown_field", "\"wq\"?"},
    {MHA("\"q_proj_weight\":[[1]]"), "unknown_field", "\"weight_layout\": \"out_in\""},
    {MHA("\"in_proj_weight\":[[1]]"), "unknown_field", "wq, wk and wv"},
    {MHA("\"rope_theta\":10000"), "unknown_field", "\"rope\": {\"base\": 10000}"},
    {MHA("\"rope\":{\"theta\":1}"), "unknown_field", "\"base\"?"},
    {MHA("\"weight_layout\":\"pytorch\""), "unknown_choice", "\"out_in\"?"},
    {MHA("\"dtype\":\"double\""), "unknown_choice", "\"float64\"?"},
    {MHA("\"dtype\":\"float16\""), "unknown_choice", "Half precision"},
    {MHA("\"return\":[\"attention\"]"), "unknown_choice", "\"weights\"?"},
    {MHA("\"return\":[\"logits\"]"), "unknown_choice", "\"scores\"?"},
    {EMBED("\"sentences\":[\"a\"]"), "unknown_field", "\"texts\"?"},
    {EMBED("\"input_ids\":[0]"), "unknown_field", "\"ids\"?"},
    {EMBED("\"tokens\":[\"a\"]"), "unknown_field", "`texts`"},
    {EMBED("\"ids\":[0],\"weight\":[[1]]"), "unknown_field", "\"table\"?"},
    {EMBED("\"ids\":[0],\"positional_encoding\":\"sin\""), "unknown_field", "\"positions\"?"},
    {EMBED("\"ids\":[0],\"table\":[[1]],\"positions\":\"learned\""), "unknown_choice", "a matrix of shape (n, d)"},
    {DRAW("\"into\":[\"table\"],\"size\":[1,2]"), "unknown_field", "\"shape\"?"},
    {DRAW("\"into\":[\"table\"],\"shape\":[1,2],\"std\":1"), "unknown_field", "\"scale\"?"},
    {DRAW("\"into\":[\"table\"],\"shape\":[1,2],\"distribution\":\"gaussian\""), "unknown_choice", "\"normal\"?"},
    {DRAW("\"into\":[\"weight\"],\"shape\":[1,2]"), "unknown_field", "\"table\"?"},
    {LOOKUP("\"query\":[[1]]"), "unknown_field", "\"queries\"?"},
    {LOOKUP("\"k\":[[1]]"), "unknown_field", "\"keys\"?"},
    {LOOKUP("\"beta\":1"), "unknown_field", "\"sharpness\"?"},
    {CHECK("\"expected\":{\"weights\":[[1]]}"), "unknown_field", "\"answer\"?"},
    {CHECK("\"answer\":{\"weights\":[[1]]},\"tolerance\":1"), "unknown_field", "\"atol\"?"},
    {CHECK("\"answer\":{\"attention_weights\":[[1]]}"), "unknown_field", "\"weights\"?"},
    {"/check", "{\"endpoint\":\"/attention\",\"request\":{},\"answer\":{}}", "unknown_choice", "\"attention\"?"},
    {"/check", "{\"endpoint\":\"multi_head_attention\",\"request\":{},\"answer\":{}}", "unknown_choice", "\"mha\"?"},

    {"/multihead", "{}", "not_found", "/mha"},
    {"/v1/attention", "{}", "not_found", "/attention"},

    /* values of another type */
    {ATTENTION("\"causal\":\"true\""), "wrong_type", "without quotes"},
    {ATTENTION("\"causal\":1"), "wrong_type", "Write true or false"},
    {ATTENTION("\"causal\":null"), "wrong_type", "Leave `causal` out."},
    {ATTENTION("\"attn_mask\":null"), "wrong_type", "Leave `attn_mask` out."},
    {ATTENTION("\"attn_mask\":[[1,0],[1,1]]"), "numeric_mask", "true = may attend"},
    {ATTENTION("\"attn_mask\":[[0,-Infinity],[0,0]]"), "numeric_mask", "attn_bias"},
    {ATTENTION("\"key_padding_mask\":[0,1]"), "numeric_mask", "Write true and false"},
    {ATTENTION("\"scale\":\"0.5\""), "wrong_type", "without quotes"},
    {ATTENTION("\"mask_value\":\"-Infinity\""), "wrong_type", "arrays of numbers only"},
    {ATTENTION("\"return\":\"weights\""), "wrong_type", "[\"weights\"]"},
    {ATTENTION("\"window\":3"), "wrong_type", "[2, 0]"},
    {ATTENTION("\"tokens\":\"a b\""), "wrong_type", "texts"},
    {"/attention", "{\"q\":\"[[1]]\"}", "wrong_type", "JSON lists"},
    {"/attention", "{\"q\":[[\"1\"]]}", "wrong_type", "without quotes"},
    {"/attention", "{\"q\":[[1,null]]}", "wrong_type", "\"NaN\""},
    {"/attention", "{\"q\":[[1,\"nan\"]]}", "wrong_type", "\"NaN\""},
    {"/attention", "{\"q\":[[1,\"-inf\"]]}", "wrong_type", "\"-Infinity\""},
    {"/attention", "{\"q\":[[1,\"+inf\"]]}", "wrong_type", "\"Infinity\""},
    {MHA("\"bo\":0"), "wrong_type", "(d_out)"},
    {MHA("\"rope\":true"), "wrong_type", "base, interleaved"},
    {EMBED("\"texts\":\"a b\""), "wrong_type", "[\"a b\"]"},
    {EMBED("\"texts\":[\"a\"],\"vocab\":[\"a\"]"), "wrong_type", "id of each word"},
    {CHECK("\"answer\":[[1,0]]"), "wrong_type", "by their names"},

    {"/attention", "{\"x\":[[1]],\"q\":[[1]]}", "conflict", "or x (or tokens) with wq, wk and wv"},

    /* shapes */
    {"/attention", "{\"q\":[[1,2,3]],\"k\":[[1],[2],[3]],\"v\":[[1]]}", "shape_mismatch", "transposed"},
    {"/attention", "{\"x\":[[1,0,0]],\"wq\":[[1,2,3],[4,5,6]]}", "shape_mismatch", "\"weight_layout\": \"out_in\""},
    {"/attention", "{\"x\":[[1,0,0]],\"weight_layout\":\"out_in\",\"wq\":[[1],[2],[3]]}", "shape_mismatch",
     "\"weight_layout\": \"in_out\""},
    {EMBED("\"ids\":[[0],[0,1]],\"table\":[[1]]"), "ragged", "padding"},
    {EMBED("\"texts\":[\"a b\"],\"table\":[[1],[2]]"), "id_out_of_range", "needs 3 rows"},
    {"/check",
     "{\"endpoint\":\"lookup\",\"request\":{\"keys\":{\"eye\":2},\"values\":[[1],[2]],\"sharpness\":[1,2]},"
     "\"answer\":{\"output\":[[1],[2]]}}",
     "bad_value", "send one number"},

    /* text that is not JSON */
    {"/mha", "{\"causal\":True}", "not_json", "small letters"},
    {"/mha", "{\"scale\":None}", "not_json", "null"},
    {"/mha", "{\"scale\":undefined}", "not_json", "null"},
    {"/mha", "{\"scale\":NaN}", "not_json", "arrays of numbers"},
    {"/mha", "{\"scale\":-inf}", "not_json", "-Infinity"},
    {"/mha", "{\"x\":[[nan]]}", "not_json", "spelt like this"},
    {"/mha", "{\"num_heads\":1,}", "not_json", "comma before it"},
    {"/mha", "{\"x\":[[1,0],]}", "not_json", "comma before it"},
    {"/mha", "{\"x\":[[1 0]]}", "not_json", "comma missing"},
    {"/mha", "{\"x\":[[1]] \"wq\":[[1]]}", "not_json", "comma missing"},
    {"/mha", "{'x': [[1]]}", "not_json", "json.dumps"},
    {"/mha", "'{\"x\": [[1]]}'", "not_json", "--data @file.json"},
    {"/mha", "{\xe2\x80\x9cx\xe2\x80\x9d: [[1]]}", "not_json", "typographic"},
    {"/mha", "{x: [[1]]}", "not_json", "double quotes"},
    {"/mha", "{\"x\": [[1]] // one\n}", "not_json", "comments"},
    {"/mha", "# one\n{\"x\": [[1]]}", "not_json", "comments"},
    {"/mha", "{\"x\": ((1, 2))}", "not_json", "[ ]"},
    {"/mha", "{\"scale\": 1/2}", "not_json", "0.5"},
    {"/mha", "{\"scale\": .5}", "not_json", "0.5"},
    {"/mha", "{\"x\": [[+1]]}", "not_json", "no + sign"},
    {"/mha", "{\"x\": [[5.]]}", "not_json", "5.0"},
    {"/mha", "{\"x\": [[1,2],[3,4], \"wq\": [[1]]}", "not_json", "] missing"},
    {"/mha", "{\"x\": [[1,2],[3,4]]", "not_json", "still open"},
    {"/mha", "{\"x\": [[1]]} {\"x\": [[2]]}", "not_json", "remove what follows"},
    {"/mha", "request.json", "not_json", "--data @name"},
    {"/mha", "x=1&causal=true", "not_json", "begins with {"},
    {"/mha", "\xef\xbb\xbf{\"x\": [[1]]}", "not_json", "byte order mark"},
    {"/mha", "\xff\xfe{", "invalid_unicode", "UTF-16"},
};

static const char *text_of(const struct call *answer, const char *key) {
    const char *text = json_string_value(json_object_get(answer->json, key));
    return text ? text : "";
}

Test(refusals, hints) {
    size_t n = sizeof mistakes / sizeof *mistakes, failed = 0;
    for (size_t i = 0; i < n; i++) {
        struct call answer = call("POST", mistakes[i].path, mistakes[i].body);
        if (strcmp(text_of(&answer, "code"), mistakes[i].code) != 0 ||
            !strstr(text_of(&answer, "hint"), mistakes[i].hint)) {
            failed++;
            fprintf(stderr, "hints: %s %s\n  expected %s: %s, got %s\n", mistakes[i].path, mistakes[i].body,
                    mistakes[i].code, mistakes[i].hint, answer.response.body ? answer.response.body : "");
        }
        call_free(&answer);
    }
    fprintf(stderr, "hints: %zu mistakes, %zu lead nowhere\n", n, failed);
    cr_assert_eq(failed, 0u);
}

/* A NUL byte is not the end, for which jansson takes it; the trailing one of a C string is to be removed. */
Test(refusals, nul_bytes) {
    static const struct {
        const char *body;
        size_t size;
        const char *hint;
        size_t column;
    } rows[] = {
        {"{\0\"\0x\0\"\0}", 9, "UTF-16", 2},    {"{\"x\":[[1,2\0]]}", 14, "UTF-16", 11},
        {"{\"x\":[[1]],\0}", 13, "UTF-16", 12}, {"{\"x\":[[1]]}\0", 12, "remove what follows", 12},
        {"{\"x\":[[1]]", 10, "still open", 11},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct api_env env = {.limits = {0}};
        struct call answer = call_bytes(&env, "POST", "/mha", rows[i].body, rows[i].size);
        bool is_nul = i + 1 < sizeof rows / sizeof *rows;
        cr_expect_str_eq(text_of(&answer, "code"), "not_json");
        cr_expect_eq(strstr(text_of(&answer, "detail"), "holds a NUL byte") != NULL, is_nul, "%zu: %s", i,
                     text_of(&answer, "detail"));
        cr_expect(strstr(text_of(&answer, "hint"), rows[i].hint), "%zu: %s", i, text_of(&answer, "hint"));
        cr_expect_eq(json_integer_value(json_object_get(answer.json, "column")), (json_int_t)rows[i].column, "%zu", i);
        call_free(&answer);
    }
}

/* A name as long as this is compared with nothing, and not repeated in a pointer. */
Test(refusals, long_names_cost_nothing) {
    enum { SIZE = 4 << 20 };
    char *body = malloc(SIZE + 16);
    memcpy(body, "{\"", 2);
    memset(body + 2, '_', SIZE);
    memcpy(body + 2 + SIZE, "\":1}", 5);
    struct call answer = call("POST", "/mha", body);
    cr_expect_str_eq(text_of(&answer, "code"), "unknown_field");
    cr_expect_str_eq(text_of(&answer, "hint"), "");
    cr_expect_str_eq(text_of(&answer, "pointer"), "");
    call_free(&answer);
    free(body);
}
