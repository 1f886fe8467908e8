/* words.c - see words.h. */
#include "api/words.h"

#include "api/bind.h"

#include <string.h>

/* The characters at which Python's str.split() divides: category Zs, or bidirectional class WS, B or S. */
size_t api_space_size(const char *text) {
    const unsigned char *u = (const unsigned char *)text;
    if ((u[0] >= 0x09 && u[0] <= 0x0d) || (u[0] >= 0x1c && u[0] <= 0x20))
        return 1;
    if (u[0] == 0xc2)
        return u[1] == 0x85 || u[1] == 0xa0 ? 2 : 0;
    if (u[0] < 0xe1 || u[0] > 0xe3 || !u[1] || !u[2])
        return 0;
    unsigned code = (u[0] & 0x0fu) << 12 | (u[1] & 0x3fu) << 6 | (u[2] & 0x3fu);
    bool space = code == 0x1680 || (code >= 0x2000 && code <= 0x200a) || code == 0x2028 || code == 0x2029 ||
                 code == 0x202f || code == 0x205f || code == 0x3000;
    return space ? 3 : 0;
}

/* The next word of a text: its begin, and its end in *end; NULL when there is none. */
static const char *next_word(const char *text, const char **end) {
    size_t space;
    while ((space = api_space_size(text)) > 0)
        text += space;
    if (!*text)
        return NULL;
    for (*end = text; **end && !api_space_size(*end);)
        (*end)++;
    return text;
}

static size_t count_words(const char *text) {
    size_t n = 0;
    for (const char *end; next_word(text, &end); text = end)
        n++;
    return n;
}

static bool refuse_word(struct api_job *job, size_t text, const char *word, size_t size) {
    struct api_place field = {.prefix = job->tokens.prefix, .name = "texts"}, place = {.up = &field, .index = text};
    return api_refuse_place(
        job, "unknown_token", &place,
        api_arena_printf(job->arena, "The word \"%.*s\" is not in `vocab`.", size > 256 ? 0 : (int)size, word));
}

/* The id of a word; a vocabulary that is being built learns it. */
static bool word_id(struct api_job *job, const char *word, size_t size, bool learn, int64_t *id) {
    struct api_tokens *tokens = &job->tokens;
    json_t *found = json_object_getn(tokens->vocabulary, word, size);
    if (!found && learn) {
        found = json_integer((json_int_t)tokens->vocab);
        if (json_object_setn_new_nocheck(tokens->vocabulary, word, size, found) != 0)
            return api_refuse_memory(job);
        tokens->vocab++;
    }
    *id = found ? json_integer_value(found) : -1;
    return true;
}

static bool read_text(struct api_job *job, struct api_words *words, size_t t, bool learn) {
    size_t at = words->begin[t];
    const char *word = job->tokens.values[API_EMBED_TEXTS].strings[t];
    for (const char *end; (word = next_word(word, &end)) != NULL; word = end) {
        size_t size = (size_t)(end - word);
        if (!word_id(job, word, size, learn, &words->ids[at]))
            return false;
        if (words->ids[at++] < 0)
            return refuse_word(job, t, word, size);
    }
    return true;
}

/* A new vocabulary holds the padding token. */
static bool begin_vocabulary(struct api_job *job) {
    const struct api_value *token = &job->tokens.values[API_EMBED_PAD_TOKEN];
    const char *pad = token->form == API_STRING ? token->string : "<pad>";
    int64_t id;
    job->tokens.vocabulary = json_object();
    if (!job->tokens.vocabulary)
        return api_refuse_memory(job);
    return word_id(job, pad, strlen(pad), true, &id);
}

bool api_words_read(struct api_job *job, struct api_words *words) {
    const struct api_value *texts = &job->tokens.values[API_EMBED_TEXTS];
    bool learn = !job->tokens.vocabulary;
    if (!(words->begin = api_take(job, texts->count + 1, sizeof *words->begin)))
        return false;
    words->begin[0] = words->longest = 0;
    for (size_t t = 0; t < texts->count; t++) {
        size_t n = count_words(texts->strings[t]);
        words->begin[t + 1] = words->begin[t] + n;
        words->longest = n > words->longest ? n : words->longest;
    }
    if (!(words->ids = api_take(job, words->begin[texts->count], sizeof *words->ids)))
        return false;
    if (learn && !begin_vocabulary(job))
        return false;
    for (size_t t = 0; t < texts->count; t++)
        if (!read_text(job, words, t, learn))
            return false;
    return true;
}

bool api_words_check(struct api_job *job, json_t *vocabulary) {
    struct api_place field = {.prefix = job->tokens.prefix, .name = "vocab"};
    const char *word;
    json_t *id;
    json_int_t most = -1;
    json_object_foreach(vocabulary, word, id) {
        struct api_place place = {.up = &field, .name = word};
        double number = json_number_value(id);
        if (!json_is_number(id) || !api_is_integral(number) || number < 0 || number > INT32_MAX)
            return api_refuse_place(job, "bad_value", &place,
                                    "`vocab` gives each word an id, an integer from 0 to 2147483647.");
        if (json_is_real(id) && json_object_set_new(vocabulary, word, json_integer((json_int_t)number)) != 0)
            return api_refuse_memory(job);
        most = (json_int_t)number > most ? (json_int_t)number : most;
    }
    if (most < 0)
        return api_refuse_place(job, "empty_tensor", &field, "`vocab` holds no word.");
    job->tokens.vocabulary = vocabulary;
    job->tokens.vocab = (size_t)most + 1;
    return true;
}
