/* check.c - POST /check: is a student's answer right? The request is computed, and the arrays of the answer that was
 * sent are compared with the computed ones by NumPy's rule of allclose; the checks of attention are measured on the
 * arrays sent.
 *
 * What `answer` may hold are the arrays that the endpoint's own `return` names: a table of fields like any other, so
 * that names, types and shapes are read and refused as everywhere.
 */
#include "api/check.h"

#include "api/bind.h"
#include "api/inner.h"
#include "core/compare.h"

#include <assert.h>
#include <string.h>

enum { CHECK_ENDPOINT, CHECK_REQUEST, CHECK_ANSWER, CHECK_RTOL, CHECK_ATOL, CHECK_FIELDS };

/* Routes without their slash. */
static const char *const endpoint_choices[] = {"embed", "attention", "mha", "lookup", NULL};

static const struct api_field fields[CHECK_FIELDS] = {
    [CHECK_ENDPOINT] = {.name = "endpoint",
                        .accepts = API_CHOICE,
                        .flags = API_REQUIRED,
                        .choices = endpoint_choices,
                        .doc = "Where the request would go."},
    [CHECK_REQUEST] = {.name = "request",
                       .accepts = API_MAP,
                       .flags = API_REQUIRED,
                       .doc = "What would be sent there."},
    [CHECK_ANSWER] = {.name = "answer",
                      .accepts = API_MAP,
                      .flags = API_REQUIRED,
                      .doc = "Arrays to be checked, by their names in the endpoint's answer."},
    [CHECK_RTOL] = {.name = "rtol",
                    .accepts = API_NUMBER,
                    .flags = API_HAS_DEFAULT,
                    .standard = 1e-5,
                    .doc = "Tolerance relative to the computed number."},
    [CHECK_ATOL] = {.name = "atol",
                    .accepts = API_NUMBER,
                    .flags = API_HAS_DEFAULT,
                    .standard = 1e-8,
                    .doc = "Absolute tolerance."},
};

const struct api_table api_check_table = {"CheckRequest", fields, CHECK_FIELDS};

/* struct verdict - on one array that was sent; `found` says nothing unless the shapes are the same. */
struct verdict {
    struct attn_tensor got, expected;
    bool same_shape;
    struct attn_comparison found;
};

/* struct check
 *
 *     arrays      a row for every array that the endpoint gives
 *     sent        [arrays.count] bound by these rows; absent: not sent
 *     verdicts    [arrays.count] on those that were sent
 */
struct check {
    struct api_job *job;
    const struct api_endpoint *endpoint;
    struct api_table arrays;
    struct api_value *sent;
    struct api_claim claim;
    struct api_inner inner;
    struct verdict *verdicts;
    bool passed;
};

static bool check_tolerances(struct api_job *job) {
    if (job->values[CHECK_RTOL].number < 0)
        return api_refuse(job, "bad_value", "/rtol", "`rtol` is a number from 0 on.");
    if (job->values[CHECK_ATOL].number < 0)
        return api_refuse(job, "bad_value", "/atol", "`atol` is a number from 0 on.");
    return true;
}

static const struct api_endpoint *find_endpoint(const char *choice) {
    size_t i = 0;
    while (strcmp(api_endpoint_at(i)->path + 1, choice) != 0)
        i++;
    return api_endpoint_at(i);
}

static struct api_field array_row(const char *name) {
    if (strcmp(name, "pad_mask") == 0)
        return (struct api_field){.name = name, .accepts = API_MASK};
    return (struct api_field){.name = name, .accepts = API_TENSOR, .flags = API_NO_DRAW};
}

static bool list_arrays(struct check *c) {
    const struct api_table *table = c->endpoint->table;
    const char *const *names = table->fields[api_field_find(table, "return")].choices;
    size_t most = 0, n = 0;
    while (names[most])
        most++;
    struct api_field *rows = api_take(c->job, most, sizeof *rows);
    for (size_t i = 0; rows && i < most; i++)
        if (strcmp(names[i], "vocab") != 0) /* an object */
            rows[n++] = array_row(names[i]);
    c->arrays = (struct api_table){.fields = rows, .count = n};
    return rows != NULL;
}

static bool was_sent(const struct check *c, size_t row) {
    return c->sent[row].form != API_ABSENT;
}

static const struct attn_tensor *find_sent(const struct check *c, const char *name) {
    size_t row = api_field_find(&c->arrays, name);
    return row < c->arrays.count && was_sent(c, row) ? &c->sent[row].tensor : NULL;
}

static bool read_answer(struct check *c) {
    json_t *answer = c->job->values[CHECK_ANSWER].json;
    if (json_object_size(answer) == 0)
        return api_refuse(c->job, "missing_field", "/answer",
                          "`answer` holds no array; it is an object such as {\"weights\": [[1, 0], [0.5, 0.5]]}.");
    if (!list_arrays(c) || !api_bind(c->job, &c->arrays, answer, "/answer", &c->sent))
        return false;
    assert(c->sent);
    c->claim.weights = find_sent(c, "weights");
    c->claim.output = find_sent(c, "output");
    return true;
}

/* The request returns the arrays that were sent, with all their digits. */
static bool ask_for_arrays(struct check *c, json_t *request) {
    static const char *const left_out[] = {"round", "trace", "checks"};
    json_t *names = json_array();
    for (size_t i = 0; i < c->arrays.count; i++)
        if (was_sent(c, i) && json_array_append_new(names, json_string(c->arrays.fields[i].name)) != 0)
            return api_refuse_memory(c->job);
    for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++)
        json_object_del(request, left_out[i]);
    return json_object_set_new(request, "return", names) == 0 || api_refuse_memory(c->job);
}

static bool compute(struct check *c) {
    json_t *request = c->job->values[CHECK_REQUEST].json;
    return ask_for_arrays(c, request) && api_inner_run(c->job, c->endpoint, request, "/request", &c->claim, &c->inner);
}

static bool refuse_array(struct check *c, const char *name) {
    api_refuse(c->job, "bad_value", "/request", "This request has no single array `%s` to compare with.", name);
    if (json_object_get(c->inner.root, "results"))
        c->job->problem->hint = "Each sharpness of a list has its own arrays: send one number.";
    return false;
}

static bool judge(struct check *c, size_t row) {
    const struct api_value *values = c->job->values;
    struct api_value computed = {.field = &c->arrays.fields[row]};
    struct verdict *v = &c->verdicts[row];
    if (!api_inner_array(c->job, &c->inner, &computed))
        return refuse_array(c, computed.field->name);
    *v = (struct verdict){.got = c->sent[row].tensor, .expected = computed.tensor};
    v->same_shape = attn_same_shape(&v->got, &v->expected);
    if (v->same_shape)
        v->found = attn_compare(&v->got, &v->expected, values[CHECK_RTOL].number, values[CHECK_ATOL].number);
    c->passed &= v->found.same;
    return true;
}

static bool judge_all(struct check *c) {
    if (!(c->verdicts = api_take(c->job, c->arrays.count, sizeof *c->verdicts)))
        return false;
    c->passed = true;
    for (size_t i = 0; i < c->arrays.count; i++)
        if (was_sent(c, i) && !judge(c, i))
            return false;
    return true;
}

static void write_mismatch(struct api_writer *w, const struct verdict *v) {
    struct attn_tensor index = {.rank = v->got.rank};
    attn_tensor_index(&v->got, v->found.first, index.shape);
    api_write_object(w, "first_mismatch");
    api_write_shape(w, "index", &index);
    api_write_number(w, "expected", v->found.expected);
    api_write_number(w, "got", v->found.got);
    api_write_object_end(w);
}

static void write_verdict(struct api_writer *w, const char *name, const struct verdict *v) {
    api_write_object(w, name);
    api_write_bool(w, "passed", v->found.same);
    if (v->same_shape)
        api_write_number(w, "max_abs_error", v->found.max_abs_error);
    if (v->same_shape && !v->found.same)
        write_mismatch(w, v);
    else
        api_write_null(w, "first_mismatch");
    api_write_shape(w, "expected_shape", &v->expected);
    api_write_shape(w, "got_shape", &v->got);
    api_write_object_end(w);
}

/* What the request measured: objects of numbers, booleans, and strings for numbers that are not finite. */
static void write_measured(struct api_writer *w, const char *key, const json_t *json) {
    const char *name;
    json_t *member;
    if (json_is_number(json))
        api_write_number(w, key, json_number_value(json));
    else if (json_is_boolean(json))
        api_write_bool(w, key, json_is_true(json));
    else if (json_is_string(json))
        api_write_string(w, key, json_string_value(json));
    if (!json_is_object(json))
        return;
    api_write_object(w, key);
    json_object_foreach((json_t *)json, name, member) write_measured(w, name, member);
    api_write_object_end(w);
}

static void write_answer(const struct check *c) {
    struct api_writer *w = c->job->writer;
    api_write_bool(w, "passed", c->passed);
    if (c->claim.weights)
        write_measured(w, "checks", json_object_get(c->inner.root, "checks"));
    api_write_object(w, "arrays");
    for (size_t i = 0; i < c->arrays.count; i++)
        if (was_sent(c, i))
            write_verdict(w, c->arrays.fields[i].name, &c->verdicts[i]);
    api_write_object_end(w);
}

bool api_check(struct api_job *job) {
    const char *choice = endpoint_choices[job->values[CHECK_ENDPOINT].choice];
    struct check c = {.job = job, .endpoint = find_endpoint(choice)};
    if (!check_tolerances(job) || !read_answer(&c) || !compute(&c) || !judge_all(&c))
        return false;
    write_answer(&c);
    return true;
}
