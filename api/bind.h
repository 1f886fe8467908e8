/* bind.h - from the JSON envelope to bound fields. */
#ifndef API_BIND_H
#define API_BIND_H

#include "api/job.h"

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

/* api_bind_sizes - a shape such as [2, "vocab"]: sizes >= 1, at most ATTN_MAX_RANK of them, product within memory.
 * `vocab` 0: not known, and then refused by name. */
bool api_bind_sizes(struct api_job *job, json_t *json, const char *pointer, size_t vocab, unsigned *rank,
                    size_t *shape);

#endif
