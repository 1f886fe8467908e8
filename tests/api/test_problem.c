/* test_problem.c - the table of problems, and the documents made of it. */
#include "api/problem.h"
#include "tests/api/call.h"

#include <criterion/criterion.h>
#include <ctype.h>
#include <string.h>

static const char *text(const json_t *json, const char *key) {
    const char *value = json_string_value(json_object_get(json, key));
    return value ? value : "(none)";
}

Test(problem, table_is_sound) {
    size_t n = 0;
    for (const struct api_problem_type *row; (row = api_problem_at(n)) != NULL; n++) {
        for (const char *c = row->code; *c; c++)
            cr_expect(islower((unsigned char)*c) || *c == '_', "%s", row->code);
        cr_expect(row->status >= 400 && row->status < 600, "%s", row->code);
        cr_expect(isupper((unsigned char)row->title[0]) && row->title[strlen(row->title) - 1] != '.', "%s", row->code);
        cr_expect_eq(row->meaning[strlen(row->meaning) - 1], '.', "%s", row->code);
        cr_expect_eq(api_problem_find(row->code), row, "%s stands twice", row->code);
    }
    cr_assert_gt(n, 40u);
    cr_assert_null(api_problem_find("no_such_code"));
}

/* Codes that the server asks for by name. */
Test(problem, server_codes) {
    static const struct {
        const char *code;
        int status;
    } wanted[] = {{"bad_request", 400},
                  {"unauthorized", 401},
                  {"not_found", 404},
                  {"method_not_allowed", 405},
                  {"not_acceptable", 406},
                  {"timeout", 408},
                  {"length_required", 411},
                  {"body_too_large", 413},
                  {"uri_too_long", 414},
                  {"unsupported_media_type", 415},
                  {"unsupported_encoding", 415},
                  {"expectation_failed", 417},
                  {"rate_limited", 429},
                  {"headers_too_large", 431},
                  {"internal", 500},
                  {"not_implemented", 501},
                  {"busy", 503},
                  {"memory_budget", 503},
                  {"shutting_down", 503},
                  {"deadline", 503},
                  {"too_many_connections", 503},
                  {"stopped", 503},
                  {"http_version", 505}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        struct api_response response;
        api_problem_response(&response, wanted[i].code, NULL, NULL);
        cr_expect_eq(response.status, wanted[i].status, "%s", wanted[i].code);
        cr_expect_str_eq(response.code, wanted[i].code);
        cr_expect_str_eq(response.content_type, "application/problem+json");
        cr_expect_eq(response.retry_after_s > 0, response.status == 429 || response.status == 503, "%s",
                     wanted[i].code);
        json_t *json = json_loadb(response.body, response.body_size, 0, NULL);
        cr_expect_str_eq(text(json, "detail"), api_problem_find(wanted[i].code)->meaning);
        json_decref(json);
        api_response_free(&response);
    }
}

Test(problem, document) {
    struct api_problem problem = {.code = "ragged",
                                  .pointer = "/x/1",
                                  .detail = "a \"quoted\" \\ \n detail with \xc3\xa7 and \x01",
                                  .expected = "3",
                                  .got = "2",
                                  .hint = "count",
                                  .line = 4,
                                  .column = 2};
    struct api_response response = {0};
    api_problem_write(&problem, &response);
    json_t *json = json_loadb(response.body, response.body_size, 0, NULL);
    cr_assert(json);
    cr_expect_str_eq(text(json, "type"), "/problems#ragged");
    cr_expect_str_eq(text(json, "title"), "Ragged rows");
    cr_expect_eq(json_integer_value(json_object_get(json, "status")), 422);
    cr_expect_str_eq(text(json, "detail"), problem.detail);
    cr_expect_str_eq(text(json, "error"), problem.detail);
    cr_expect_str_eq(text(json, "pointer"), "/x/1");
    cr_expect_str_eq(text(json, "expected"), "3");
    cr_expect_str_eq(text(json, "got"), "2");
    cr_expect_str_eq(text(json, "hint"), "count");
    cr_expect_eq(json_integer_value(json_object_get(json, "line")), 4);
    cr_expect_eq(json_integer_value(json_object_get(json, "column")), 2);
    json_decref(json);
    api_response_free(&response);
}

Test(problem, unknown_code_is_internal) {
    struct api_response response;
    api_problem_response(&response, "no_such_code", "x", NULL);
    cr_expect_eq(response.status, 500);
    cr_expect_str_eq(response.code, "internal");
    api_response_free(&response);
}
