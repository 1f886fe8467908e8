/* tokens.h - the fields of /embed, also inside "tokens" of /attention and /mha: from texts or ids to embeddings. */
#ifndef API_TOKENS_H
#define API_TOKENS_H

#include "api/fields.h"

struct api_job;

enum api_embed_field {
    API_EMBED_IDS,
    API_EMBED_TEXTS,
    API_EMBED_VOCAB,
    API_EMBED_PAD_TOKEN,
    API_EMBED_MAX_LENGTH,
    API_EMBED_PAD_ID,
    API_EMBED_TABLE,
    API_EMBED_POSITIONS,
    API_EMBED_SCALE,
    API_EMBED_TOKEN_FIELDS, /* the fields above are those of "tokens" */
    API_EMBED_DTYPE = API_EMBED_TOKEN_FIELDS,
    API_EMBED_RANDOM,
    API_EMBED_RETURN,
    API_EMBED_ROUND,
    API_EMBED_FIELDS
};

/* The table of POST /embed, and that of "tokens" (its first API_EMBED_TOKEN_FIELDS rows). */
extern const struct api_table api_embed_table, api_tokens_table;

/* struct api_tokens - prepared by the framework before the endpoint is called.
 *
 *     given      texts or ids were sent
 *     ids        ATTN_I64, (n) or (batch, n); rows cut and padded to one length
 *     pad_mask   ATTN_BOOL, same shape; true = padding
 *     padded     some position is padding
 *     vocab      number of token ids known: words of the vocabulary, or the largest id of a given one + 1; else 0
 *     vocabulary the words and their ids, in order: the client's, or the one built from the texts; NULL with ids only
 *     output     (n, d) or (batch, n, d): what api_tokens_embed will return; data NULL until then
 */
struct api_tokens {
    bool given, padded;
    struct attn_tensor ids, pad_mask, output;
    size_t vocab;
    json_t *vocabulary;
    struct api_value *values;
    const char *prefix;
};

/* api_tokens_prepare - texts to ids, lengths, pad mask and vocabulary. `prefix` "" or "/tokens".
 * api_tokens_check - after draws are planned: table there, rank 2, every id inside; sets output's shape. */
bool api_tokens_prepare(struct api_job *job, struct api_value *values, const char *prefix);
bool api_tokens_check(struct api_job *job);

/* api_tokens_embed - after api_admit: job->tokens.output gets its numbers, in `dtype`. */
bool api_tokens_embed(struct api_job *job, enum attn_dtype dtype);

/* api_tokens_bytes - arena bytes that api_tokens_embed takes, for struct api_cost. */
double api_tokens_bytes(const struct api_job *job, enum attn_dtype dtype);

#endif
