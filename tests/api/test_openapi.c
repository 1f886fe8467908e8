/* test_openapi.c - server/web/openapi.json against the tables that drive the code: routes, fields, words, problem
 * codes, examples.
 *
 * Every comparison goes both ways, so that neither side can grow alone. All differences are printed, not only the
 * first.
 */
#include "api/endpoints.h"
#include "tests/api/call.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static json_t *document;
static unsigned differences;

#define DIFFERENT(...) (differences++, fprintf(stderr, "openapi: " __VA_ARGS__), fputc('\n', stderr))

static void load(void) {
    differences = 0;
    document = json_load_file("server/web/openapi.json", 0, NULL);
    cr_assert(document, "openapi.json cannot be read; run the tests from the project's root");
}

static void unload(void) {
    json_decref(document);
}

TestSuite(openapi, .init = load, .fini = unload);

/* ---- schemas ----------------------------------------------------------------------------------------------------- */

static json_t *schema_named(const char *name) {
    return json_object_get(json_object_get(json_object_get(document, "components"), "schemas"), name);
}

/* The schema itself, or the one that it refers to. */
static json_t *resolve(json_t *schema) {
    static const char prefix[] = "#/components/schemas/";
    const char *ref = json_string_value(json_object_get(schema, "$ref"));
    return ref && strncmp(ref, prefix, sizeof prefix - 1) == 0 ? schema_named(ref + sizeof prefix - 1) : schema;
}

static bool holds_string(json_t *list, const char *word) {
    size_t i;
    json_t *item;
    json_array_foreach(list, i, item) {
        if (json_is_string(item) && strcmp(json_string_value(item), word) == 0)
            return true;
    }
    return false;
}

static bool allows_null(json_t *schema) {
    json_t *type = json_object_get(schema, "type"), *option;
    size_t i;
    if (json_is_string(type) ? strcmp(json_string_value(type), "null") == 0 : holds_string(type, "null"))
        return true;
    json_array_foreach(json_object_get(schema, "anyOf"), i, option) {
        if (allows_null(resolve(option)))
            return true;
    }
    return false;
}

/* The words a value, or an element of a list, can be. */
static json_t *words_of(json_t *schema) {
    json_t *words = json_object_get(schema, "enum"), *option;
    size_t i;
    if (!words)
        words = json_object_get(json_object_get(schema, "items"), "enum");
    json_array_foreach(json_object_get(schema, "anyOf"), i, option) {
        if (!words)
            words = json_object_get(option, "enum");
    }
    return words;
}

/* ---- fields ------------------------------------------------------------------------------------------------------ */

static void compare_words(const char *where, const struct api_field *field, json_t *schema) {
    json_t *words = words_of(schema);
    size_t known = 0;
    while (field->choices[known]) {
        if (!holds_string(words, field->choices[known]))
            DIFFERENT("%s.%s does not know the word %s", where, field->name, field->choices[known]);
        known++;
    }
    if (json_array_size(words) != known)
        DIFFERENT("%s.%s has %zu words instead of %zu", where, field->name, json_array_size(words), known);
}

static void compare_table(const struct api_table *table);

static void compare_field(const struct api_table *table, const struct api_field *field, json_t *schema) {
    if (allows_null(schema) != ((field->accepts & API_NULL) != 0))
        DIFFERENT("%s.%s: null is %s by the program", table->name, field->name,
                  field->accepts & API_NULL ? "taken" : "refused");
    if (field->accepts & (API_CHOICE | API_CHOICES))
        compare_words(table->name, field, schema);
    if (field->flags & API_HAS_DEFAULT && field->accepts & (API_INT | API_NUMBER) &&
        json_number_value(json_object_get(schema, "default")) != field->standard)
        DIFFERENT("%s.%s has another default than %g", table->name, field->name, field->standard);
    if (field->object)
        compare_table(field->object);
}

static void compare_table(const struct api_table *table) {
    json_t *properties = json_object_get(schema_named(table->name), "properties");
    for (size_t i = 0; i < table->count; i++) {
        json_t *schema = json_object_get(properties, table->fields[i].name);
        if (schema) {
            /* A default may stand beside the $ref. */
            json_t *merged = json_copy(resolve(schema));
            json_object_update_missing(merged, schema);
            compare_field(table, &table->fields[i], merged);
            json_decref(merged);
        } else {
            DIFFERENT("%s.%s is not described", table->name, table->fields[i].name);
        }
    }
    const char *name;
    json_t *schema;
    json_object_foreach(properties, name, schema) {
        if (api_field_find(table, name) == table->count)
            DIFFERENT("%s.%s is described but not known", table->name, name);
    }
    if (!json_is_false(json_object_get(schema_named(table->name), "additionalProperties")))
        DIFFERENT("%s allows other fields, the program refuses them", table->name);
}

Test(openapi, describes_every_field) {
    size_t tables = 0;
    for (size_t i = 0; api_endpoint_at(i); i++)
        if (api_endpoint_at(i)->table) {
            compare_table(api_endpoint_at(i)->table);
            tables++;
        }
    cr_assert_gt(tables, 0u);
    cr_assert_eq(differences, 0u);
}

/* ---- routes ------------------------------------------------------------------------------------------------------ */

/* "POST" -> the member "post" of the path; a path that ends in '/' is described with a name behind it. */
static json_t *operation(const char *method, const char *path) {
    char name[8] = "", described[64];
    for (size_t i = 0; method[i] && i < sizeof name - 1; i++)
        name[i] = (char)(method[i] | 0x20);
    size_t size = strlen(path);
    snprintf(described, sizeof described, "%s%s", path, size > 1 && path[size - 1] == '/' ? "{name}" : "");
    return json_object_get(json_object_get(json_object_get(document, "paths"), described), name);
}

Test(openapi, describes_every_route) {
    for (size_t i = 0; api_route(i).method; i++)
        if (!operation(api_route(i).method, api_route(i).path))
            DIFFERENT("%s %s is not described", api_route(i).method, api_route(i).path);
    const char *path;
    json_t *item;
    json_object_foreach(json_object_get(document, "paths"), path, item) {
        bool served = !json_object_get(item, "post");
        for (size_t i = 0; api_route(i).method; i++)
            served |= strcmp(api_route(i).method, "POST") == 0 && strcmp(api_route(i).path, path) == 0;
        if (!served)
            DIFFERENT("POST %s is described but not served", path);
    }
    cr_assert_eq(differences, 0u);
}

/* ---- problems, examples ------------------------------------------------------------------------------------------ */

Test(openapi, lists_every_problem_code) {
    json_t *codes = json_object_get(schema_named("ProblemCode"), "enum");
    size_t count = 0;
    for (; api_problem_at(count); count++)
        if (!holds_string(codes, api_problem_at(count)->code))
            DIFFERENT("the problem code %s is not listed", api_problem_at(count)->code);
    cr_assert_eq(json_array_size(codes), count);
    cr_assert_eq(differences, 0u);
}

static unsigned send_examples(const char *path, json_t *post) {
    json_t *content = json_object_get(json_object_get(post, "requestBody"), "content"), *example;
    const char *name;
    unsigned sent = 0;
    json_object_foreach(json_object_get(json_object_get(content, "application/json"), "examples"), name, example) {
        char *body = json_dumps(json_object_get(example, "value"), 0);
        struct call answer = call("POST", path, body);
        if (answer.response.status != 200 || !json_is_object(answer.json))
            DIFFERENT("the example %s is answered with %d", name, answer.response.status);
        call_free(&answer);
        free(body);
        sent++;
    }
    return sent;
}

Test(openapi, examples_are_answered) {
    const char *path;
    json_t *item;
    json_object_foreach(json_object_get(document, "paths"), path, item) {
        json_t *post = json_object_get(item, "post");
        if (post && send_examples(path, post) == 0)
            DIFFERENT("POST %s has no example", path);
    }
    cr_assert_eq(differences, 0u);
}
