/* fields.h - the fields of an endpoint as one table: it drives parsing, refusals, the documentation and the test of
 * openapi.yaml. */
#ifndef API_FIELDS_H
#define API_FIELDS_H

#include "core/tensor.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* enum api_form - what a field's JSON may be; a table entry accepts one or several, a bound value has exactly one. */
enum api_form {
    API_ABSENT = 0,
    API_NULL = 1 << 0,    /* null: as if absent, except where the endpoint says what it means */
    API_BOOL = 1 << 1,    /* true or false */
    API_INT = 1 << 2,     /* an integer, also written 3.0 */
    API_NUMBER = 1 << 3,  /* any finite number */
    API_STRING = 1 << 4,  /* any text */
    API_CHOICE = 1 << 5,  /* one of api_field.choices */
    API_CHOICES = 1 << 6, /* a list of them, each at most once; the empty list is allowed */
    API_STRINGS = 1 << 7, /* a list of strings */
    API_TENSOR = 1 << 8,  /* numbers: nested lists, {"shape","data"} or {"eye"}; bound as ATTN_F64 */
    API_MASK = 1 << 9,    /* booleans in the same forms (without eye); bound as ATTN_BOOL */
    API_IDS = 1 << 10,    /* integers in the same forms (without eye); bound as ATTN_I64 */
    API_PAIR = 1 << 11,   /* [left, right], integers or null (bound as API_PAIR_OPEN) */
    API_OBJECT = 1 << 12, /* an object with the fields of api_field.object */
    API_LIST = 1 << 13,   /* a list of such objects */
    API_MAP = 1 << 14,    /* an object with names of the client's choice; the endpoint reads value.json */
    API_SIZES = 1 << 15   /* a shape: a list of sizes, of which any may be "vocab"; the endpoint reads value.json */
};

#define API_PAIR_OPEN (-1)

enum {
    API_REQUIRED = 1,    /* absent is refused with missing_field */
    API_HAS_DEFAULT = 2, /* absent binds `standard` */
    API_ALLOW_EMPTY = 4, /* a dimension of a tensor may be 0 */
    API_NO_DRAW = 8      /* "random" may not fill this tensor */
};

/* struct api_field - one row.
 *
 *     name        as in JSON
 *     accepts     API_... forms, or'ed
 *     flags       API_REQUIRED ...
 *     min_rank, max_rank   of a tensor; both 0: any rank from 1 to ATTN_MAX_RANK
 *     standard    default of a bool (0, 1), integer, number or choice (index), with API_HAS_DEFAULT
 *     choices     for API_CHOICE, API_CHOICES: the words, NULL at the end (at most 32)
 *     object      for API_OBJECT, API_LIST: the inner fields
 *     shape       shape of a tensor, for messages and documentation: "(n, d) or (batch, n, d)"
 *     doc         a sentence for the documentation
 */
struct api_field {
    const char *name;
    unsigned accepts, flags;
    unsigned min_rank, max_rank;
    double standard;
    const char *const *choices;
    const struct api_table *object;
    const char *shape, *doc;
};

/* struct api_table - the fields of one object, in the order of the documentation. An endpoint numbers its rows by an
 * enum, so that a bound value is found by index. */
struct api_table {
    const char *name; /* of its schema in openapi.yaml: "MhaRequest" */
    const struct api_field *fields;
    size_t count;
};

/* struct api_value - a bound field. `form` says which members mean something; for an absent field with a default the
 * scalar members hold the default although `form` is API_ABSENT.
 *
 *     number    also set for API_INT
 *     choice    index into choices; `chosen` is the set of indices (1u << index) for API_CHOICES
 *     tensor    API_TENSOR, API_MASK, API_IDS; its `data` is NULL while a draw of "random" or {"eye"} is to fill it:
 *               only the shape is known then, and api_admit fills it
 *     flat      the tensor was sent as {"shape", "data"}
 *     strings   `count` of them, for API_STRINGS
 *     inner     API_OBJECT: the values of field->object
 *     list      API_LIST: `count` pointers to such values
 *     json      the value itself in the envelope (arrays of numbers are placeholders there); NULL when drawn
 */
struct api_value {
    const struct api_field *field;
    enum api_form form;
    bool boolean, flat;
    unsigned choice;
    uint32_t chosen;
    int64_t integer;
    double number;
    const char *string;
    int64_t pair[2];
    struct attn_tensor tensor;
    const char **strings;
    size_t count;
    struct api_value *inner, **list;
    json_t *json;
};

/* api_field_find - row of a name, or table->count. */
size_t api_field_find(const struct api_table *table, const char *name);

/* struct api_guess - the known name that another name means: the same letters, a synonym (synonyms.h), or the nearest
 * by edits, where a change of case counts less than a change of letter.
 *
 *     name    NULL: none is near
 *     hint    a sentence that says more than the name; NULL: none
 */
struct api_guess {
    const char *name, *hint;
};

/* api_guess_word, api_guess_field - among words (NULL at the end), among the fields of a table. */
struct api_guess api_guess_word(const char *const *words, const char *name);
struct api_guess api_guess_field(const struct api_table *table, const char *name);

/* api_closest - the name of api_guess_word. */
const char *api_closest(const char *const *names, const char *name);

/* api_form_names - "a number or a list of numbers": what `accepts` means, for messages, written into out. */
const char *api_form_names(unsigned accepts, char *out, size_t size);

#endif
