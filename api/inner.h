/* inner.h - a request within a request: it runs as it would alone, and its answer is read back from the text, in which
 * every number stands exactly. */
#ifndef API_INNER_H
#define API_INNER_H

#include "api/endpoints.h"

/* struct api_inner - the answer: its members, and the arrays that were lifted out of it. Lives in the arena. */
struct api_inner {
    struct api_lift lift;
    json_t *root;
};

/* api_inner_run - runs `request` at `endpoint` with the outer request's arena, numbers and limits.
 *
 *     within   pointer of the request in the outer one, put in front of what is wrong within it: "/request"
 *     claim    see check.h
 */
bool api_inner_run(struct api_job *job, const struct api_endpoint *endpoint, json_t *request, const char *within,
                   const struct api_claim *claim, struct api_inner *inner);

/* api_inner_array - reads the array that is called value->field->name. Returns false after reporting, or, with nothing
 * reported, when the answer has none. */
bool api_inner_array(struct api_job *job, const struct api_inner *inner, struct api_value *value);

#endif
