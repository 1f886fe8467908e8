/* draws.h - "random": fields that are filled from the stream of NumPy's default_rng instead of being sent. */
#ifndef API_DRAWS_H
#define API_DRAWS_H

#include "api/job.h"

/* api_draws_plan - reads job's "random" field, if the table has one and it was sent: each field named by an `into`
 * becomes a tensor of the draw's shape without data. "tokens.table" names a field of an object. `vocab`: what the size
 * "vocab" stands for; 0 = not known. Refuses a field that was also sent, is drawn twice, or cannot hold numbers. */
bool api_draws_plan(struct api_job *job, const struct api_value *random, size_t vocab);

/* api_draws_numbers - how many numbers are to be drawn; NULL: none. */
double api_draws_numbers(const struct api_draws *draws);

/* api_draws_fill - draws them, in the order of the request. */
bool api_draws_fill(struct api_job *job);

#endif
