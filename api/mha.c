/* mha.c - POST /mha: projections, heads, attention, output projection. Its fields: attend_fields.c. */
#include "api/attend.h"
#include "api/endpoints.h"

bool api_mha(struct api_job *job) {
    return api_attend(job, true);
}
