/* bind_tensor.h - tensors of a request: lifted lists, {"shape", "data"}, {"eye"}; and lists that could not be lifted.
 */
#ifndef API_BIND_TENSOR_H
#define API_BIND_TENSOR_H

#include "api/bind.h"
#include "api/place.h"

/* api_placeholder - the lifted array that a value of the envelope stands for; NULL for any other value. */
const struct api_lifted *api_placeholder(const struct api_job *job, const json_t *json);

/* struct api_eye - an identity matrix whose memory comes with api_admit. */
struct api_eye {
    struct attn_tensor *tensor;
    struct api_eye *next;
};

/* api_eye_fill - writes the identity matrix into data. */
void api_eye_fill(const struct attn_tensor *tensor);

/* api_bind_tensor - binds an array or object to value->tensor in the form that value->field takes. */
bool api_bind_tensor(struct api_job *job, json_t *json, const struct api_place *place, struct api_value *value);

/* api_refuse_element - refuses element `index`, in row-major order, of a bound tensor or number; the pointer leads to
 * where it stands in the request: /ids/1/0, or /ids/data/2 when it was sent as {"shape", "data"}. */
bool api_refuse_element(struct api_job *job, const char *code, const struct api_place *place,
                        const struct api_value *value, size_t index, const char *detail);

#endif
