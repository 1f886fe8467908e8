/* json_text.h - the ground under json_write.c and json_tensor.c: text that grows, commas, line breaks, small numbers.
 *
 * Each returns false once writing has failed; nothing more is written then.
 */
#ifndef API_JSON_TEXT_H
#define API_JSON_TEXT_H

#include "api/decimal.h"
#include "api/json_write.h"

#include <string.h>

enum {
    API_INTEGER_MAX = 20,                 /* -9223372036854775808 */
    API_NUMBER_ROOM = API_DECIMAL_MAX + 2 /* with the separator */
};

/* api_text_fail - notes the failure; always false. */
bool api_text_fail(struct api_writer *w, bool over_limit);

/* api_text_grow - makes room for `more` bytes. */
bool api_text_grow(struct api_writer *w, size_t more);

/* Room for `more` bytes, or false for good. */
static inline bool api_text_room(struct api_writer *w, size_t more) {
    if (w->failed)
        return false;
    return more <= w->capacity - w->size || api_text_grow(w, more);
}

/* Takes over what was written up to `end` and holds it against the limit. */
static inline bool api_text_keep(struct api_writer *w, const char *end) {
    w->size = (size_t)(end - w->text);
    return !w->limit || w->size <= w->limit || api_text_fail(w, true);
}

static inline bool api_text_put(struct api_writer *w, const char *bytes, size_t size) {
    if (!api_text_room(w, size))
        return false;
    memcpy(w->text + w->size, bytes, size);
    return api_text_keep(w, w->text + w->size + size);
}

/* api_text_line - a line break and the spaces of `depth`. */
bool api_text_line(struct api_writer *w, unsigned depth);

/* api_text_begin - what stands before every value: comma, line break, and the key. */
bool api_text_begin(struct api_writer *w, const char *key);

/* api_text_integer, api_text_non_finite - the end of what was written at out. */
char *api_text_integer(char *out, int64_t value);
char *api_text_non_finite(char *out, double value);

#endif
