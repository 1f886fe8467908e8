/* bind.h - from the JSON envelope to bound fields. */
#ifndef API_BIND_H
#define API_BIND_H

#include "api/job.h"
#include "api/place.h"

/* api_bind - binds the members of `object` to the rows of `table`.
 *
 *     prefix    JSON pointer of the object: "" at the top, "/tokens"
 *     values    out: table->count values in the arena
 *
 * Refuses unknown fields (with the closest known name), missing ones, wrong types, ragged rows, empty tensors, ranks
 * outside the row's range, numbers beyond double. The first problem in the order of the request wins.
 */
bool api_bind(struct api_job *job, const struct api_table *table, json_t *object, const char *prefix,
              struct api_value **values);

/* api_refuse_unknown - reports a name that is not in the table, with the closest known one. */
bool api_refuse_unknown(struct api_job *job, const struct api_table *table, const char *name, const char *prefix);

/* api_refuse_place - api_refuse at a place; detail (in the arena or static) NULL: memory was refused while it was
 * written. */
bool api_refuse_place(struct api_job *job, const char *code, const struct api_place *place, const char *detail);

/* api_is_integral - a double that says one integer: whole, and below 2^53. */
bool api_is_integral(double number);

/* What a value of the envelope is ("a list of numbers"), and words with commas between; for messages. */
const char *api_describe(const struct api_job *job, const json_t *json);
const char *api_words(struct api_job *job, const char *const *words);

/* api_field_words - the names of a table's fields, with commas between; NULL: no memory. */
const char *api_field_words(struct api_job *job, const struct api_table *table);

/* api_guess_text - "Did you mean ...?", or what else a guess says; NULL when there is none. */
const char *api_guess_text(struct api_job *job, struct api_guess guess);

/* api_refuse_type - the field takes other JSON than this. */
bool api_refuse_type(struct api_job *job, const struct api_field *field, const json_t *json,
                     const struct api_place *place);

/* api_type_hint - how to write such a value so that the field takes it; NULL when there is nothing to say. */
const char *api_type_hint(struct api_job *job, const struct api_field *field, const json_t *json);

/* struct api_fault, api_integer_fault - what to say of a number where the field takes integers: a fraction, NaN, or an
 * integer that no double tells from its neighbours. `detail` NULL: memory was refused. */
struct api_fault {
    const char *code, *detail, *hint;
};
struct api_fault api_integer_fault(struct api_job *job, const struct api_field *field, double number);

/* api_number_hint - the same for an element of a tensor of numbers. */
const char *api_number_hint(struct api_job *job, const json_t *json);

/* api_bind_drawn - once draws are planned: refuses required tensors that are still missing. */
bool api_bind_drawn(struct api_job *job);

/* api_bind_sizes - a shape such as [2, "vocab"]: one to four sizes whose product fits into memory.
 *
 *     vocab    what "vocab" stands for; 0: not known, and then refused by name; NULL: a tensor's own shape, where the
 *              word means nothing
 *     empty    a size may be 0
 */
bool api_bind_sizes(struct api_job *job, json_t *json, const struct api_place *place, const size_t *vocab, bool empty,
                    unsigned *rank, size_t *shape);

#endif
