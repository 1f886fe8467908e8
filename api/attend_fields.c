/* attend_fields.c - the two tables of attend_fields.h. */
#include "api/attend_fields.h"

#include "api/result.h"

static const char *const layouts[] = {"in_out", "out_in", NULL};
static const char *const alignments[] = {"top_left", "bottom_right", NULL};
static const char *const attention_results[] = {
    "output", "weights", "scores", "capped_scores", "masked_scores", "logsumexp",
    "q",      "k",       "v",      "present_key",   "present_value", NULL};
static const char *const mha_results[] = {"output", "weights", "scores", "capped_scores", "masked_scores", "logsumexp",
                                          "q",      "k",       "v",      "present_key",   "present_value", "heads",
                                          NULL};

/* A tensor; an integer; a number that null leaves at its default. */
#define TENSOR(name_, low, high, flags_, shape_, doc_)                                                                 \
    {                                                                                                                  \
        .name = name_, .accepts = API_TENSOR, .flags = flags_, .min_rank = low, .max_rank = high, .shape = shape_,     \
        .doc = doc_                                                                                                    \
    }
#define FLAG(name_, default_, doc_)                                                                                    \
    { .name = name_, .accepts = API_BOOL, .flags = API_HAS_DEFAULT, .standard = default_, .doc = doc_ }
#define NUMBER(name_, doc_)                                                                                            \
    { .name = name_, .accepts = API_NUMBER | API_NULL, .doc = doc_ }
#define COUNT(name_, doc_)                                                                                             \
    { .name = name_, .accepts = API_INT | API_NULL, .doc = doc_ }

static const struct api_field rope_fields[API_ROPE_FIELDS] = {
    [API_ROPE_BASE] = {.name = "base",
                       .accepts = API_NUMBER,
                       .flags = API_HAS_DEFAULT,
                       .standard = 10000,
                       .doc = "The angle of pair i at position p is p * base^(-2i/dims)."},
    [API_ROPE_INTERLEAVED] = FLAG("interleaved", 0, "Pairs are columns (2i, 2i + 1) instead of (i, i + dims/2)."),
    [API_ROPE_DIMS] = COUNT("dims", "How many leading columns of a head turn; even; all of them without it."),
    [API_ROPE_POSITIONS] = {.name = "positions",
                            .accepts = API_TENSOR | API_NULL,
                            .flags = API_NO_DRAW,
                            .min_rank = 1,
                            .max_rank = 2,
                            .shape = "(n) or (batch, n)",
                            .doc = "Own positions."},
};
static const struct api_table rope_table = {"Rope", rope_fields, API_ROPE_FIELDS};

#define SHARED_ROWS(x_max_rank, matrix_flags, heads_flags, results)                                                    \
    [API_AT_X] = TENSOR("x", 2, x_max_rank, 0, "(n, d) or (batch, n, d)", "Source of q, k and v."),                    \
    [API_AT_TOKENS] = {.name = "tokens",                                                                               \
                       .accepts = API_OBJECT,                                                                          \
                       .object = &api_tokens_table,                                                                    \
                       .doc = "Texts or ids whose embedding takes the place of x."},                                   \
    [API_AT_CONTEXT] = TENSOR("context", 2, x_max_rank, 0, "(n_k, d_context) or (batch, n_k, d_context)",              \
                              "Source of k and v for cross-attention."),                                               \
    [API_AT_WQ] = TENSOR("wq", 2, 2, matrix_flags, "(d, columns)", "It makes the queries, q = x @ wq."),               \
    [API_AT_WK] = TENSOR("wk", 2, 2, matrix_flags, "(d, columns)", "It makes the keys, k = x @ wk."),                  \
    [API_AT_WV] = TENSOR("wv", 2, 2, matrix_flags, "(d, columns)", "It makes the values, v = x @ wv."),                \
    [API_AT_BQ] = TENSOR("bq", 1, 1, 0, "(columns of wq)", "Added to x @ wq."),                                        \
    [API_AT_BK] = TENSOR("bk", 1, 1, 0, "(columns of wk)", "Added to x @ wk."),                                        \
    [API_AT_BV] = TENSOR("bv", 1, 1, 0, "(columns of wv)", "Added to x @ wv."),                                        \
    [API_AT_WEIGHT_LAYOUT] = {.name = "weight_layout",                                                                 \
                              .accepts = API_CHOICE,                                                                   \
                              .flags = API_HAS_DEFAULT,                                                                \
                              .choices = layouts,                                                                      \
                              .doc = "out_in takes transposed matrices, as PyTorch stores them."},                     \
    [API_AT_NUM_HEADS] = {.name = "num_heads",                                                                         \
                          .accepts = API_INT | API_NULL,                                                               \
                          .flags = heads_flags,                                                                        \
                          .doc = "How many heads the columns are split into."},                                        \
    [API_AT_NUM_KV_HEADS] = COUNT("num_kv_heads", "Heads of k and v, num_heads by default; must divide it."),          \
    [API_AT_ROPE] = {.name = "rope",                                                                                   \
                     .accepts = API_OBJECT | API_NULL,                                                                 \
                     .object = &rope_table,                                                                            \
                     .doc = "Rotary positions of q and k; they continue behind the past."},                            \
    [API_AT_SCALE] = NUMBER("scale", "Factor of the scores, 1/sqrt(d) of q by default."),                              \
    [API_AT_SOFTCAP] = NUMBER("softcap", "c of c * tanh(scores / c), applied before masks."),                          \
    [API_AT_ATTN_BIAS] = TENSOR("attn_bias", 0, 0, 0, "one that broadcasts to the scores", "Added to the scores."),    \
    [API_AT_ALIBI] = {.name = "alibi",                                                                                 \
                      .accepts = API_BOOL | API_TENSOR | API_NULL,                                                     \
                      .min_rank = 1,                                                                                   \
                      .max_rank = 1,                                                                                   \
                      .shape = "(heads)",                                                                              \
                      .doc = "Adds -slope * |j - p|; true takes the published slopes, a list gives one a head."},      \
    [API_AT_ATTN_MASK] = {.name = "attn_mask",                                                                         \
                          .accepts = API_MASK,                                                                         \
                          .shape = "one that broadcasts to the scores",                                                \
                          .doc = "True = may attend."},                                                                \
    [API_AT_KEY_PADDING_MASK] = {.name = "key_padding_mask",                                                           \
                                 .accepts = API_MASK,                                                                  \
                                 .min_rank = 1,                                                                        \
                                 .max_rank = 2,                                                                        \
                                 .shape = "(n_k) or (batch, n_k)",                                                     \
                                 .doc = "True = padding, drop."},                                                      \
    [API_AT_KEY_LENGTHS] = {.name = "key_lengths",                                                                     \
                            .accepts = API_IDS,                                                                        \
                            .min_rank = 1,                                                                             \
                            .max_rank = 1,                                                                             \
                            .shape = "(batch)",                                                                        \
                            .doc = "How many keys of each example count."},                                            \
    [API_AT_CAUSAL] = FLAG("causal", 0, "Query i sees key j only if j <= i + offset, the length of the past."),        \
    [API_AT_CAUSAL_ALIGNMENT] = {.name = "causal_alignment",                                                           \
                                 .accepts = API_CHOICE,                                                                \
                                 .flags = API_HAS_DEFAULT,                                                             \
                                 .choices = alignments,                                                                \
                                 .doc = "bottom_right makes the offset n_k - n_q."},                                   \
    [API_AT_WINDOW] = {.name = "window",                                                                               \
                       .accepts = API_PAIR | API_NULL,                                                                 \
                       .doc = "[left, right]: keys p - left to p + right; null is open."},                             \
    [API_AT_SINKS] = TENSOR("sinks", 1, 1, 0, "(heads)", "One logit a head that joins the denominator only."),         \
    [API_AT_MASK_VALUE] = NUMBER("mask_value", "Masked scores become this instead of disappearing."),                  \
    [API_AT_PAST_KEY] = TENSOR("past_key", 2, 4, API_ALLOW_EMPTY, "that of present_key", "Keys from before."),         \
    [API_AT_PAST_VALUE] = TENSOR("past_value", 2, 4, API_ALLOW_EMPTY, "that of present_value", "Values from before."), \
    [API_AT_AVERAGE_WEIGHTS] = FLAG("average_weights", 0, "Send the mean of the weights over the heads."),             \
    [API_AT_DTYPE] = API_ROW_DTYPE, [API_AT_RANDOM] = API_ROW_RANDOM, [API_AT_RETURN] = API_ROW_RETURN(results),       \
    [API_AT_TRACE] = FLAG("trace", 0, "Send every intermediate in order, with name, formula and shape."),              \
    [API_AT_CHECKS] = FLAG("checks", 1, "False leaves the checks out."), [API_AT_ROUND] = API_ROW_ROUND

static const struct api_field attention_fields[API_ATTENTION_FIELDS] = {
    SHARED_ROWS(4, 0, 0, attention_results),
    [API_AT_Q] = TENSOR("q", 2, 4, 0, "(n_q, d), (batch, n_q, d) or (batch, heads, n_q, d)", "Queries."),
    [API_AT_K] = TENSOR("k", 2, 4, 0, "(n_k, d), (batch, n_k, d) or (batch, kv_heads, n_k, d)", "Keys."),
    [API_AT_V] = TENSOR("v", 2, 4, 0, "(n_k, d_v), (batch, n_k, d_v) or (batch, kv_heads, n_k, d_v)", "Values."),
};
const struct api_table api_attention_table = {"AttentionRequest", attention_fields, API_ATTENTION_FIELDS};

static const struct api_field mha_fields[API_MHA_FIELDS] = {
    SHARED_ROWS(3, API_REQUIRED, API_REQUIRED, mha_results),
    [API_AT_WO] =
        TENSOR("wo", 2, 2, API_REQUIRED, "(heads * d_v, d_out)", "It mixes the heads, output = joined heads @ wo."),
    [API_AT_BO] = TENSOR("bo", 1, 1, 0, "(d_out)", "Added to the output."),
};
const struct api_table api_mha_table = {"MhaRequest", mha_fields, API_MHA_FIELDS};
