/* attend_fields.h - the fields of /attention and /mha. Most are shared, so both tables begin with the same rows. */
#ifndef API_ATTEND_FIELDS_H
#define API_ATTEND_FIELDS_H

#include "api/fields.h"

enum api_attend_field {
    API_AT_X,
    API_AT_TOKENS,
    API_AT_CONTEXT,
    API_AT_WQ,
    API_AT_WK,
    API_AT_WV,
    API_AT_BQ,
    API_AT_BK,
    API_AT_BV,
    API_AT_WEIGHT_LAYOUT,
    API_AT_NUM_HEADS,
    API_AT_NUM_KV_HEADS,
    API_AT_ROPE,
    API_AT_SCALE,
    API_AT_SOFTCAP,
    API_AT_ATTN_BIAS,
    API_AT_ALIBI,
    API_AT_ATTN_MASK,
    API_AT_KEY_PADDING_MASK,
    API_AT_KEY_LENGTHS,
    API_AT_CAUSAL,
    API_AT_CAUSAL_ALIGNMENT,
    API_AT_WINDOW,
    API_AT_SINKS,
    API_AT_MASK_VALUE,
    API_AT_PAST_KEY,
    API_AT_PAST_VALUE,
    API_AT_AVERAGE_WEIGHTS,
    API_AT_DTYPE,
    API_AT_RANDOM,
    API_AT_RETURN,
    API_AT_TRACE,
    API_AT_CHECKS,
    API_AT_ROUND,
    API_AT_SHARED, /* the fields above are those of both */

    API_AT_Q = API_AT_SHARED, /* /attention */
    API_AT_K,
    API_AT_V,
    API_ATTENTION_FIELDS,

    API_AT_WO = API_AT_SHARED, /* /mha */
    API_AT_BO,
    API_MHA_FIELDS
};

enum api_rope_field { API_ROPE_BASE, API_ROPE_INTERLEAVED, API_ROPE_DIMS, API_ROPE_POSITIONS, API_ROPE_FIELDS };

enum { API_LAYOUT_IN_OUT, API_LAYOUT_OUT_IN };       /* choices of weight_layout */
enum { API_ALIGN_TOP_LEFT, API_ALIGN_BOTTOM_RIGHT }; /* choices of causal_alignment */

/* What "return" may name; `heads` in /mha only. */
enum api_attend_result {
    API_GIVE_OUTPUT,
    API_GIVE_WEIGHTS,
    API_GIVE_SCORES,
    API_GIVE_CAPPED,
    API_GIVE_MASKED,
    API_GIVE_LOGSUMEXP,
    API_GIVE_Q,
    API_GIVE_K,
    API_GIVE_V,
    API_GIVE_PRESENT_KEY,
    API_GIVE_PRESENT_VALUE,
    API_GIVE_HEADS,
    API_GIVE_RESULTS
};

extern const struct api_table api_attention_table, api_mha_table;

#endif
