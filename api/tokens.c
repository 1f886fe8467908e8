/* tokens.c - texts to ids, ids to embeddings; see tokens.h. */
#include "api/tokens.h"

#include "api/bind_tensor.h"
#include "api/words.h"
#include "core/embed.h"
#include "core/positions.h"

#include <string.h>

enum { POSITIONS_NONE, POSITIONS_SINUSOIDAL };

static struct api_place place_of(const struct api_job *job, enum api_embed_field field) {
    return (struct api_place){.prefix = job->tokens.prefix, .name = job->tokens.values[field].field->name};
}

static bool refuse_field(struct api_job *job, const char *code, enum api_embed_field field, const char *detail) {
    struct api_place place = place_of(job, field);
    return api_refuse_place(job, code, &place, detail);
}

/* The id that fills rows up, or -1 when padding is switched off. */
static bool find_pad(struct api_job *job, int64_t *pad) {
    const struct api_value *id = &job->tokens.values[API_EMBED_PAD_ID],
                           *token = &job->tokens.values[API_EMBED_PAD_TOKEN];
    *pad = id->form == API_NULL ? -1 : id->integer;
    if (id->form == API_INT && id->integer < 0)
        return refuse_field(job, "bad_value", API_EMBED_PAD_ID, "`pad_id` is an id from 0 on, or null for no padding.");
    if (token->form == API_ABSENT || !job->tokens.values[API_EMBED_VOCAB].json)
        return true;
    json_t *found = json_object_get(job->tokens.vocabulary, token->string);
    if (!found)
        return refuse_field(job, "unknown_token", API_EMBED_PAD_TOKEN, "`pad_token` is not in the vocabulary.");
    if (id->form == API_INT && id->integer != json_integer_value(found))
        return refuse_field(job, "conflict", API_EMBED_PAD_ID, "`pad_id` is not the id of `pad_token`.");
    *pad = json_integer_value(found);
    return true;
}

/* Length of every row after cutting and padding. */
static bool find_length(struct api_job *job, size_t longest, size_t *length) {
    const struct api_value *most = &job->tokens.values[API_EMBED_MAX_LENGTH];
    *length = longest;
    if (most->form == API_INT) {
        if (most->integer < 1 || most->integer > INT32_MAX)
            return refuse_field(job, "bad_value", API_EMBED_MAX_LENGTH,
                                "`max_length` is a length from 1 to 2147483647.");
        *length = (size_t)most->integer;
    }
    return *length > 0 || refuse_field(job, "empty_tensor", API_EMBED_TEXTS, "The texts hold no word.");
}

static bool take_rows(struct api_job *job, unsigned rank, const size_t *shape) {
    struct api_tokens *tokens = &job->tokens;
    return api_tensor_take(job, ATTN_I64, rank, shape, &tokens->ids) &&
           api_tensor_take(job, ATTN_BOOL, rank, shape, &tokens->pad_mask);
}

/* Row `row` of the ids, from `n` ids of the request, cut or filled up to `length`. */
static bool fill_row(struct api_job *job, size_t row, const int64_t *from, size_t n, size_t length, int64_t pad) {
    struct api_tokens *tokens = &job->tokens;
    int64_t *ids = (int64_t *)tokens->ids.data + row * length;
    uint8_t *mask = (uint8_t *)tokens->pad_mask.data + row * length;
    if (pad < 0 && n < length)
        return refuse_field(
            job, "conflict", API_EMBED_PAD_ID,
            "Some row is shorter than the others or `max_length`, but `pad_id` null allows no padding.");
    for (size_t i = 0; i < length; i++) {
        ids[i] = i < n ? from[i] : pad;
        mask[i] = ids[i] == pad;
        tokens->padded |= mask[i];
    }
    return true;
}

static bool prepare_ids(struct api_job *job, int64_t pad) {
    const struct attn_tensor *sent = &job->tokens.values[API_EMBED_IDS].tensor;
    size_t batch = sent->rank == 2 ? sent->shape[0] : 1, n = sent->shape[sent->rank - 1], length;
    if (!find_length(job, n, &length))
        return false;
    size_t shape[2] = {batch, length};
    if (!take_rows(job, sent->rank, shape + 2 - sent->rank))
        return false;
    for (size_t b = 0; b < batch; b++)
        if (!fill_row(job, b, (const int64_t *)sent->data + b * n, n, length, pad))
            return false;
    return true;
}

static bool prepare_texts(struct api_job *job, const struct api_words *words, int64_t pad) {
    size_t batch = job->tokens.values[API_EMBED_TEXTS].count, length;
    if (!find_length(job, words->longest, &length) || !take_rows(job, 2, (size_t[]){batch, length}))
        return false;
    for (size_t b = 0; b < batch; b++) {
        size_t begin = words->begin[b], n = words->begin[b + 1] - begin;
        if (!fill_row(job, b, words->ids + begin, n, length, pad))
            return false;
    }
    return true;
}

static bool check_source(struct api_job *job) {
    struct api_value *values = job->tokens.values;
    bool ids = values[API_EMBED_IDS].form != API_ABSENT, texts = values[API_EMBED_TEXTS].form != API_ABSENT;
    if (ids && texts)
        return refuse_field(job, "conflict", API_EMBED_TEXTS, "`texts` and `ids` are both given; send one of them.");
    if (!ids && !texts)
        return refuse_field(job, "missing_field", API_EMBED_IDS, "`ids` or `texts` is needed.");
    if (texts && values[API_EMBED_TEXTS].count == 0)
        return refuse_field(job, "empty_tensor", API_EMBED_TEXTS, "`texts` is an empty list.");
    return true;
}

/* A vocabulary that is built here begins with the padding token, id 0. */
static bool check_built(struct api_job *job) {
    const struct api_value *id = &job->tokens.values[API_EMBED_PAD_ID];
    return id->form != API_INT || id->integer == 0 ||
           refuse_field(job, "conflict", API_EMBED_PAD_ID,
                        "Without `vocab` the padding token is id 0; send a vocabulary or leave `pad_id` out.");
}

bool api_tokens_prepare(struct api_job *job, struct api_value *values, const char *prefix) {
    struct api_tokens *tokens = &job->tokens;
    *tokens = (struct api_tokens){.given = true, .values = values, .prefix = prefix};
    bool texts = values[API_EMBED_TEXTS].form != API_ABSENT, given = values[API_EMBED_VOCAB].form == API_MAP;
    struct api_words words = {0};
    int64_t pad;
    if (!check_source(job))
        return false;
    if (given && !api_words_check(job, values[API_EMBED_VOCAB].json))
        return false;
    if (texts && ((!given && !check_built(job)) || !api_words_read(job, &words)))
        return false;
    if (!find_pad(job, &pad))
        return false;
    return texts ? prepare_texts(job, &words, pad) : prepare_ids(job, pad);
}

static const char *no_row(struct api_job *job, int64_t id, size_t rows) {
    return api_arena_printf(job->arena, "Id %lld has no row in `table`, which has %zu (0 to %zu).", (long long)id, rows,
                            rows - 1);
}

/* A word of the vocabulary with this id. */
static const char *word_of(const struct api_job *job, int64_t id) {
    const char *word;
    json_t *its;
    json_object_foreach(job->tokens.vocabulary, word, its) if (json_integer_value(its) == id) return word;
    return NULL;
}

static bool refuse_row(struct api_job *job, const struct api_place *place, int64_t id, size_t rows) {
    return api_refuse_place(job, "id_out_of_range", place, no_row(job, id, rows));
}

/* An id without a row that the texts made: a word's in the given vocabulary, the padding's if no word has it, or the
 * table is too small for their own vocabulary. */
static bool refuse_text_id(struct api_job *job, int64_t id, size_t rows) {
    const struct api_tokens *tokens = &job->tokens;
    struct api_place vocab = place_of(job, API_EMBED_VOCAB), word = {.up = &vocab, .name = word_of(job, id)},
                     pad = place_of(job, API_EMBED_PAD_ID), table = place_of(job, API_EMBED_TABLE);
    bool given = tokens->values[API_EMBED_VOCAB].json;
    refuse_row(job, !given ? &table : word.name ? &word : &pad, id, rows);
    if (tokens->vocab > rows)
        job->problem->hint = api_arena_printf(
            job->arena, "The vocabulary needs %zu rows; a draw of the shape [\"vocab\", d] makes as many.",
            tokens->vocab);
    return false;
}

/* An id without a row: is the request's id, the padding's or the vocabulary's at fault? */
static bool refuse_id(struct api_job *job, size_t index, int64_t id, size_t rows) {
    const struct api_tokens *tokens = &job->tokens;
    const struct api_value *ids = &tokens->values[API_EMBED_IDS];
    const struct attn_tensor *sent = &ids->tensor;
    if (!sent->data)
        return refuse_text_id(job, id, rows);
    size_t length = tokens->ids.shape[tokens->ids.rank - 1], n = sent->shape[sent->rank - 1];
    size_t row = index / length, col = index % length;
    struct api_place pad = place_of(job, API_EMBED_PAD_ID), place = place_of(job, API_EMBED_IDS);
    if (col >= n)
        return refuse_row(job, &pad, id, rows);
    return api_refuse_element(job, "id_out_of_range", &place, ids, row * n + col, no_row(job, id, rows));
}

static bool check_ids(struct api_job *job, size_t rows) {
    const int64_t *ids = job->tokens.ids.data;
    for (size_t i = 0, n = attn_tensor_count(&job->tokens.ids); i < n; i++)
        if (ids[i] < 0 || (uint64_t)ids[i] >= rows)
            return refuse_id(job, i, ids[i], rows);
    return true;
}

static bool check_positions(struct api_job *job) {
    const struct api_tokens *tokens = &job->tokens;
    const struct api_value *positions = &tokens->values[API_EMBED_POSITIONS];
    if (positions->form != API_TENSOR)
        return true;
    const struct attn_tensor *out = &tokens->output, *p = &positions->tensor;
    if (p->shape[0] == out->shape[out->rank - 2] && p->shape[1] == out->shape[out->rank - 1])
        return true;
    return refuse_field(job, "shape_mismatch", API_EMBED_POSITIONS,
                        api_arena_printf(job->arena,
                                         "`positions` has shape %s; the embeddings are %s, so it must be (%zu, %zu).",
                                         api_shape_text(job, p), api_shape_text(job, out), out->shape[out->rank - 2],
                                         out->shape[out->rank - 1]));
}

bool api_tokens_check(struct api_job *job) {
    struct api_tokens *tokens = &job->tokens;
    const struct api_value *table = &tokens->values[API_EMBED_TABLE];
    if (table->form != API_TENSOR)
        return refuse_field(job, "missing_field", API_EMBED_TABLE,
                            "`table` is missing: send it, or let `random` draw it.");
    if (!check_ids(job, table->tensor.shape[0]))
        return false;
    tokens->output = (struct attn_tensor){.dtype = ATTN_F64, .rank = tokens->ids.rank + 1};
    memcpy(tokens->output.shape, tokens->ids.shape, tokens->ids.rank * sizeof *tokens->ids.shape);
    tokens->output.shape[tokens->ids.rank] = table->tensor.shape[1];
    size_t d = table->tensor.shape[1], count = attn_tensor_count(&tokens->ids);
    if (count > SIZE_MAX / 64 / d)
        return refuse_field(job, "memory_limit", API_EMBED_TABLE, "The embeddings do not fit into memory.");
    return check_positions(job);
}

/* False: stopped. */
static bool embed(const struct api_tokens *tokens, size_t batch, size_t n, size_t d, const struct attn_exec *exec) {
    const struct attn_tensor *table = &tokens->values[API_EMBED_TABLE].tensor, *out = &tokens->output;
    double scale = tokens->values[API_EMBED_SCALE].number;
    const struct api_value *positions = &tokens->values[API_EMBED_POSITIONS];
    bool sinusoidal = positions->form == API_CHOICE && positions->choice == POSITIONS_SINUSOIDAL;
    const void *learned = positions->form == API_TENSOR ? positions->tensor.data : NULL;
    if (out->dtype == ATTN_F32) {
        attn_embed_f32(out->data, tokens->ids.data, batch * n, table->data, d, scale);
        if (sinusoidal && !attn_positions_sinusoidal_f32(out->data, batch, n, d, ATTN_POSITION_BASE, exec))
            return false;
        if (learned)
            attn_positions_add_f32(out->data, batch, learned, n, d);
        return true;
    }
    attn_embed_f64(out->data, tokens->ids.data, batch * n, table->data, d, scale);
    if (sinusoidal && !attn_positions_sinusoidal_f64(out->data, batch, n, d, ATTN_POSITION_BASE, exec))
        return false;
    if (learned)
        attn_positions_add_f64(out->data, batch, learned, n, d);
    return true;
}

bool api_tokens_embed(struct api_job *job, enum attn_dtype dtype) {
    struct api_tokens *tokens = &job->tokens;
    struct attn_tensor shape = tokens->output;
    if (!api_tensor_take(job, dtype, shape.rank, shape.shape, &tokens->output))
        return false;
    api_cast(&tokens->values[API_EMBED_TABLE].tensor, dtype);
    if (tokens->values[API_EMBED_POSITIONS].form == API_TENSOR)
        api_cast(&tokens->values[API_EMBED_POSITIONS].tensor, dtype);
    size_t batch = shape.rank == 3 ? shape.shape[0] : 1;
    return embed(tokens, batch, shape.shape[shape.rank - 2], shape.shape[shape.rank - 1], job->env->exec) ||
           api_refuse_stopped(job);
}

double api_tokens_bytes(const struct api_job *job, enum attn_dtype dtype) {
    return (double)attn_tensor_count(&job->tokens.output) * (double)attn_dtype_size(dtype);
}
