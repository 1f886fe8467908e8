/* test_bind.c - every form a value may have in JSON arrives as the same bound value.
 *
 * Seen through /embed: its table comes back as its output.
 */
#include "api/bind.h"
#include "api/envelope.h"
#include "tests/api/call.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static void expect_output(const char *table, const char *output) {
    char body[1024];
    snprintf(body, sizeof body, "{\"ids\":[0,1],\"table\":%s,\"return\":[\"output\"]}", table);
    struct call answer = call("POST", "/embed", body);
    const json_t *got = json_object_get(answer.json, "output");
    json_t *want = json_loads(output, 0, NULL);
    cr_expect(want && json_equal(got, want), "%s: %s", body, answer.response.body);
    json_decref(want);
    call_free(&answer);
}

Test(bind, forms_of_a_tensor) {
    expect_output("[[1,2],[3,4]]", "[[1,2],[3,4]]");
    expect_output("[[1.0,2e0],[30e-1,4]]", "[[1,2],[3,4]]");
    expect_output("{\"shape\":[2,2],\"data\":[1,2,3,4]}", "[[1,2],[3,4]]");
    expect_output("{\"data\":[1,2,3,4],\"shape\":[2.0,2]}", "[[1,2],[3,4]]");
    expect_output("{\"eye\":2}", "[[1,0],[0,1]]");
    expect_output("{\"eye\":3}", "[[1,0,0],[0,1,0]]");
    expect_output("[[1],[2]]", "[[1],[2]]");
    expect_output("[[1e308,-1e308],[5e-324,-0.5]]", "[[1e308,-1e308],[5e-324,-0.5]]");
}

/* As strings, as bare words, mixed with numbers, alone, alone in a row, and flat. */
Test(bind, non_finite_numbers) {
    expect_output("[[\"NaN\",2],[3,\"-Infinity\"]]", "[[\"NaN\",2],[3,\"-Infinity\"]]");
    expect_output("[[NaN,2],[-Infinity,Infinity]]", "[[\"NaN\",2],[\"-Infinity\",\"Infinity\"]]");
    expect_output("[[\"NaN\",\"Infinity\"],[\"NaN\",\"-Infinity\"]]",
                  "[[\"NaN\",\"Infinity\"],[\"NaN\",\"-Infinity\"]]");
    expect_output("[[\"NaN\",\"NaN\"],[1,2]]", "[[\"NaN\",\"NaN\"],[1,2]]");
    expect_output("[[1,2],[\"NaN\",\"NaN\"]]", "[[1,2],[\"NaN\",\"NaN\"]]");
    expect_output("[[\"NaN\"],[\"Infinity\"]]", "[[\"NaN\"],[\"Infinity\"]]");
    expect_output("{\"shape\":[2,1],\"data\":[\"NaN\",\"Infinity\"]}", "[[\"NaN\"],[\"Infinity\"]]");
    expect_output("{\"shape\":[2,1],\"data\":[\"NaN\",4]}", "[[\"NaN\"],[4]]");
}

/* struct bench - a job without an endpoint, for binding a table of our own. */
struct bench {
    struct api_env env;
    struct api_arena arena;
    struct api_problem problem;
    struct api_response response;
    struct api_lift lift;
    struct api_job job;
    struct api_value *values;
};

static const char *const words[] = {"low", "mid", "high", NULL};

static const struct api_field inner_rows[] = {{.name = "n", .accepts = API_INT, .flags = API_REQUIRED, .doc = "n."}};
static const struct api_table inner = {"Inner", inner_rows, 1};

enum { FLAG, COUNT, NUMBER, WORD, WORDS, STRINGS, MASK, WINDOW, PART, PARTS, EITHER, PAST, ROWS };

static const struct api_field rows[ROWS] = {
    [FLAG] = {.name = "flag", .accepts = API_BOOL, .flags = API_HAS_DEFAULT, .standard = 1, .doc = "."},
    [COUNT] = {.name = "count", .accepts = API_INT | API_NULL, .flags = API_HAS_DEFAULT, .standard = 7, .doc = "."},
    [NUMBER] = {.name = "number", .accepts = API_NUMBER, .flags = API_HAS_DEFAULT, .standard = 0.5, .doc = "."},
    [WORD] =
        {.name = "word", .accepts = API_CHOICE, .choices = words, .flags = API_HAS_DEFAULT, .standard = 2, .doc = "."},
    [WORDS] = {.name = "words", .accepts = API_CHOICES, .choices = words, .doc = "."},
    [STRINGS] = {.name = "strings", .accepts = API_STRINGS, .doc = "."},
    [MASK] = {.name = "mask", .accepts = API_MASK, .doc = "."},
    [WINDOW] = {.name = "window", .accepts = API_PAIR, .doc = "."},
    [PART] = {.name = "part", .accepts = API_OBJECT, .object = &inner, .doc = "."},
    [PARTS] = {.name = "parts", .accepts = API_LIST, .object = &inner, .doc = "."},
    [EITHER] = {.name = "either", .accepts = API_BOOL | API_NUMBER | API_TENSOR, .doc = "."},
    [PAST] = {.name = "past", .accepts = API_TENSOR, .flags = API_ALLOW_EMPTY, .doc = "."},
};
static const struct api_table table = {"Bench", rows, ROWS};

/* Binds text. Returns whether it was bound; release with done. */
static bool bind_text(struct bench *b, const char *text) {
    memset(b, 0, sizeof *b);
    b->env.limits = api_limits_default();
    api_arena_init(&b->arena, 1 << 20);
    b->job = (struct api_job){.env = &b->env, .arena = &b->arena, .problem = &b->problem, .response = &b->response};
    b->job.lift = &b->lift;
    api_envelope_begin(&b->arena);
    json_t *root = api_envelope_read(&b->job, text, strlen(text), &b->lift);
    return root && api_bind(&b->job, &table, root, "", &b->values);
}

static void done(struct bench *b) {
    api_envelope_end();
    api_arena_free(&b->arena);
}

Test(bind, defaults) {
    struct bench b;
    cr_assert(bind_text(&b, "{}"));
    for (size_t i = 0; i < ROWS; i++)
        cr_expect_eq(b.values[i].form, API_ABSENT);
    cr_expect(b.values[FLAG].boolean);
    cr_expect_eq(b.values[COUNT].integer, 7);
    cr_expect_eq(b.values[NUMBER].number, 0.5);
    cr_expect_eq(b.values[WORD].choice, 2u);
    done(&b);
    cr_assert(bind_text(&b, "{\"count\":null}"));
    cr_expect_eq(b.values[COUNT].form, API_NULL);
    cr_expect_eq(b.values[COUNT].integer, 7);
    done(&b);
}

Test(bind, scalars) {
    struct bench b;
    cr_assert(
        bind_text(&b, "{\"flag\":false,\"count\":-3,\"number\":2,\"word\":\"mid\",\"words\":[\"high\",\"low\"]}"));
    cr_expect(b.values[FLAG].form == API_BOOL && !b.values[FLAG].boolean);
    cr_expect(b.values[COUNT].form == API_INT && b.values[COUNT].integer == -3 && b.values[COUNT].number == -3);
    cr_expect(b.values[NUMBER].form == API_NUMBER && b.values[NUMBER].number == 2);
    cr_expect(b.values[WORD].form == API_CHOICE && b.values[WORD].choice == 1);
    cr_expect(b.values[WORDS].form == API_CHOICES && b.values[WORDS].chosen == 5);
    done(&b);
    cr_assert(bind_text(&b, "{\"count\":3.0,\"number\":-0.25,\"words\":[]}"));
    cr_expect(b.values[COUNT].form == API_INT && b.values[COUNT].integer == 3);
    cr_expect_eq(b.values[NUMBER].number, -0.25);
    cr_expect(b.values[WORDS].form == API_CHOICES && b.values[WORDS].chosen == 0);
    done(&b);
}

/* Integers that no int64_t holds are numbers all the same. */
Test(bind, large_integers) {
    struct bench b;
    cr_assert(bind_text(&b, "{\"number\":-100000000000000000000000,\"mask\":[true],\"past\":[[1,2]],\"count\":4}"));
    cr_expect_eq(b.values[NUMBER].number, -1e23);
    cr_expect_eq(b.values[COUNT].integer, 4);
    cr_expect_eq(b.values[PAST].tensor.shape[1], 2u);
    done(&b);
    cr_assert(bind_text(&b, "{\"count\":9223372036854775807}"));
    cr_expect_eq(b.values[COUNT].integer, INT64_MAX);
    done(&b);
    cr_assert_not(bind_text(&b, "{\"count\":9223372036854775808}"));
    cr_expect_str_eq(b.problem.code, "bad_value");
    done(&b);
    /* Beside such a number all are doubles, which do not tell 2^53 + 1 from 2^53. */
    cr_assert_not(bind_text(&b, "{\"number\":9223372036854775808,\"count\":9007199254740993}"));
    cr_expect_str_eq(b.problem.code, "bad_value");
    done(&b);
}

Test(bind, lists_and_objects) {
    struct bench b;
    cr_assert(bind_text(
        &b,
        "{\"strings\":[\"a\",\"\\u00e7\"],\"part\":{\"n\":3},\"parts\":[{\"n\":1},{\"n\":2}],\"window\":[2,null]}"));
    cr_expect(b.values[STRINGS].count == 2 && strcmp(b.values[STRINGS].strings[1], "\xc3\xa7") == 0);
    cr_expect_eq(b.values[PART].inner[0].integer, 3);
    cr_expect(b.values[PARTS].count == 2 && b.values[PARTS].list[1][0].integer == 2);
    cr_expect(b.values[WINDOW].pair[0] == 2 && b.values[WINDOW].pair[1] == API_PAIR_OPEN);
    done(&b);
    cr_assert(bind_text(&b, "{\"strings\":[],\"parts\":[],\"window\":[0,4]}"));
    cr_expect(b.values[STRINGS].form == API_STRINGS && b.values[STRINGS].count == 0);
    cr_expect(b.values[PARTS].form == API_LIST && b.values[PARTS].count == 0);
    cr_expect(b.values[WINDOW].pair[0] == 0 && b.values[WINDOW].pair[1] == 4);
    done(&b);
}

Test(bind, either_form) {
    static const struct {
        const char *text;
        enum api_form form;
    } cases[] = {
        {"true", API_BOOL}, {"2.5", API_NUMBER}, {"3", API_NUMBER}, {"[1,2]", API_TENSOR}, {"{\"eye\":2}", API_TENSOR}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[64];
        struct bench b;
        snprintf(text, sizeof text, "{\"either\":%s}", cases[i].text);
        cr_expect(bind_text(&b, text) && b.values[EITHER].form == cases[i].form, "%s", text);
        done(&b);
    }
}

Test(bind, masks) {
    struct bench b;
    cr_assert(bind_text(&b, "{\"mask\":[[true,false,true],[false,false,true]]}"));
    static const uint8_t want[] = {1, 0, 1, 0, 0, 1};
    cr_expect_eq(b.values[MASK].tensor.dtype, ATTN_BOOL);
    cr_expect(memcmp(b.values[MASK].tensor.data, want, 6) == 0);
    done(&b);
    cr_assert(bind_text(&b, "{\"mask\":{\"shape\":[3,2],\"data\":[true,false,true,false,false,true]}}"));
    cr_expect_eq(b.values[MASK].tensor.shape[0], 3u);
    cr_expect(memcmp(b.values[MASK].tensor.data, want, 6) == 0);
    done(&b);
    static const char *const numeric[] = {"[1,0]", "[[0,1],[1,1]]", "[true,1]", "{\"shape\":[2],\"data\":[1,0]}"};
    for (size_t i = 0; i < sizeof numeric / sizeof *numeric; i++) {
        char text[64];
        snprintf(text, sizeof text, "{\"mask\":%s}", numeric[i]);
        cr_expect_not(bind_text(&b, text), "%s", text);
        cr_expect_str_eq(b.problem.code, "numeric_mask", "%s", text);
        done(&b);
    }
}

Test(bind, empty_where_allowed) {
    struct bench b;
    cr_assert(bind_text(&b, "{\"past\":{\"shape\":[2,0,3],\"data\":[]}}"));
    cr_expect(b.values[PAST].tensor.rank == 3 && attn_tensor_count(&b.values[PAST].tensor) == 0);
    done(&b);
    cr_assert(bind_text(&b, "{\"past\":[[],[]]}"));
    cr_expect(b.values[PAST].tensor.rank == 2 && b.values[PAST].tensor.shape[0] == 2);
    done(&b);
}

Test(bind, pairs_out_of_domain) {
    static const struct {
        const char *text, *code, *pointer;
    } cases[] = {{"[-1,0]", "bad_value", "/window/0"},      {"[0,1.5]", "bad_value", "/window/1"},
                 {"[null,-1]", "bad_value", "/window/1"},   {"[1]", "wrong_type", "/window"},
                 {"[1,2,3]", "wrong_type", "/window"},      {"[null]", "wrong_type", "/window"},
                 {"[1,\"a\"]", "wrong_type", "/window/1"},  {"[[1,2]]", "wrong_type", "/window"},
                 {"[true,false]", "wrong_type", "/window"}, {"3", "wrong_type", "/window"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[64];
        struct bench b;
        snprintf(text, sizeof text, "{\"window\":%s}", cases[i].text);
        cr_expect_not(bind_text(&b, text), "%s", text);
        cr_expect_str_eq(b.problem.code, cases[i].code, "%s", text);
        cr_expect_str_eq(b.problem.pointer, cases[i].pointer, "%s", text);
        done(&b);
    }
}

Test(bind, cast_in_place) {
    double numbers[6] = {1, -2.5, 1e300, 0.1, -1e-300, (double)NAN};
    struct attn_tensor t = {.dtype = ATTN_F64, .rank = 2, .shape = {2, 3}, .data = numbers};
    api_cast(&t, ATTN_F64);
    cr_expect_eq(t.dtype, ATTN_F64);
    api_cast(&t, ATTN_F32);
    cr_expect_eq(t.dtype, ATTN_F32);
    float single[6];
    memcpy(single, numbers, sizeof single);
    cr_expect(single[0] == 1 && single[1] == -2.5f && isinf(single[2]) && single[3] == 0.1f && single[4] == 0);
    cr_expect(isnan(single[5]));
}
