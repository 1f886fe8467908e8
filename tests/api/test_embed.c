/* test_embed.c - POST /embed as a caller sees it: the whole answer, byte for byte. */
#include "tests/api/call.h"

#include <criterion/criterion.h>
#include <string.h>

#define TABLE "\"table\":[[1,2],[3,4],[5,6]]"

static void expect(const char *body, const char *answer) {
    struct call got = call("POST", "/embed", body);
    cr_expect_eq(got.response.status, 200);
    cr_expect_str_eq(got.response.body, answer);
    call_free(&got);
}

Test(embed_endpoint, answers) {
    expect("{\"ids\":[2,0]," TABLE "}", "{\"output\":[[5,6],[1,2]],\"ids\":[2,0],\"pad_mask\":[false,true],"
                                        "\"shapes\":{\"output\":[2,2],\"ids\":[2],\"pad_mask\":[2]}}\n");
    expect("{\"ids\":[[2],[1]]," TABLE ",\"return\":[\"output\"]}",
           "{\"output\":[[[5,6]],[[3,4]]],\"shapes\":{\"output\":[2,1,2]}}\n");
    expect("{\"ids\":[1]," TABLE ",\"scale\":-0.5,\"return\":[\"output\"]}",
           "{\"output\":[[-1.5,-2]],\"shapes\":{\"output\":[1,2]}}\n");
    expect("{\"ids\":[1]," TABLE ",\"positions\":\"none\",\"return\":[\"output\"]}",
           "{\"output\":[[3,4]],\"shapes\":{\"output\":[1,2]}}\n");
    expect("{\"ids\":[1]," TABLE ",\"positions\":[[10,0.5]],\"scale\":2,\"return\":[\"output\"]}",
           "{\"output\":[[16,8.5]],\"shapes\":{\"output\":[1,2]}}\n");
    expect("{\"ids\":[1]," TABLE ",\"positions\":\"sinusoidal\",\"return\":[\"output\"]}",
           "{\"output\":[[3,5]],\"shapes\":{\"output\":[1,2]}}\n");
    expect("{\"ids\":[0],\"table\":[[0.1,2.25]],\"dtype\":\"float32\",\"return\":[\"output\"]}",
           "{\"output\":[[0.1,2.25]],\"shapes\":{\"output\":[1,2]}}\n");
    expect("{\"ids\":[0],\"table\":[[0.123456,2.25]],\"round\":3,\"return\":[\"output\"]}",
           "{\"output\":[[0.123,2.25]],\"shapes\":{\"output\":[1,2]}}\n");
    expect("{\"ids\":[0],\"table\":[[0.123456]],\"round\":null,\"return\":[\"output\"]}",
           "{\"output\":[[0.123456]],\"shapes\":{\"output\":[1,1]}}\n");
    expect("{\"ids\":[0]," TABLE ",\"return\":[]}", "{\"shapes\":{}}\n");
    expect("{\"texts\":[\"a \\\"b\\\"\"]," TABLE ",\"return\":[\"vocab\",\"ids\"]}",
           "{\"ids\":[[1,2]],\"shapes\":{\"ids\":[1,2]},\"vocab\":{\"<pad>\":0,\"a\":1,\"\\\"b\\\"\":2}}\n");
}

/* The row of a padding id is returned as it is. */
Test(embed_endpoint, padding_row) {
    expect("{\"ids\":[[1,0]]," TABLE ",\"return\":[\"output\",\"pad_mask\"]}",
           "{\"output\":[[[3,4],[1,2]]],\"pad_mask\":[[false,true]],\"shapes\":{\"output\":[1,2,2],\"pad_mask\":[1,2]}}"
           "\n");
}

Test(embed_endpoint, shape_for_logs) {
    struct call got = call("POST", "/embed", "{\"ids\":[[2,0,1]]," TABLE "}");
    cr_expect_str_eq(got.response.shape, "b1 n3 d2");
    cr_expect_str_eq(got.response.route, "/embed");
    cr_expect_eq(got.response.numbers_in, 9u);
    call_free(&got);
}
