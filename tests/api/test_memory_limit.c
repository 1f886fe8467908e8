/* test_memory_limit.c - the limit of memory falls at every place where it can.
 *
 * With every limit from 64 bytes on, in steps of what the arena hands out, a request is answered as without a limit or
 * refused with 413: memory_limit, or answer_too_large where only the text of the answer does not fit. Never is it
 * called the system's fault (503), and once a limit suffices every larger one does.
 */
#include "tests/api/call.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEP = 64, MOST_BYTES = 4 << 20 };

static bool is_refused(const struct call *got) {
    const char *code = got->response.code;
    return got->response.status == 413 && json_is_string(json_object_get(got->json, "detail")) &&
           (strcmp(code, "memory_limit") == 0 || strcmp(code, "answer_too_large") == 0);
}

/* Returns how many limits were refused. */
static size_t sweep(const char *path, const char *body) {
    struct api_env env = {.limits = {0}};
    struct call good = call_bytes(&env, "POST", path, body, strlen(body));
    cr_assert_eq(good.response.status, 200, "%s", good.response.body);
    size_t refused = 0, answered = 0;
    for (env.limits.memory_bytes = STEP; answered < 100; env.limits.memory_bytes += STEP) {
        struct call got = call_bytes(&env, "POST", path, body, strlen(body));
        bool same = got.response.status == 200 && got.response.body_size == good.response.body_size &&
                    memcmp(got.response.body, good.response.body, good.response.body_size) == 0;
        cr_assert(same || (!answered && is_refused(&got)), "%s: %zu bytes: %d %.300s", path, env.limits.memory_bytes,
                  got.response.status, got.response.body);
        refused += !same;
        answered += same;
        call_free(&got);
        cr_assert_lt(env.limits.memory_bytes, (size_t)MOST_BYTES);
    }
    call_free(&good);
    return refused;
}

Test(memory_limit, attention) {
    cr_expect_gt(sweep("/attention", "{\"x\":[[1,2],[3,4],[5,6]],\"causal\":true,\"wq\":[[1,0],[0,1]]}"), 10u);
    cr_expect_gt(sweep("/mha",
                       "{\"random\":{\"seed\":1,\"draws\":[{\"into\":[\"x\"],\"shape\":[3,4]},{\"into\":[\"wq\","
                       "\"wk\",\"wv\",\"wo\"],\"shape\":[4,4]}]},\"num_heads\":2,\"trace\":true}"),
                 10u);
}

/* Words: more than one block of the pool that strings and members come from, and one that has no room in a block. */
Test(memory_limit, words) {
    enum { WORDS = 100, LONG_WORD = 3000 };
    char *body = malloc((size_t)WORDS * 16 + LONG_WORD + 200), *out = body;
    out += sprintf(out, "{\"texts\":[\"");
    for (int i = 0; i < WORDS; i++)
        out += sprintf(out, "word%d ", i);
    memset(out, 'x', LONG_WORD);
    out += LONG_WORD;
    sprintf(out, "\"],\"random\":{\"seed\":0,\"draws\":[{\"into\":[\"table\"],\"shape\":[\"vocab\",2]}]}}");
    cr_expect_gt(sweep("/embed", body), (size_t)(2 * LONG_WORD / STEP));
    free(body);
}

/* Ids written as 0.0 are replaced by integers, which take memory of their own. */
Test(memory_limit, ids_of_words) {
    enum { WORDS = 200 };
    char *body = malloc((size_t)WORDS * 24 + 200), *out = body;
    out += sprintf(out, "{\"texts\":[\"word0\"],\"table\":{\"eye\":%d},\"vocab\":{", WORDS);
    for (int i = 0; i < WORDS; i++)
        out += sprintf(out, "%s\"word%d\":%d.0", i ? "," : "", i, i);
    sprintf(out, "}}");
    cr_expect_gt(sweep("/embed", body), 10u);
    free(body);
}

/* A request in a request, whose answer is read again. */
Test(memory_limit, check) {
    static const char body[] =
        "{\"endpoint\":\"attention\",\"request\":{\"tokens\":{\"texts\":[\"a b\",\"b\"]},"
        "\"random\":{\"seed\":1,\"draws\":[{\"into\":[\"tokens.table\"],\"shape\":[\"vocab\",2]}]}},"
        "\"answer\":{\"weights\":[[[0.5,0.5],[0.5,0.5]],[[1,0],[1,0]]],"
        "\"output\":{\"shape\":[2,2,2],\"data\":[1,2,3,4,5,6,7,\"NaN\"]}}}";
    cr_expect_gt(sweep("/check", body), 10u);
}
