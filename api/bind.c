/* bind.c - objects and scalars of the envelope become bound fields; arrays are bind_tensor.c. */
#include "api/bind.h"

#include "api/bind_tensor.h"
#include "api/decimal.h"

#include <math.h>
#include <string.h>

#define INEXACT 9007199254740992.0 /* 2^53: from here on a double no longer says which integer was meant */

bool api_refuse_place(struct api_job *job, const char *code, const struct api_place *place, const char *detail) {
    return api_refuse(job, code, api_place_pointer(job->arena, place), detail ? "%s" : NULL, detail);
}

const char *api_describe(const struct api_job *job, const json_t *json) {
    const struct api_lifted *item = api_placeholder(job, json);
    if (item)
        return item->boolean ? "a list of booleans" : item->rank > 1 ? "nested lists of numbers" : "a list of numbers";
    switch (json_typeof(json)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return json_array_size(json) ? "a list" : "an empty list";
    case JSON_STRING:
        return "a string";
    case JSON_INTEGER:
    case JSON_REAL:
        return "a number";
    case JSON_TRUE:
    case JSON_FALSE:
        return "a boolean";
    default:
        return "null";
    }
}

const char *api_guess_text(struct api_job *job, struct api_guess guess) {
    if (guess.hint)
        return guess.hint;
    return guess.name ? api_arena_printf(job->arena, "Did you mean \"%s\"?", guess.name) : NULL;
}

/* The forms that were possible, and what came instead. */
bool api_refuse_type(struct api_job *job, const struct api_field *field, const json_t *json,
                     const struct api_place *place) {
    char forms[256];
    api_form_names(field->accepts, forms, sizeof forms);
    const char *got = api_describe(job, json);
    api_refuse_place(job, "wrong_type", place,
                     api_arena_printf(job->arena, "`%s` takes %s, not %s.", field->name, forms, got));
    job->problem->expected = api_arena_printf(job->arena, "%s", forms);
    job->problem->got = got;
    job->problem->hint = api_type_hint(job, field, json);
    return false;
}

const char *api_words(struct api_job *job, const char *const *words) {
    size_t size = 1;
    for (size_t i = 0; words[i]; i++)
        size += strlen(words[i]) + 2;
    char *text = api_arena_take(job->arena, size), *out = text;
    if (!text)
        return NULL;
    *out = 0;
    for (size_t i = 0; words[i]; i++) {
        out = stpcpy(out, i ? ", " : "");
        out = stpcpy(out, words[i]);
    }
    return text;
}

const char *api_field_words(struct api_job *job, const struct api_table *table) {
    const char **names = api_arena_array(job->arena, table->count + 1, sizeof *names);
    if (!names)
        return NULL;
    for (size_t i = 0; i < table->count; i++)
        names[i] = table->fields[i].name;
    names[table->count] = NULL;
    return api_words(job, names);
}

static bool bind_choice(struct api_job *job, const struct api_field *field, const char *word,
                        const struct api_place *place, unsigned *choice) {
    for (unsigned i = 0; field->choices[i]; i++)
        if (strcmp(field->choices[i], word) == 0) {
            *choice = i;
            return true;
        }
    const char *words = api_words(job, field->choices);
    api_refuse_place(job, "unknown_choice", place,
                     api_arena_printf(job->arena, "`%s` knows no \"%.64s\"; it takes %s.", field->name, word, words));
    job->problem->expected = words;
    job->problem->hint = api_guess_text(job, api_guess_word(field->choices, word));
    return false;
}

static bool bind_choices(struct api_job *job, json_t *json, const struct api_place *place, struct api_value *value) {
    value->form = API_CHOICES;
    for (size_t i = 0; i < json_array_size(json); i++) {
        struct api_place here = {.up = place, .index = i};
        json_t *word = json_array_get(json, i);
        unsigned choice = 0;
        if (!json_is_string(word))
            return api_refuse_type(job, value->field, word, &here);
        if (!bind_choice(job, value->field, json_string_value(word), &here, &choice))
            return false;
        value->chosen |= 1u << choice;
    }
    return true;
}

static bool bind_strings(struct api_job *job, json_t *json, const struct api_place *place, struct api_value *value) {
    value->form = API_STRINGS;
    value->count = json_array_size(json);
    if (!(value->strings = api_take(job, value->count, sizeof *value->strings)))
        return false;
    for (size_t i = 0; i < value->count; i++) {
        struct api_place here = {.up = place, .index = i};
        json_t *item = json_array_get(json, i);
        if (!json_is_string(item))
            return api_refuse_type(job, value->field, item, &here);
        value->strings[i] = json_string_value(item);
    }
    return true;
}

bool api_is_integral(double number) {
    return fabs(number) < INEXACT && number == floor(number);
}

/* [left, right], as a lifted pair of numbers or with nulls. */
static bool bind_pair(struct api_job *job, json_t *json, const struct api_place *place, struct api_value *value) {
    const struct api_lifted *item = api_placeholder(job, json);
    value->form = API_PAIR;
    if (item ? item->boolean || item->fault || item->rank != 1 || item->count != 2 : json_array_size(json) != 2)
        return api_refuse_type(job, value->field, json, place);
    for (size_t i = 0; i < 2; i++) {
        struct api_place here = {.up = place, .index = i};
        json_t *element = item ? NULL : json_array_get(json, i);
        if (element && json_is_null(element)) {
            value->pair[i] = API_PAIR_OPEN;
            continue;
        }
        if (element && !json_is_number(element))
            return api_refuse_type(job, value->field, element, &here);
        double number = item ? ((const double *)item->data)[i] : json_number_value(element);
        if (!api_is_integral(number) || number < 0)
            return api_refuse_place(job, "bad_value", &here,
                                    api_arena_printf(job->arena, "`%s` takes integers from 0 on, or null for no bound.",
                                                     value->field->name));
        value->pair[i] = (int64_t)number;
    }
    return true;
}

static bool bind_list(struct api_job *job, json_t *json, const struct api_place *place, struct api_value *value) {
    value->form = API_LIST;
    value->count = json_array_size(json);
    if (!(value->list = api_take(job, value->count, sizeof *value->list)))
        return false;
    for (size_t i = 0; i < value->count; i++) {
        struct api_place here = {.up = place, .index = i};
        json_t *item = json_array_get(json, i);
        if (!json_is_object(item))
            return api_refuse_type(job, value->field, item, &here);
        const char *prefix = api_place_pointer(job->arena, &here);
        if (!api_bind(job, value->field->object, item, prefix ? prefix : "", &value->list[i]))
            return false;
    }
    return true;
}

static bool bind_array(struct api_job *job, json_t *json, const struct api_place *place, struct api_value *value) {
    const struct api_field *field = value->field;
    bool lifted = api_placeholder(job, json) != NULL;
    if (field->accepts & API_PAIR)
        return bind_pair(job, json, place, value);
    if (field->accepts & (API_TENSOR | API_MASK | API_IDS))
        return api_bind_tensor(job, json, place, value);
    if (field->accepts & API_SIZES) {
        value->form = API_SIZES;
        return true;
    }
    if (lifted)
        return api_refuse_type(job, field, json, place);
    if (field->accepts & API_STRINGS)
        return bind_strings(job, json, place, value);
    if (field->accepts & API_CHOICES)
        return bind_choices(job, json, place, value);
    if (field->accepts & API_LIST)
        return bind_list(job, json, place, value);
    return api_refuse_type(job, field, json, place);
}

static bool bind_object(struct api_job *job, json_t *json, const struct api_place *place, struct api_value *value) {
    const struct api_field *field = value->field;
    if (field->accepts & API_OBJECT) {
        value->form = API_OBJECT;
        const char *prefix = api_place_pointer(job->arena, place);
        return api_bind(job, field->object, json, prefix ? prefix : "", &value->inner);
    }
    if (field->accepts & (API_TENSOR | API_MASK | API_IDS))
        return api_bind_tensor(job, json, place, value);
    if (!(field->accepts & API_MAP))
        return api_refuse_type(job, field, json, place);
    value->form = API_MAP;
    return true;
}

struct api_fault api_integer_fault(struct api_job *job, const struct api_field *field, double number) {
    char digits[API_DECIMAL_MAX + 1];
    const char *text = isnan(number) ? "NaN" : number > 0 ? "Infinity" : "-Infinity";
    if (isfinite(number)) {
        *api_decimal_write_f64(digits, number) = 0;
        text = digits;
    }
    struct api_fault fault = {.code = "wrong_type"};
    if (!isfinite(number) || number != floor(number)) {
        fault.detail = api_arena_printf(job->arena, "`%s` takes %s, not %s.", field->name,
                                        field->accepts & API_IDS ? "integers" : "an integer", text);
        return fault;
    }
    fault.code = "bad_value";
    fault.detail = api_arena_printf(job->arena, "`%s` takes no integer as large as %s.", field->name, text);
    if (field->accepts & API_STRING)
        fault.hint = "Send one of any length as a decimal string; in a list, as its 32-bit words, the lowest first.";
    return fault;
}

static bool refuse_integer(struct api_job *job, const struct api_field *field, const struct api_place *place,
                           double number) {
    struct api_fault fault = api_integer_fault(job, field, number);
    api_refuse_place(job, fault.code, place, fault.detail);
    job->problem->hint = fault.hint;
    return false;
}

static bool bind_number(struct api_job *job, json_t *json, const struct api_place *place, struct api_value *value) {
    const struct api_field *field = value->field;
    double number = json_number_value(json);
    bool integral = json_is_integer(json) || api_is_integral(number);
    value->number = number;
    value->integer = json_is_integer(json) ? json_integer_value(json) : integral ? (int64_t)number : 0;
    if (field->accepts & API_INT && integral)
        value->form = API_INT;
    else if (field->accepts & API_NUMBER)
        value->form = API_NUMBER;
    else if (field->accepts & API_INT)
        return refuse_integer(job, field, place, number);
    else
        return api_refuse_type(job, field, json, place);
    return true;
}

static bool bind_string(struct api_job *job, json_t *json, const struct api_place *place, struct api_value *value) {
    const struct api_field *field = value->field;
    value->string = json_string_value(json);
    if (field->accepts & API_CHOICE) {
        value->form = API_CHOICE;
        return bind_choice(job, field, value->string, place, &value->choice);
    }
    value->form = API_STRING;
    return field->accepts & API_STRING || api_refuse_type(job, field, json, place);
}

static bool bind_value(struct api_job *job, json_t *json, const struct api_place *place, struct api_value *value) {
    value->json = json;
    switch (json_typeof(json)) {
    case JSON_OBJECT:
        return bind_object(job, json, place, value);
    case JSON_ARRAY:
        return bind_array(job, json, place, value);
    case JSON_STRING:
        return bind_string(job, json, place, value);
    case JSON_INTEGER:
    case JSON_REAL:
        return bind_number(job, json, place, value);
    case JSON_TRUE:
    case JSON_FALSE:
        value->form = API_BOOL;
        value->boolean = json_is_true(json);
        return value->field->accepts & API_BOOL || api_refuse_type(job, value->field, json, place);
    default:
        value->form = API_NULL;
        return value->field->accepts & API_NULL || api_refuse_type(job, value->field, json, place);
    }
}

static void bind_default(const struct api_field *field, struct api_value *value) {
    value->field = field;
    if (!(field->flags & API_HAS_DEFAULT))
        return;
    value->boolean = field->standard != 0;
    value->choice = (unsigned)field->standard;
    value->integer = (int64_t)field->standard;
    value->number = field->standard;
}

bool api_refuse_unknown(struct api_job *job, const struct api_table *table, const char *name, const char *prefix) {
    struct api_place place = {.prefix = prefix, .name = name};
    const char *hint = api_guess_text(job, api_guess_field(table, name));
    api_refuse_place(
        job, "unknown_field", &place,
        api_arena_printf(job->arena, "There is no field \"%.64s\" here.%s%s", name, hint ? " " : "", hint ? hint : ""));
    job->problem->hint = hint;
    job->problem->expected = api_field_words(job, table);
    return false;
}

/* A draw of "random" may still fill it. */
static bool may_be_drawn(const struct api_field *field) {
    return field->accepts & API_TENSOR && !(field->flags & API_NO_DRAW);
}

static bool refuse_missing(struct api_job *job, const struct api_table *table, const char *prefix,
                           const struct api_value *values, bool drawn) {
    for (size_t i = 0; i < table->count; i++) {
        const struct api_field *field = &table->fields[i];
        if (!(field->flags & API_REQUIRED) || values[i].form != API_ABSENT || may_be_drawn(field) != drawn)
            continue;
        struct api_place place = {.prefix = prefix, .name = field->name};
        return api_refuse_place(job, "missing_field", &place,
                                api_arena_printf(job->arena, "`%s` is missing. %s", field->name, field->doc));
    }
    return true;
}

bool api_bind_drawn(struct api_job *job) {
    return refuse_missing(job, job->table, "", job->values, true);
}

bool api_bind(struct api_job *job, const struct api_table *table, json_t *object, const char *prefix,
              struct api_value **values) {
    struct api_value *bound = api_take(job, table->count, sizeof *bound);
    if (!(*values = bound))
        return false;
    memset(bound, 0, table->count * sizeof *bound);
    for (size_t i = 0; i < table->count; i++)
        bind_default(&table->fields[i], &bound[i]);
    const char *name;
    json_t *json;
    json_object_foreach(object, name, json) {
        size_t row = api_field_find(table, name);
        if (row == table->count)
            return api_refuse_unknown(job, table, name, prefix);
        struct api_place place = {.prefix = prefix, .name = name};
        if (!bind_value(job, json, &place, &bound[row]))
            return false;
    }
    return refuse_missing(job, table, prefix, bound, false);
}
