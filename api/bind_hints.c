/* bind_hints.c - how to write a value so that its field takes it: the last line of a refusal for its type. */
#include "api/bind.h"
#include "api/bind_tensor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool is_number_text(const char *text) {
    char *end;
    strtod(text, &end);
    return end != text && !*end;
}

static bool is_truth_text(const char *text) {
    return strcasecmp(text, "true") == 0 || strcasecmp(text, "false") == 0;
}

const char *api_number_hint(struct api_job *job, const json_t *json) {
    static const char *const spellings[] = {"NaN", "Infinity", "-Infinity"};
    if (json_is_null(json))
        return "A number that is missing is \"NaN\"; JavaScript writes null for NaN and for infinities.";
    if (!json_is_string(json))
        return NULL;
    const char *text = json_string_value(json), *sign = *text == '-' ? "-" : "";
    const char *letters = text + strspn(text, "+-");
    for (size_t i = 0; i < 3; i++)
        if (strncasecmp(letters, spellings[i], 3) == 0)
            return api_arena_printf(job->arena, "It is spelt \"%s%s\".", i ? sign : "", spellings[i]);
    return is_number_text(text) ? "Numbers stand without quotes." : NULL;
}

static const char *string_hint(struct api_job *job, const struct api_field *field, const char *text) {
    if (field->accepts & API_BOOL && is_truth_text(text))
        return "true and false stand without quotes.";
    if (field->accepts & (API_INT | API_NUMBER) && is_number_text(text))
        return isfinite(strtod(text, NULL)) ? "Numbers stand without quotes."
                                            : "NaN and infinities are read in arrays of numbers only.";
    if (field->accepts & (API_STRINGS | API_CHOICES))
        return api_arena_printf(job->arena, "Write it in brackets: [\"%.40s\"].", text);
    if (field->accepts & API_TENSOR)
        return "Numbers are sent as JSON lists such as [[1, 2], [3, 4]], not as text.";
    return NULL;
}

/* The fields of an object: "Its fields are base, interleaved, dims, positions." */
static const char *fields_hint(struct api_job *job, const struct api_table *table) {
    const char *words = api_field_words(job, table);
    return words ? api_arena_printf(job->arena, "Its fields are %s.", words) : NULL;
}

const char *api_type_hint(struct api_job *job, const struct api_field *field, const json_t *json) {
    if (json_is_null(json))
        return api_arena_printf(job->arena, "Leave `%s` out.", field->name);
    if (json_is_string(json)) {
        const char *hint = string_hint(job, field, json_string_value(json));
        if (hint)
            return hint;
    }
    if (field->accepts & API_BOOL && json_is_number(json))
        return "Write true or false instead of 1 and 0.";
    if (field->accepts & API_PAIR)
        return "[2, 0] is two keys before the query's own and none behind; null in place of a number is no bound.";
    if (field->shape)
        return api_arena_printf(job->arena, "Its shape is %s.", field->shape);
    if (field->object)
        return fields_hint(job, field->object);
    return field->accepts & API_MAP ? field->doc : NULL;
}
