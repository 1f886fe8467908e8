/* build.h - requests put together in tests, and what is read off their answers. */
#ifndef TESTS_API_BUILD_H
#define TESTS_API_BUILD_H

#include "tests/api/call.h"

#include <stddef.h>
#include <stdint.h>

/* tensor - nested lists of uniform numbers in [-1, 1); shape ends in 0. A new reference. */
json_t *tensor(uint64_t *seed, ...);

/* transposed - of a matrix; rows_of - rows [first, first + count) of one; joined_rows - one matrix below another;
 * chosen_rows - rows in the order of `order`. New references. */
json_t *transposed(const json_t *matrix);
json_t *rows_of(const json_t *matrix, size_t first, size_t count);
json_t *chosen_rows(const json_t *matrix, const size_t *order, size_t count);

/* with - the request plus members of a JSON object given as text (or a new reference as value); the request itself is
 * untouched. New references. */
json_t *with(const json_t *request, const char *members);
json_t *with_new(json_t *request, const char *members); /* steals the request */
json_t *with_value(const json_t *request, const char *name, json_t *value);

/* ask - asks for an answer with status 200 (asserted with the body shown) and returns its document, a new reference;
 * steals the request. */
json_t *ask(const char *path, json_t *request);

/* number_at - the number at a path such as "checks.causality.max_past_change" or "weights.0.2"; NaN if there is none.
 * truth_at - whether the value there is true. */
double number_at(const json_t *answer, const char *path);
bool truth_at(const json_t *answer, const char *path);
json_t *value_at(const json_t *answer, const char *path);

/* assert_near - json_near, asserted. */
void assert_near(const json_t *expected, const json_t *got, double tolerance, const char *what);

#endif
