/* job.h - one request on its way through an endpoint: what every stage of it needs, and how each may refuse.
 *
 * An endpoint is one file api/NAME.c with a field table (fields.h) and a function
 *
 *     bool api_NAME(struct api_job *job)
 *
 * named in the route table in api/api.c. It is called with the fields bound, text turned to ids, and shapes of drawn
 * tensors known. It checks shapes, states its cost to api_admit, computes, and writes members into job->writer, whose
 * top-level object is open. Every function that returns bool reports its own problem: `return false` is all that is
 * left to do.
 */
#ifndef API_JOB_H
#define API_JOB_H

#include "api/api.h"
#include "api/arena.h"
#include "api/fields.h"
#include "api/json_write.h"
#include "api/lift.h"
#include "api/problem.h"
#include "api/tokens.h"
#include "core/err.h"

struct api_draws;
struct api_claim;
struct api_eye;

/* struct api_job
 *
 *     values    bound fields, indexed by the endpoint's enum
 *     tokens    texts or ids of /embed or of the field "tokens"; tokens.given is false without
 *     writer    the answer, top-level object open
 *     rest      what follows the route's path, for GET /examples/{name}; "" otherwise
 *     claim     the client's own results, while /check runs a request (check.h); NULL otherwise
 *     lift, draws, eyes, deferred   the framework's
 */
struct api_job {
    const struct api_env *env;
    struct api_response *response;
    struct api_arena *arena;
    struct api_problem *problem;
    struct api_writer *writer;
    const struct api_table *table;
    struct api_value *values;
    struct api_tokens tokens;
    const char *rest;
    const struct api_lift *lift;
    struct api_draws *draws;
    struct api_eye *eyes;
    const struct api_claim *claim;
    bool deferred;
};

/* struct api_cost - what an endpoint is about to spend.
 *
 *     multiply_adds   of all matrix products, checks included
 *     numbers         that will be written
 *     bytes           that will be taken from the arena from now on (without the answer's text, which api_admit adds)
 */
struct api_cost {
    double multiply_adds, numbers, bytes;
};

/* api_admit - may this much be spent? Refuses by the limits with the estimate, hands over to another thread (see
 * api_env.inline_cost), asks for memory, then fills drawn tensors. Call it once, after all checks of shapes and before
 * anything large is taken or computed. */
bool api_admit(struct api_job *job, const struct api_cost *cost);

/* api_take - memory of the request, aligned to 64; NULL after api_refuse_memory. */
void *api_take(struct api_job *job, size_t count, size_t size);

/* api_tensor_take - a tensor with memory. */
bool api_tensor_take(struct api_job *job, enum attn_dtype dtype, unsigned rank, const size_t *shape,
                     struct attn_tensor *tensor);

/* api_refuse - reports a problem, unless one was reported before; always returns false. `pointer` and the finished
 * detail are copied into the arena. Add job->problem->hint, expected, got (static or arena strings) afterwards. */
bool api_refuse(struct api_job *job, const char *code, const char *pointer, const char *detail, ...)
    __attribute__((format(printf, 4, 5)));

/* api_refuse_err - reports what core/ refused: "rope.dims" becomes /rope/dims; ATTN_SHAPE_MISMATCH shape_mismatch,
 * ATTN_BAD_VALUE bad_value, ATTN_CONFLICT conflict. */
bool api_refuse_err(struct api_job *job, struct attn_err err);

/* api_refuse_memory - reports that the arena refused memory: memory_limit (413), or out_of_memory (503) when it was the
 * system. */
bool api_refuse_memory(struct api_job *job);

/* api_refuse_stopped - reports that env->exec stopped the work. */
bool api_refuse_stopped(struct api_job *job);

/* api_refuse_unread - reports why a text could not be read to its end: out of memory, or stopped.
 * api_refuse_unwritten - reports why a document could not be written: too long, stopped, or out of memory. */
bool api_refuse_unread(struct api_job *job);
bool api_refuse_unwritten(struct api_job *job, bool over_limit);

/* api_shape_text - "(2, 3)" in the arena, for messages. */
const char *api_shape_text(struct api_job *job, const struct attn_tensor *tensor);

/* api_cast - a bound tensor of ATTN_F64 in the wanted dtype (ATTN_F32 overwrites it in place). NULL data is left. */
void api_cast(struct attn_tensor *tensor, enum attn_dtype dtype);

/* Defaults that depend on the request: the value if given (not null), else `other`. */
static inline bool api_given(const struct api_value *v) {
    return v->form != API_ABSENT && v->form != API_NULL;
}

#endif
