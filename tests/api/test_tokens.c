/* test_tokens.c - texts to words as Python's str.split() does, words to ids, rows to one length. */
#include "api/words.h"
#include "tests/api/call.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static json_t *embed(const char *fields) {
    char body[1024];
    snprintf(body, sizeof body, "{%s,\"random\":{\"seed\":0,\"draws\":[{\"into\":[\"table\"],\"shape\":[20,2]}]}}",
             fields);
    struct call answer = call("POST", "/embed", body);
    cr_expect_eq(answer.response.status, 200, "%s: %s", body, answer.response.body);
    json_t *json = json_incref(answer.json);
    call_free(&answer);
    return json;
}

static void expect_part(const char *fields, const char *part, const char *want) {
    json_t *answer = embed(fields), *expected = json_loads(want, 0, NULL);
    char *got = json_dumps(json_object_get(answer, part), JSON_COMPACT);
    cr_expect(json_equal(json_object_get(answer, part), expected), "%s: %s is %s", fields, part, got ? got : "absent");
    free(got);
    json_decref(expected);
    json_decref(answer);
}

Test(tokens, white_space) {
    static const struct {
        const char *text;
        size_t size;
    } spaces[] = {{" ", 1},
                  {"\t", 1},
                  {"\n", 1},
                  {"\x0b", 1},
                  {"\x0c", 1},
                  {"\r", 1},
                  {"\x1c", 1},
                  {"\x1d", 1},
                  {"\x1e", 1},
                  {"\x1f", 1},
                  {"\xc2\x85", 2},
                  {"\xc2\xa0", 2},
                  {"\xe1\x9a\x80", 3},
                  {"\xe2\x80\x80", 3},
                  {"\xe2\x80\x8a", 3},
                  {"\xe2\x80\xa8", 3},
                  {"\xe2\x80\xa9", 3},
                  {"\xe2\x80\xaf", 3},
                  {"\xe2\x81\x9f", 3},
                  {"\xe3\x80\x80", 3},
                  /* not white space: a letter, \x1b, zero-width space, word joiner, byte order mark, cut characters */
                  {"a", 0},
                  {"\x1b", 0},
                  {"\xe2\x80\x8b", 0},
                  {"\xe2\x81\xa0", 0},
                  {"\xef\xbb\xbf", 0},
                  {"\xc2", 0},
                  {"\xe2\x80", 0},
                  {"\xe3", 0},
                  {"", 0}};
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
        cr_expect_eq(api_space_size(spaces[i].text), spaces[i].size, "row %zu", i);
}

Test(tokens, texts_to_ids) {
    expect_part("\"texts\":[\"a b\",\"b  c a\"]", "ids", "[[1,2,0],[2,3,1]]");
    expect_part("\"texts\":[\"a b\",\"b  c a\"]", "pad_mask", "[[false,false,true],[false,false,false]]");
    expect_part("\"texts\":[\"a b\",\"b  c a\"]", "vocab", "{\"<pad>\":0,\"a\":1,\"b\":2,\"c\":3}");
    expect_part("\"texts\":[\"a\xe3\x80\x80"
                "b\xc2\xa0\\t c \"]",
                "ids", "[[1,2,3]]");
    expect_part("\"texts\":[\"a\",\"\"]", "ids", "[[1],[0]]");
    expect_part("\"texts\":[\"a <pad> b\"]", "ids", "[[1,0,2]]");
    expect_part("\"texts\":[\"a PAD\"],\"pad_token\":\"PAD\"", "vocab", "{\"PAD\":0,\"a\":1}");
    expect_part("\"texts\":[\"A a \\u0041\"]", "ids", "[[1,2,1]]");
}

Test(tokens, lengths) {
    expect_part("\"texts\":[\"a b\",\"c d e\"],\"max_length\":2", "ids", "[[1,2],[3,4]]");
    expect_part("\"texts\":[\"a b\",\"c d e\"],\"max_length\":4", "ids", "[[1,2,0,0],[3,4,5,0]]");
    expect_part("\"texts\":[\"a b\",\"c d e\"],\"max_length\":2", "vocab",
                "{\"<pad>\":0,\"a\":1,\"b\":2,\"c\":3,\"d\":4,\"e\":5}");
    expect_part("\"ids\":[5,6,7],\"max_length\":2", "ids", "[5,6]");
    expect_part("\"ids\":[[5,6],[7,8]],\"max_length\":3,\"pad_id\":9", "ids", "[[5,6,9],[7,8,9]]");
    expect_part("\"ids\":[[5,6],[7,8]],\"max_length\":3,\"pad_id\":9", "pad_mask",
                "[[false,false,true],[false,false,true]]");
    expect_part("\"texts\":[\"\"],\"max_length\":2", "ids", "[[0,0]]");
}

Test(tokens, given_vocabulary) {
    expect_part("\"texts\":[\"a b\"],\"vocab\":{\"b\":4,\"a\":2}", "ids", "[[2,4]]");
    expect_part("\"texts\":[\"a b\"],\"vocab\":{\"b\":4,\"a\":2}", "vocab", "{\"b\":4,\"a\":2}");
    expect_part("\"texts\":[\"a\",\"a b\"],\"vocab\":{\"b\":4,\"a\":2,\"#\":7},\"pad_token\":\"#\"", "ids",
                "[[2,7],[2,4]]");
    expect_part("\"texts\":[\"a\",\"a b\"],\"vocab\":{\"b\":4,\"a\":2},\"pad_id\":5", "ids", "[[2,5],[2,4]]");
    /* 2.0 is an integer too, and so is every id of a request that has some number beyond 64 bits. */
    expect_part("\"texts\":[\"a b\"],\"vocab\":{\"b\":4.0,\"a\":2e0}", "vocab", "{\"b\":4,\"a\":2}");
    expect_part("\"texts\":[\"a b\"],\"vocab\":{\"b\":4,\"a\":2},\"scale\":18446744073709551616,\"return\":[\"ids\"]",
                "ids", "[[2,4]]");
}

Test(tokens, padding_of_ids) {
    expect_part("\"ids\":[0,3,0]", "pad_mask", "[true,false,true]");
    expect_part("\"ids\":[0,3,0],\"pad_id\":3", "pad_mask", "[false,true,false]");
    expect_part("\"ids\":[0,3,0],\"pad_id\":null", "pad_mask", "[false,false,false]");
}

/* Padding that tokens make becomes attention's padding mask, and a draw may fill "tokens.table". */
Test(tokens, inside_attention) {
    struct call answer =
        call("POST", "/attention",
             "{\"tokens\":{\"texts\":[\"a b\",\"c\"]},\"random\":{\"seed\":0,\"draws\":[{\"into\":"
             "[\"tokens.table\"],\"shape\":[\"vocab\",4]}]},\"return\":[\"weights\"],\"checks\":false}");
    cr_assert_eq(answer.response.status, 200, "%s", answer.response.body);
    json_t *second = json_array_get(json_object_get(answer.json, "weights"), 1);
    cr_expect_eq(json_array_size(second), 2u);
    for (size_t i = 0; i < 2; i++) {
        cr_expect_eq(json_number_value(json_array_get(json_array_get(second, i), 0)), 1.0);
        cr_expect_eq(json_number_value(json_array_get(json_array_get(second, i), 1)), 0.0);
    }
    call_free(&answer);
}

Test(tokens, refusals_inside_attention) {
    static const struct {
        const char *body, *code, *pointer;
    } cases[] = {
        {"{\"tokens\":{\"ids\":[9],\"table\":[[1,2]]}}", "id_out_of_range", "/tokens/ids/0"},
        {"{\"tokens\":{\"ids\":[0]}}", "missing_field", "/tokens/table"},
        {"{\"tokens\":{\"ids\":[0],\"Table\":[[1]]}}", "unknown_field", "/tokens/Table"},
        {"{\"tokens\":{\"table\":[[1]]}}", "missing_field", "/tokens/ids"},
        {"{\"tokens\":{\"ids\":[0],\"table\":[[1],[2,3]]}}", "ragged", "/tokens/table/1"},
        {"{\"tokens\":[0]}", "wrong_type", "/tokens"},
        {"{\"x\":[[1]],\"random\":{\"seed\":0,\"draws\":[{\"into\":[\"tokens.table\"],\"shape\":[2,2]}]}}",
         "missing_field", "/random/draws/0/into/0"},
        {"{\"tokens\":{\"ids\":[0]},\"random\":{\"seed\":0,\"draws\":[{\"into\":[\"tokens.tabl\"],\"shape\":[2,2]}]}}",
         "unknown_field", "/random/draws/0/into/0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct call answer = call("POST", "/attention", cases[i].body);
        const char *pointer = json_string_value(json_object_get(answer.json, "pointer"));
        cr_expect_eq(answer.response.status, 422, "%s", cases[i].body);
        cr_expect_str_eq(answer.response.code ? answer.response.code : "", cases[i].code, "%s: %s", cases[i].body,
                         answer.response.body);
        cr_expect_str_eq(pointer ? pointer : "", cases[i].pointer, "%s", cases[i].body);
        call_free(&answer);
    }
}
