/* problem.h - what is wrong with a request, in the form of RFC 9457. One table holds every code, its status and title.
 */
#ifndef API_PROBLEM_H
#define API_PROBLEM_H

#include "api/api.h"
#include "api/arena.h"

#include <stdbool.h>
#include <stddef.h>

/* struct api_problem - the first thing found wrong; later reports are ignored. Zeroed = nothing wrong.
 *
 *     code       key into the problem table, static; NULL while nothing is wrong
 *     pointer    JSON pointer into the request (RFC 6901, escaped), or NULL
 *     detail     a sentence that helps to mend it
 *     expected, got, hint   short texts or NULL
 *     line, column   for text that is not JSON; 0 = none
 *     pretty     indent the document
 *
 * Strings live in the request's arena or are static.
 */
struct api_problem {
    const char *code, *pointer, *detail, *expected, *got, *hint;
    size_t line, column;
    bool pretty;
};

/* struct api_problem_type - one row of the table; also what GET /problems documents. `meaning` is one or two sentences
 * for a reader of the documentation. */
struct api_problem_type {
    const char *code;
    int status;
    const char *title, *meaning;
};

const struct api_problem_type *api_problem_find(const char *code);

/* api_problem_at - row `index` of the table, NULL at the end. */
const struct api_problem_type *api_problem_at(size_t index);

/* api_problem_write - turns a problem into a response: status, application/problem+json, and the body with `type`
 * ("/problems#code"), `title`, `status`, `detail`, `error` (detail again, for clients that read that), `code` and what
 * else is set. */
void api_problem_write(const struct api_problem *problem, struct api_response *response);

#endif
