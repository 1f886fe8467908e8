/* envelope.h - the small text that remains when the tensors are lifted, read by jansson. */
#ifndef API_ENVELOPE_H
#define API_ENVELOPE_H

#include "api/job.h"

/* api_envelope_begin, _end - between them jansson takes its memory in this thread from the arena: counted against the
 * limit, never given back piece by piece. Trees made there live as long as the arena. */
void api_envelope_begin(struct api_arena *arena);
void api_envelope_end(void);

/* api_envelope_load - what is left when the tensors are lifted, by jansson, between begin and end.
 *
 *     how      flags of json_loadb besides JSON_REJECT_DUPLICATES and JSON_DECODE_ANY
 *     error    of the text, where neither memory nor exec was the reason
 *
 * Returns NULL when the text is malformed, when memory was refused (arena->failed) or exec stopped.
 */
json_t *api_envelope_load(const struct api_lift *lift, const struct attn_exec *exec, size_t how, json_error_t *error);

/* api_envelope_read - lifts the tensors out of the body and reads the rest. Returns the top-level object, or NULL after
 * reporting. Call it between begin and end. */
json_t *api_envelope_read(struct api_job *job, const char *body, size_t size, struct api_lift *lift);

#endif
