/* check.h - arrays that a client claims to be the answer of its request. */
#ifndef API_CHECK_H
#define API_CHECK_H

#include "core/tensor.h"

/* struct api_claim - while /check runs an attention request, its checks are measured on these arrays (ATTN_F64) instead
 * of the computed ones, where their shapes agree. NULL: not sent. */
struct api_claim {
    const struct attn_tensor *weights, *output;
};

#endif
