/* test_check.c - POST /check: right answers pass, wrong ones are found where they are wrong. */
#include "tests/api/call.h"
#include "tests/api/golden.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sends {"endpoint", "request", "answer"} plus `more` members. */
static struct call check(const char *endpoint, const char *request, const char *answer, const char *more) {
    size_t size = strlen(request) + strlen(answer) + 256;
    char *body = malloc(size);
    snprintf(body, size, "{\"endpoint\":\"%s\",\"request\":%s,\"answer\":%s%s}", endpoint, request, answer, more);
    struct call got = call("POST", "/check", body);
    free(body);
    return got;
}

static const json_t *at(const json_t *json, const char *a, const char *b, const char *c) {
    json = json_object_get(json, a);
    json = b ? json_object_get(json, b) : json;
    return c ? json_object_get(json, c) : json;
}

/* Single precision is right to 1e-6 of the row's largest magnitude, which a small number in that row may miss. */
#define SINGLE ",\"rtol\":1e-3,\"atol\":1e-4"

/* The expected arrays that can be checked, as the client would send them. A new reference. */
static json_t *arrays_of(const json_t *expected) {
    static const char *const names[] = {"output", "weights",  "scores",  "masked_scores", "logsumexp",
                                        "ids",    "pad_mask", "nearest", "heads"};
    json_t *arrays = json_object();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (json_is_array(json_object_get(expected, names[i])))
            json_object_set(arrays, names[i], json_object_get(expected, names[i]));
    return arrays;
}

/* Rounded answers are not the computed ones; a NaN is never right, and as a bare word it is not JSON. */
static bool is_comparable(const struct golden *golden) {
    return !strstr(golden->request, "\"round\"") && !strstr(golden->request, "NaN") &&
           !strstr(golden->request, "nfinity");
}

/* What NumPy computed is right, in every golden case whose answer has arrays that can be checked. */
static void numpy_is_right(const struct golden *golden, void *arg) {
    unsigned *checked = arg;
    json_t *arrays = arrays_of(golden->expected);
    if (json_object_size(arrays) > 0 && is_comparable(golden)) {
        char *answer = json_dumps(arrays, JSON_REAL_PRECISION(17));
        struct call got =
            check(golden->path + 1, golden->request, answer, strstr(golden->request, "float32") ? SINGLE : "");
        cr_expect(json_is_true(json_object_get(got.json, "passed")), "%s: %.300s", golden->name, got.response.body);
        (*checked)++;
        call_free(&got);
        free(answer);
    }
    json_decref(arrays);
}

Test(check, numpys_answers_pass, .timeout = 120) {
    unsigned checked = 0;
    golden_each(numpy_is_right, &checked);
    cr_assert_gt(checked, 200u);
}

#define CAUSAL "{\"x\":{\"eye\":2},\"scale\":1,\"causal\":true}"

/* Weights that look ahead: found by the comparison and by the check of causality. */
Test(check, future_is_seen) {
    struct call got =
        check("attention", CAUSAL, "{\"weights\":[[0.731059,0.268941],[0.268941,0.731059]]}", ",\"atol\":1e-6");
    cr_assert_eq(got.response.status, 200, "%s", got.response.body);
    cr_expect(json_is_false(at(got.json, "passed", NULL, NULL)));
    cr_expect(json_is_false(at(got.json, "checks", "ok", NULL)));
    cr_expect(json_is_true(at(got.json, "checks", "normalization", "holds")));
    cr_expect(json_is_false(at(got.json, "checks", "causality", "holds")));
    cr_expect_eq(json_real_value(at(got.json, "checks", "causality", "max_future_weight")), 0.268941);
    const json_t *first = at(got.json, "arrays", "weights", "first_mismatch");
    cr_expect_eq(json_number_value(json_object_get(first, "expected")), 1.0);
    cr_expect_eq(json_number_value(json_object_get(first, "got")), 0.731059);
    call_free(&got);
}

Test(check, rows_that_do_not_sum_to_one) {
    struct call got = check("attention", CAUSAL, "{\"weights\":[[1,0],[0.5,0.25]]}", "");
    cr_expect(json_is_false(at(got.json, "checks", "normalization", "holds")));
    cr_expect_eq(json_number_value(at(got.json, "checks", "normalization", "max_abs_error")), 0.25);
    cr_expect(json_is_true(at(got.json, "checks", "causality", "holds")));
    call_free(&got);
}

Test(check, non_finite_answers) {
    struct call got = check("attention", CAUSAL,
                            "{\"weights\":[[1,0],[\"NaN\",0.25]],\"output\":[[1,0],[0.26894142137,\"Infinity\"]]}", "");
    cr_assert_eq(got.response.status, 200, "%s", got.response.body);
    cr_expect(json_is_false(at(got.json, "checks", "finite", "holds")));
    cr_expect(json_is_false(at(got.json, "arrays", "weights", "passed")));
    cr_expect_str_eq(json_string_value(at(got.json, "arrays", "weights", "max_abs_error")), "NaN");
    cr_expect_str_eq(json_string_value(at(got.json, "arrays", "output", "max_abs_error")), "Infinity");
    cr_expect_str_eq(json_string_value(json_object_get(at(got.json, "arrays", "output", "first_mismatch"), "got")),
                     "Infinity");
    call_free(&got);
}

/* Magnitudes that are written as integers longer than any integer type. */
Test(check, large_numbers) {
    struct call got = check(
        "attention", "{\"q\":{\"eye\":2},\"k\":{\"eye\":2},\"v\":[[200000000000000000000],[200000000000000000000]]}",
        "{\"output\":[[200000000000000000000],[2e20]],\"weights\":[[300000000000000000000,0],[0,1]]}", "");
    cr_assert_eq(got.response.status, 200, "%s", got.response.body);
    cr_expect(strstr(got.response.body, "\"max_abs_error\":300000000000000000000"), "%s", got.response.body);
    call_free(&got);
}

Test(check, tolerances) {
    static const struct {
        const char *answer, *more;
        bool passed;
    } cases[] = {{"{\"output\":[[1,0],[0.2689414213699951,0.7310585786300049]]}", "", true},
                 {"{\"output\":[[1,0],[0.26894,0.73106]]}", "", true},
                 {"{\"output\":[[1,0],[0.269,0.731]]}", "", false},
                 {"{\"output\":[[1,0],[0.269,0.731]]}", ",\"rtol\":1e-3", true},
                 {"{\"output\":[[1,1e-9],[0.26894,0.73106]]}", "", true},
                 {"{\"output\":[[1,1e-7],[0.26894,0.73106]]}", "", false},
                 {"{\"output\":[[1,0],[0.26894,0.73106]]}", ",\"rtol\":0,\"atol\":0", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct call got = check("attention", CAUSAL, cases[i].answer, cases[i].more);
        cr_expect_eq(json_is_true(at(got.json, "passed", NULL, NULL)), cases[i].passed, "row %zu: %s", i,
                     got.response.body);
        cr_expect_null(at(got.json, "checks", NULL, NULL));
        call_free(&got);
    }
}

/* An answer in any form that a tensor has. */
Test(check, forms_of_an_answer) {
    struct call got = check("attention", "{\"x\":{\"eye\":2},\"scale\":100,\"causal\":true}",
                            "{\"weights\":{\"eye\":2},\"output\":{\"shape\":[2,2],\"data\":[1,0,0,1]}}", "");
    cr_expect(json_is_true(at(got.json, "passed", NULL, NULL)), "%s", got.response.body);
    cr_expect(json_is_true(at(got.json, "checks", "ok", NULL)));
    call_free(&got);
}

/* Masks and ids are compared as 0 and 1, and as numbers. */
Test(check, masks_and_ids) {
    static const char request[] = "{\"ids\":[0,1],\"max_length\":3,\"table\":[[1],[2]]}";
    struct call got = check("embed", request, "{\"pad_mask\":[true,false,true],\"ids\":[0,1,0]}", "");
    cr_expect(json_is_true(at(got.json, "passed", NULL, NULL)), "%s", got.response.body);
    call_free(&got);
    got = check("embed", request, "{\"pad_mask\":[true,false,false],\"ids\":[0,1,1]}", "");
    cr_expect(json_is_false(at(got.json, "passed", NULL, NULL)));
    cr_expect_eq(json_number_value(at(got.json, "arrays", "pad_mask", "max_abs_error")), 1.0);
    cr_expect_eq(json_number_value(at(at(got.json, "arrays", "pad_mask", NULL), "first_mismatch", "expected", NULL)),
                 1.0);
    cr_expect_eq(json_number_value(at(got.json, "arrays", "ids", "max_abs_error")), 1.0);
    call_free(&got);
}

Test(check, other_shape) {
    struct call got = check("attention", CAUSAL, "{\"weights\":[[[1,0],[0.5,0.5]]]}", "");
    cr_assert_eq(got.response.status, 200);
    cr_expect(json_is_false(at(got.json, "passed", NULL, NULL)));
    cr_expect_null(at(got.json, "arrays", "weights", "max_abs_error"));
    cr_expect_eq(json_array_size(at(got.json, "arrays", "weights", "got_shape")), 3u);
    cr_expect_eq(json_array_size(at(got.json, "arrays", "weights", "expected_shape")), 2u);
    call_free(&got);
}

/* Digits, traces and choices of the inner request do not get in the way. */
Test(check, presentation_is_left_out) {
    struct call got = check(
        "attention",
        "{\"x\":{\"eye\":2},\"scale\":1,\"causal\":true,\"round\":0,\"trace\":true,\"checks\":false,\"return\":[]}",
        "{\"weights\":[[1,0],[0.26894142137,0.73105857863]]}", "");
    cr_expect(json_is_true(at(got.json, "passed", NULL, NULL)), "%s", got.response.body);
    cr_expect(json_is_true(at(got.json, "checks", "ok", NULL)));
    call_free(&got);
}

Test(check, refusals) {
    static const struct {
        const char *endpoint, *request, *answer, *more;
        int status;
        const char *code, *pointer;
    } cases[] = {
        {"attend", CAUSAL, "{\"output\":[[1]]}", "", 422, "unknown_choice", "/endpoint"},
        {"attention", "[1]", "{\"output\":[[1]]}", "", 422, "wrong_type", "/request"},
        {"attention", CAUSAL, "[[1]]", "", 422, "wrong_type", "/answer"},
        {"attention", CAUSAL, "{}", "", 422, "missing_field", "/answer"},
        {"attention", CAUSAL, "{\"weight\":[[1]]}", "", 422, "unknown_field", "/answer/weight"},
        {"attention", CAUSAL, "{\"weights\":3}", "", 422, "wrong_type", "/answer/weights"},
        {"attention", CAUSAL, "{\"weights\":[[1,0],[1]]}", "", 422, "ragged", "/answer/weights/1"},
        {"attention", CAUSAL, "{\"weights\":[[1,0],[1,true]]}", "", 422, "wrong_type", "/answer/weights/1/1"},
        {"embed", CAUSAL, "{\"vocab\":{}}", "", 422, "unknown_field", "/answer/vocab"},
        {"attention", CAUSAL, "{\"output\":[[1]]}", ",\"rtol\":-1", 422, "bad_value", "/rtol"},
        {"attention", CAUSAL, "{\"output\":[[1]]}", ",\"atol\":-1", 422, "bad_value", "/atol"},
        {"attention", "{\"X\":[[1]]}", "{\"output\":[[1]]}", "", 422, "unknown_field", "/request/X"},
        {"attention", "{\"x\":[[1],[2,3]]}", "{\"output\":[[1]]}", "", 422, "ragged", "/request/x/1"},
        {"embed", "{\"ids\":[7],\"table\":[[1]]}", "{\"output\":[[1]]}", "", 422, "id_out_of_range", "/request/ids/0"},
        {"lookup", "{\"keys\":{\"eye\":2},\"values\":[[1],[2]],\"sharpness\":[1,2]}", "{\"output\":[[1]]}", "", 422,
         "bad_value", "/request"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct call got = check(cases[i].endpoint, cases[i].request, cases[i].answer, cases[i].more);
        const char *pointer = json_string_value(json_object_get(got.json, "pointer"));
        cr_expect_eq(got.response.status, cases[i].status, "row %zu: %s", i, got.response.body);
        cr_expect_str_eq(got.response.code ? got.response.code : "", cases[i].code, "row %zu: %s", i,
                         got.response.body);
        cr_expect_str_eq(pointer ? pointer : "", cases[i].pointer, "row %zu", i);
        call_free(&got);
    }
}

/* The list names every file of api/examples; each is served as it is and answered by its endpoint. */
Test(examples, all_are_listed_and_answered) {
    struct call list = call("GET", "/examples", NULL);
    json_t *examples = json_object_get(list.json, "examples"), *example;
    size_t i, files = 0;
    json_array_foreach(examples, i, example) {
        char path[256];
        const char *name = json_string_value(json_object_get(example, "name")),
                   *endpoint = json_string_value(json_object_get(example, "endpoint"));
        snprintf(path, sizeof path, "/examples/%s", name);
        struct call request = call("GET", path, NULL);
        snprintf(path, sizeof path, "api/examples/%s.json", name);
        char *file = read_file(path, NULL);
        cr_assert(file, "%s", path);
        json_t *same = json_loads(file, 0, NULL);
        cr_expect(same && json_equal(same, request.json), "%s", name);
        struct call answer = call("POST", endpoint, file);
        cr_expect_eq(answer.response.status, 200, "%s: %s", name, answer.response.body);
        json_decref(same);
        free(file);
        call_free(&answer);
        call_free(&request);
    }
    DIR *folder = opendir("api/examples");
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
        files += strstr(entry->d_name, ".json") != NULL;
    closedir(folder);
    cr_expect_eq(json_array_size(examples), files);
    call_free(&list);
    struct call missing = call("GET", "/examples/mha", NULL);
    cr_expect_eq(missing.response.status, 404);
    call_free(&missing);
}
