/* attention.c - POST /attention: q, k and v, or what they are projected from. Its fields: attend_fields.c. */
#include "api/attend.h"
#include "api/endpoints.h"

bool api_attention(struct api_job *job) {
    return api_attend(job, false);
}
