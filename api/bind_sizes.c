/* bind_sizes.c - shapes in requests: lists of sizes, of which one may be the vocabulary's. */
#include "api/bind.h"
#include "api/bind_tensor.h"

#include <math.h>
#include <string.h>

#define COUNT_MAX ((size_t)1 << 40) /* elements of one tensor; more has no place in any memory */

static bool is_vocab(const json_t *element) {
    return json_is_string(element) && strcmp(json_string_value(element), "vocab") == 0;
}

/* Size number i of a shape, from the lifted list or an element of a mixed one; NaN for what is none. */
static double size_at(const json_t *json, const struct api_lifted *item, size_t i, const size_t *vocab) {
    if (item)
        return ((const double *)item->data)[i];
    const json_t *element = json_array_get(json, i);
    if (is_vocab(element))
        return vocab && *vocab ? (double)*vocab : (double)NAN;
    return json_is_number(element) ? json_number_value(element) : (double)NAN;
}

static bool refuse_size(struct api_job *job, const json_t *element, const size_t *vocab, size_t least,
                        const struct api_place *place) {
    if (is_vocab(element) && vocab)
        return api_refuse_place(job, "bad_value", place,
                                "\"vocab\" has no size here: it needs texts, or a vocab, to count.");
    return api_refuse_place(
        job, "bad_value", place,
        api_arena_printf(job->arena, "A size is an integer from %zu on%s.", least, vocab ? ", or \"vocab\"" : ""));
}

bool api_bind_sizes(struct api_job *job, json_t *json, const struct api_place *place, const size_t *vocab, bool empty,
                    unsigned *rank, size_t *shape) {
    const struct api_lifted *item = api_placeholder(job, json);
    size_t n = item ? item->count : json_array_size(json), count = 1, least = empty ? 0 : 1;
    if (!json_is_array(json) || (item && (item->boolean || item->fault || item->rank != 1)))
        return api_refuse_place(job, "wrong_type", place, "A shape is a list of sizes.");
    if (n < 1 || n > ATTN_MAX_RANK)
        return api_refuse_place(job, "wrong_rank", place, "A shape has one to four sizes.");
    for (size_t i = 0; i < n; i++) {
        struct api_place here = {.up = place, .index = i};
        double size = size_at(json, item, i, vocab);
        if (size != floor(size) || !(size >= (double)least))
            return refuse_size(job, item ? NULL : json_array_get(json, i), vocab, least, &here);
        bool fits = size <= (double)COUNT_MAX;
        shape[i] = fits ? (size_t)size : 0;
        if (!fits || __builtin_mul_overflow(count, shape[i], &count) || count > COUNT_MAX)
            return api_refuse_place(job, "memory_limit", place, "A tensor of this shape does not fit into memory.");
    }
    *rank = (unsigned)n;
    return true;
}
