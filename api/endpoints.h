/* endpoints.h - what an endpoint is, and where each lives: one row in the table of api/api.c, one file
 * api/NAME.c. README.md, "Adding an endpoint", lists every step. */
#ifndef API_ENDPOINTS_H
#define API_ENDPOINTS_H

#include "api/job.h"

/* Where the /embed fields stand in a request. */
enum { API_TOKENS_NONE = -1, API_TOKENS_SELF = -2 };

/* struct api_endpoint - one row.
 *
 *     method, path   a path ending in '/' also takes one more segment (job->rest)
 *     table          fields of the request body; NULL: no body (GET)
 *     tokens         index of the field that holds /embed's fields, API_TOKENS_SELF or API_TOKENS_NONE
 *     handle         see job.h
 */
struct api_endpoint {
    const char *method, *path;
    const struct api_table *table;
    int tokens;
    bool (*handle)(struct api_job *job);
};

/* api_run_body - binds an object of the client's to the endpoint's fields and calls it; also for a request in a
 * request. */
bool api_run_body(struct api_job *job, const struct api_endpoint *endpoint, json_t *root);

/* api_endpoint_at - row `index` of the route table; NULL at the end. */
const struct api_endpoint *api_endpoint_at(size_t index);

bool api_embed(struct api_job *job);     /* table: tokens.h */
bool api_attention(struct api_job *job); /* table: attend_fields.h */
bool api_mha(struct api_job *job);       /* table: attend_fields.h */
bool api_lookup(struct api_job *job);
extern const struct api_table api_lookup_table;
extern const struct api_table api_check_table;
bool api_check(struct api_job *job);
bool api_examples(struct api_job *job);
bool api_example(struct api_job *job);
bool api_version(struct api_job *job);

#endif
