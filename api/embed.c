/* embed.c - POST /embed: texts or ids to vectors. */
#include "api/endpoints.h"
#include "api/result.h"

static const char *const position_choices[] = {"none", "sinusoidal", NULL};

enum { RETURN_OUTPUT, RETURN_IDS, RETURN_PAD_MASK, RETURN_VOCAB, RETURN_ALL = 0xf };

static const char *const return_choices[] = {"output", "ids", "pad_mask", "vocab", NULL};

static const struct api_field fields[API_EMBED_FIELDS] = {
    [API_EMBED_IDS] = {.name = "ids",
                       .accepts = API_IDS,
                       .min_rank = 1,
                       .max_rank = 2,
                       .shape = "(n) or (batch, n)",
                       .doc = "Token ids; send these or `texts`."},
    [API_EMBED_TEXTS] = {.name = "texts", .accepts = API_STRINGS, .doc = "Texts, split into words at white space."},
    [API_EMBED_VOCAB] =
        {.name = "vocab",
         .accepts = API_MAP,
         .doc = "The id of each word; absent: ids in order of first appearance, behind the padding token."},
    [API_EMBED_PAD_TOKEN] = {.name = "pad_token",
                             .accepts = API_STRING,
                             .doc = "The word that stands for padding; \"<pad>\" when the vocabulary is built here."},
    [API_EMBED_MAX_LENGTH] = {.name = "max_length",
                              .accepts = API_INT,
                              .doc = "Cuts and pads every row to this length; absent: the longest row's."},
    [API_EMBED_PAD_ID] = {.name = "pad_id",
                          .accepts = API_INT | API_NULL,
                          .flags = API_HAS_DEFAULT,
                          .standard = 0,
                          .doc = "The id that counts as padding; null: none does."},
    [API_EMBED_TABLE] = {.name = "table",
                         .accepts = API_TENSOR,
                         .min_rank = 2,
                         .max_rank = 2,
                         .shape = "(vocab, d)",
                         .doc = "The embedding table, one row for each id."},
    [API_EMBED_POSITIONS] = {.name = "positions",
                             .accepts = API_CHOICE | API_TENSOR,
                             .flags = API_HAS_DEFAULT,
                             .standard = 0,
                             .choices = position_choices,
                             .min_rank = 2,
                             .max_rank = 2,
                             .shape = "(n, d)",
                             .doc = "What is added for the position: nothing, sines and cosines, or rows of a matrix."},
    [API_EMBED_SCALE] = {.name = "scale",
                         .accepts = API_NUMBER,
                         .flags = API_HAS_DEFAULT,
                         .standard = 1,
                         .doc = "Multiplies the table's rows, before positions are added."},
    [API_EMBED_DTYPE] = API_ROW_DTYPE,
    [API_EMBED_RANDOM] = API_ROW_RANDOM,
    [API_EMBED_RETURN] = API_ROW_RETURN(return_choices),
    [API_EMBED_ROUND] = API_ROW_ROUND,
};

const struct api_table api_embed_table = {"EmbedRequest", fields, API_EMBED_FIELDS};
const struct api_table api_tokens_table = {"Tokens", fields, API_EMBED_TOKEN_FIELDS};

static void write_vocabulary(struct api_writer *w, json_t *vocabulary) {
    const char *word;
    json_t *id;
    api_write_object(w, "vocab");
    json_object_foreach(vocabulary, word, id) {
        api_write_member(w, word);
        api_write_integer(w, NULL, json_integer_value(id));
    }
    api_write_object_end(w);
}

static void describe(struct api_job *job, const struct attn_tensor *out) {
    size_t b = out->rank == 3 ? out->shape[0] : 1;
    snprintf(job->response->shape, API_SHAPE_MAX, "b%zu n%zu d%zu", b, out->shape[out->rank - 2],
             out->shape[out->rank - 1]);
}

bool api_embed(struct api_job *job) {
    struct api_tokens *tokens = &job->tokens;
    const struct api_value *asked = &job->values[API_EMBED_RETURN];
    enum attn_dtype dtype = job->values[API_EMBED_DTYPE].choice == 1 ? ATTN_F32 : ATTN_F64;
    if (!api_tokens_check(job))
        return false;
    double count = (double)attn_tensor_count(&tokens->output), ids = (double)attn_tensor_count(&tokens->ids);
    bool output = api_wants(asked, RETURN_ALL, RETURN_OUTPUT);
    struct api_cost cost = {.multiply_adds = count,
                            .numbers = (output ? count : 0) + 2 * ids + (double)tokens->vocab,
                            .bytes = api_tokens_bytes(job, dtype)};
    if (!api_admit(job, &cost) || (output && !api_tokens_embed(job, dtype)))
        return false;
    describe(job, &tokens->output);
    struct api_results results = {0};
    if (output)
        api_results_add(&results, "output", &tokens->output);
    if (api_wants(asked, RETURN_ALL, RETURN_IDS))
        api_results_add(&results, "ids", &tokens->ids);
    if (api_wants(asked, RETURN_ALL, RETURN_PAD_MASK))
        api_results_add(&results, "pad_mask", &tokens->pad_mask);
    api_results_write(job->writer, &results);
    if (tokens->vocabulary && api_wants(asked, RETURN_ALL, RETURN_VOCAB))
        write_vocabulary(job->writer, tokens->vocabulary);
    return true;
}
