/* build.c - see build.h. */
#include "tests/api/build.h"

#include "tests/ref/ref_linear.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static json_t *nested(uint64_t *seed, const size_t *shape, size_t rank) {
    if (rank == 0)
        return json_real(ref_uniform(seed));
    json_t *list = json_array();
    for (size_t i = 0; i < shape[0]; i++)
        json_array_append_new(list, nested(seed, shape + 1, rank - 1));
    return list;
}

json_t *tensor(uint64_t *seed, ...) {
    size_t shape[8], rank = 0;
    va_list args;
    va_start(args, seed);
    for (int size; (size = va_arg(args, int)) != 0;)
        shape[rank++] = (size_t)size;
    va_end(args);
    return nested(seed, shape, rank);
}

json_t *transposed(const json_t *matrix) {
    json_t *out = json_array();
    for (size_t c = 0; c < json_array_size(json_array_get(matrix, 0)); c++) {
        json_t *row = json_array();
        for (size_t r = 0; r < json_array_size(matrix); r++)
            json_array_append(row, json_array_get(json_array_get(matrix, r), c));
        json_array_append_new(out, row);
    }
    return out;
}

json_t *rows_of(const json_t *matrix, size_t first, size_t count) {
    json_t *out = json_array();
    for (size_t r = first; r < first + count; r++)
        json_array_append(out, json_array_get(matrix, r));
    return out;
}

json_t *chosen_rows(const json_t *matrix, const size_t *order, size_t count) {
    json_t *out = json_array();
    for (size_t r = 0; r < count; r++)
        json_array_append(out, json_array_get(matrix, order[r]));
    return out;
}

json_t *with(const json_t *request, const char *members) {
    json_t *out = json_copy((json_t *)request), *more = json_loads(members, 0, NULL);
    cr_assert(more, "not JSON: %s", members);
    json_object_update(out, more);
    json_decref(more);
    return out;
}

json_t *with_new(json_t *request, const char *members) {
    json_t *out = with(request, members);
    json_decref(request);
    return out;
}

json_t *with_value(const json_t *request, const char *name, json_t *value) {
    json_t *out = json_copy((json_t *)request);
    json_object_set_new(out, name, value);
    return out;
}

json_t *ask(const char *path, json_t *request) {
    char *text = json_dumps(request, JSON_COMPACT);
    struct call answer = call("POST", path, text);
    cr_assert_eq(answer.response.status, 200, "%s %s: %s", path, text, answer.response.body);
    json_t *document = json_incref(answer.json);
    call_free(&answer);
    free(text);
    json_decref(request);
    return document;
}

json_t *value_at(const json_t *answer, const char *path) {
    char copy[128], *rest = copy;
    strncpy(copy, path, sizeof copy - 1)[sizeof copy - 1] = 0;
    for (char *part; answer && (part = strsep(&rest, "."));)
        answer =
            json_is_array(answer) ? json_array_get(answer, strtoul(part, NULL, 10)) : json_object_get(answer, part);
    return (json_t *)answer;
}

double number_at(const json_t *answer, const char *path) {
    const json_t *value = value_at(answer, path);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

bool truth_at(const json_t *answer, const char *path) {
    const json_t *value = value_at(answer, path);
    cr_assert(json_is_boolean(value), "%s is not a boolean", path);
    return json_is_true(value);
}

void assert_near(const json_t *expected, const json_t *got, double tolerance, const char *what) {
    char *where = NULL;
    cr_assert(expected, "%s: nothing to compare with", what);
    cr_assert(json_near(expected, got, tolerance, &where), "%s: %s", what, where);
    free(where);
}
