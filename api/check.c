/* check.c - POST /check: is a student's answer right? The request is computed, and the arrays of the answer that was
 * sent are compared with the computed ones by NumPy's rule of allclose; the checks of attention are measured on the
 * arrays sent.
 *
 * The inner request runs as it would alone, with a writer of its own; its answer is read back from that text, in which
 * every number stands exactly.
 */
#include "api/check.h"

#include "api/bind.h"
#include "api/bind_tensor.h"
#include "api/endpoints.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_RESULTS = 32 }; /* of one endpoint, as api_field.choices has it */
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

/* struct inner - the answer of the inner request, and the arrays in it. */
struct inner {
    struct api_lift lift;
    json_t *root;
};

/* What is wrong with the inner request is wrong with "request". */
static bool move_problem(struct api_job *job) {
    struct api_problem *problem = job->problem;
    if (problem->code && problem->pointer)
        problem->pointer = api_arena_printf(job->arena, "/request%s", problem->pointer);
    return false;
}

static const struct api_field *return_field(const struct api_endpoint *endpoint) {
    size_t row = api_field_find(endpoint->table, "return");
    return row < endpoint->table->count ? &endpoint->table->fields[row] : NULL;
}

static bool check_name(struct api_job *job, const struct api_endpoint *endpoint, const char *name) {
    const char *const *results = return_field(endpoint)->choices;
    const char *known[MOST_RESULTS + 1] = {0};
    for (size_t i = 0, n = 0; results[i] && n < MOST_RESULTS; i++)
        if (strcmp(results[i], "vocab") != 0) /* an object */
            known[n++] = results[i];
    for (size_t i = 0; known[i]; i++)
        if (strcmp(known[i], name) == 0)
            return true;
    struct api_place answer = {.name = "answer"}, place = {.up = &answer, .name = name};
    const char *hint = api_guess_text(job, api_guess_word(known, name)), *words = api_words(job, known);
    api_refuse_place(job, "unknown_field", &place,
                     api_arena_printf(job->arena, "%s gives no array \"%.64s\"; it gives %s.", endpoint->path, name,
                                      words ? words : ""));
    job->problem->expected = words;
    job->problem->hint = hint;
    return false;
}

/* The inner request returns the arrays that were sent, with all their digits. */
static bool ask_for(struct api_job *job, const struct api_endpoint *endpoint, json_t *request, json_t *answer) {
    static const char *const left_out[] = {"return", "round", "trace", "checks"};
    json_t *names = json_array();
    const char *name;
    json_t *value;
    json_object_foreach(answer, name, value) {
        if (!check_name(job, endpoint, name))
            return false;
        if (json_array_append_new(names, json_string(name)) != 0)
            return api_refuse(job, "out_of_memory", NULL, NULL);
    }
    if (json_array_size(names) == 0)
        return api_refuse(job, "missing_field", "/answer",
                          "`answer` holds no array; it is an object such as {\"weights\": [[1, 0], [0.5, 0.5]]}.");
    for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++)
        json_object_del(request, left_out[i]);
    return json_object_set_new(request, "return", names) == 0 || api_refuse(job, "out_of_memory", NULL, NULL);
}

static bool copy_text(struct api_job *job, struct api_writer *writer, char **text, size_t *size) {
    bool over_limit = writer->over_limit;
    char *whole = api_write_finish(writer, size);
    if (!whole)
        return api_refuse_unwritten(job, over_limit);
    *text = api_take(job, *size + 1, 1);
    if (*text)
        memcpy(*text, whole, *size + 1);
    free(whole);
    return *text != NULL;
}

/* Runs the inner request with the outer one's arena, numbers and limits. */
static bool run_inner(struct api_job *job, const struct api_endpoint *endpoint, json_t *request,
                      const struct api_claim *claim, char **text, size_t *size) {
    struct api_writer writer;
    struct api_job inner = *job;
    api_write_init(&writer, job->writer->limit, false, -1);
    writer.exec = job->env->exec;
    inner.writer = &writer;
    inner.claim = claim;
    inner.draws = NULL;
    inner.eyes = NULL;
    api_write_object(&writer, NULL);
    bool done = api_run_body(&inner, endpoint, request);
    api_write_object_end(&writer);
    job->deferred = inner.deferred;
    if (done)
        done = copy_text(job, &writer, text, size);
    else
        move_problem(job);
    api_write_free(&writer);
    return done;
}

static bool read_inner(struct api_job *job, char *text, size_t size, struct inner *inner) {
    json_error_t error;
    if (!api_lift(job->arena, text, size, job->env->exec, &inner->lift))
        return !job->arena->failed && attn_exec_stopped(job->env->exec) ? api_refuse_stopped(job)
                                                                        : api_take(job, SIZE_MAX / 2, 1) != NULL;
    inner->root = json_loadb(inner->lift.text, inner->lift.size, JSON_DECODE_INT_AS_REAL, &error);
    if (!inner->root)
        return api_refuse(job, job->arena->failed ? "out_of_memory" : "internal", NULL, NULL);
    return true;
}

/* An array of the inner answer. A list of strings is one too, when all its numbers are NaN or infinite. */
static bool computed(struct api_job *job, const struct inner *inner, const char *name, struct api_value *value) {
    struct api_job reader = *job;
    struct api_place place = {.name = name};
    json_t *json = json_object_get(inner->root, name);
    reader.lift = &inner->lift;
    if (json)
        return api_bind_tensor(&reader, json, &place, value);
    api_refuse(job, "bad_value", "/request", "This request has no single array `%s` to compare with.", name);
    if (json_object_get(inner->root, "results"))
        job->problem->hint = "Each sharpness of a list has its own arrays: send one number.";
    return false;
}

/* struct verdict - how far an array that was sent is from the computed one; `first` is the first element at fault. */
struct verdict {
    struct api_value sent, expected;
    bool same_shape, passed;
    double max_abs_error;
    size_t first;
};

static double at(const struct attn_tensor *t, size_t i) {
    return t->dtype == ATTN_BOOL ? ((const uint8_t *)t->data)[i] : ((const double *)t->data)[i];
}

static bool is_close(double expected, double got, double rtol, double atol) {
    if (isfinite(expected) && isfinite(got))
        return fabs(got - expected) <= atol + rtol * fabs(expected);
    return expected == got;
}

static bool same_shape(const struct attn_tensor *a, const struct attn_tensor *b) {
    bool same = a->rank == b->rank;
    for (unsigned i = 0; same && i < a->rank; i++)
        same = a->shape[i] == b->shape[i];
    return same;
}

static void compare(struct verdict *v, double rtol, double atol) {
    const struct attn_tensor *expected = &v->expected.tensor, *got = &v->sent.tensor;
    v->passed = v->same_shape = same_shape(expected, got);
    v->max_abs_error = 0;
    assert(expected->data && got->data);
    for (size_t i = 0, n = v->same_shape ? attn_tensor_count(got) : 0; i < n; i++) {
        double want = at(expected, i), have = at(got, i), error = want == have ? 0 : fabs(have - want);
        if (!(error <= v->max_abs_error) && !isnan(v->max_abs_error))
            v->max_abs_error = error;
        if (v->passed && !is_close(want, have, rtol, atol)) {
            v->passed = false;
            v->first = i;
        }
    }
}

static void write_mismatch(struct api_writer *w, const struct verdict *v, const struct attn_tensor *expected,
                           const struct attn_tensor *got) {
    struct attn_tensor index = {.rank = got->rank};
    size_t rest = v->first;
    for (unsigned axis = got->rank; axis-- > 0; rest /= got->shape[axis])
        index.shape[axis] = rest % got->shape[axis];
    api_write_object(w, "first_mismatch");
    api_write_shape(w, "index", &index);
    api_write_number(w, "expected", at(expected, v->first));
    api_write_number(w, "got", at(got, v->first));
    api_write_object_end(w);
}

static void write_verdict(struct api_writer *w, const char *name, const struct verdict *v) {
    const struct attn_tensor *expected = &v->expected.tensor, *got = &v->sent.tensor;
    api_write_object(w, name);
    api_write_bool(w, "passed", v->passed);
    if (v->same_shape)
        api_write_number(w, "max_abs_error", v->max_abs_error);
    if (v->same_shape && !v->passed)
        write_mismatch(w, v, expected, got);
    else
        api_write_null(w, "first_mismatch");
    api_write_shape(w, "expected_shape", expected);
    api_write_shape(w, "got_shape", got);
    api_write_object_end(w);
}

/* Arrays that were sent are numbers, or booleans where the endpoint gives booleans. */
static const struct api_field number_row = {.name = "answer", .accepts = API_TENSOR, .flags = API_NO_DRAW, .doc = ""},
                              boolean_row = {.name = "answer", .accepts = API_MASK, .doc = ""};

static const struct api_field *row_of(const char *name) {
    return strcmp(name, "pad_mask") == 0 ? &boolean_row : &number_row;
}

static bool bind_answer(struct api_job *job, json_t *json, const char *name, struct api_value *value) {
    struct api_place answer = {.name = "answer"}, place = {.up = &answer, .name = name};
    struct api_field *row = api_take(job, 1, sizeof *row);
    if (!row)
        return false;
    *row = *row_of(name);
    row->name = name;
    *value = (struct api_value){.field = row};
    if (json_is_array(json) || json_is_object(json))
        return api_bind_tensor(job, json, &place, value);
    return api_refuse_place(job, "wrong_type", &place,
                            api_arena_printf(job->arena, "`%s` is an array, not %s.", name, api_describe(job, json)));
}

/* Arrays that were sent, before anything is computed. */
static bool bind_answers(struct api_job *job, json_t *answer, struct verdict **verdicts, struct api_claim *claim) {
    const char *name;
    json_t *json;
    size_t i = 0;
    if (!(*verdicts = api_take(job, json_object_size(answer), sizeof **verdicts)))
        return false;
    json_object_foreach(answer, name, json) {
        struct verdict *verdict = &(*verdicts)[i++];
        if (!bind_answer(job, json, name, &verdict->sent))
            return false;
        if (strcmp(name, "weights") == 0)
            claim->weights = &verdict->sent.tensor;
        if (strcmp(name, "output") == 0)
            claim->output = &verdict->sent.tensor;
    }
    return true;
}

static bool compare_all(struct api_job *job, const struct inner *inner, json_t *answer, struct verdict *verdicts,
                        bool *passed) {
    const char *name;
    json_t *json;
    *passed = true;
    json_object_foreach(answer, name, json) {
        verdicts->expected = (struct api_value){.field = row_of(name)};
        if (!computed(job, inner, name, &verdicts->expected))
            return false;
        compare(verdicts, job->values[CHECK_RTOL].number, job->values[CHECK_ATOL].number);
        *passed &= verdicts++->passed;
    }
    return true;
}

/* Writes what the inner request measured: objects of numbers and booleans. */
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

static const struct api_endpoint *find_endpoint(const char *name) {
    const struct api_endpoint *row;
    for (size_t i = 0; (row = api_endpoint_at(i)) != NULL; i++)
        if (strcmp(row->path + 1, name) == 0)
            return row;
    return NULL;
}

static bool check_tolerances(struct api_job *job) {
    if (job->values[CHECK_RTOL].number < 0)
        return api_refuse(job, "bad_value", "/rtol", "`rtol` is a number from 0 on.");
    if (job->values[CHECK_ATOL].number < 0)
        return api_refuse(job, "bad_value", "/atol", "`atol` is a number from 0 on.");
    return true;
}

static void write_arrays(struct api_writer *w, json_t *answer, const struct verdict *verdicts) {
    const char *name;
    json_t *json;
    api_write_object(w, "arrays");
    json_object_foreach(answer, name, json) write_verdict(w, name, verdicts++);
    api_write_object_end(w);
}

bool api_check(struct api_job *job) {
    const struct api_endpoint *endpoint = find_endpoint(endpoint_choices[job->values[CHECK_ENDPOINT].choice]);
    json_t *request = job->values[CHECK_REQUEST].json, *answer = job->values[CHECK_ANSWER].json;
    struct verdict *verdicts;
    struct api_claim claim = {0};
    struct inner inner = {0};
    char *text = NULL;
    size_t size = 0;
    bool passed;
    if (!check_tolerances(job) || !ask_for(job, endpoint, request, answer) ||
        !bind_answers(job, answer, &verdicts, &claim) || !run_inner(job, endpoint, request, &claim, &text, &size) ||
        !read_inner(job, text, size, &inner) || !compare_all(job, &inner, answer, verdicts, &passed))
        return false;
    api_write_bool(job->writer, "passed", passed);
    if (claim.weights)
        write_measured(job->writer, "checks", json_object_get(inner.root, "checks"));
    write_arrays(job->writer, answer, verdicts);
    return true;
}
