/* bind_sizes.c - shapes in requests: lists of sizes, of which one may be the vocabulary's. */
#include "api/bind.h"
#include "api/bind_tensor.h"

#include <math.h>
#include <string.h>

#define COUNT_MAX ((size_t)1 << 40) /* elements of one tensor; more has no place in any memory */

/* Size number i of a shape: a number from the lifted list or an element of a mixed one. */
static bool bind_size(const json_t *json, const struct api_lifted *item, size_t i, size_t vocab, size_t least,
                      size_t *size) {
    const json_t *element = item ? NULL : json_array_get(json, i);
    if (element && json_is_string(element) && strcmp(json_string_value(element), "vocab") == 0) {
        *size = vocab;
        return vocab > 0;
    }
    if (element && !json_is_number(element))
        return false;
    double number = item ? ((const double *)item->data)[i] : json_number_value(element);
    if (number != floor(number) || number < (double)least || number > 0x1p40)
        return false;
    *size = (size_t)number;
    return true;
}

static bool refuse_size(struct api_job *job, const json_t *element, size_t vocab, const struct api_place *place) {
    bool is_vocab = element && json_is_string(element) && strcmp(json_string_value(element), "vocab") == 0;
    if (is_vocab && !vocab)
        return api_refuse_place(job, "bad_value", place,
                                "\"vocab\" has no size here: it needs texts, or a vocab, to count.");
    return api_refuse_place(job, "bad_value", place, "A size is an integer from 1 on, or \"vocab\".");
}

bool api_bind_sizes(struct api_job *job, json_t *json, const struct api_place *place, size_t vocab, bool empty,
                    unsigned *rank, size_t *shape) {
    const struct api_lifted *item = api_placeholder(job, json);
    size_t n = item ? item->count : json_array_size(json), count = 1;
    if (!json_is_array(json) || (item && (item->boolean || item->fault || item->rank != 1)))
        return api_refuse_place(job, "wrong_type", place, "A shape is a list of sizes.");
    if (n < 1 || n > ATTN_MAX_RANK)
        return api_refuse_place(job, "wrong_rank", place, "A shape has one to four sizes.");
    for (size_t i = 0; i < n; i++) {
        struct api_place here = {.up = place, .index = i};
        if (!bind_size(json, item, i, vocab, empty ? 0 : 1, &shape[i]))
            return refuse_size(job, item ? NULL : json_array_get(json, i), vocab, &here);
        if (__builtin_mul_overflow(count, shape[i], &count) || count > COUNT_MAX)
            return api_refuse_place(job, "memory_limit", place, "A tensor of this shape does not fit into memory.");
    }
    *rank = (unsigned)n;
    return true;
}
