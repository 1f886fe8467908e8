/* json_write.h - writes a JSON document front to back; tensors go straight from their memory into the text. */
#ifndef API_JSON_WRITE_H
#define API_JSON_WRITE_H

#include "core/exec.h"
#include "core/tensor.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* struct api_writer - a document being written.
 *
 *     text, size   malloc'd; grows without copying where the system allows (mremap); memory is touched only as it is
 *                  filled
 *     limit        longest document, 0 is no limit; beyond it `failed` and `over_limit` are set and nothing more is
 *                  written
 *     round        decimals for numbers, or -1 for the shortest exact text
 *     pretty       two spaces a level; the innermost row of a tensor stays on one line
 *     exec         runs the tasks that write a large tensor, and stops them: `failed` is then set; NULL: this thread
 *                  writes, to the end
 *     numbers      how many numbers were written
 */
struct api_writer {
    char *text;
    size_t size, capacity, limit;
    int round;
    bool pretty, failed, over_limit;
    bool comma;      /* internal: a value precedes at this level */
    bool after_name; /* internal: api_write_member precedes */
    unsigned depth;
    const struct attn_exec *exec;
    uint64_t numbers, unlooked; /* internal: numbers since exec was last asked whether to stop */
};

void api_write_init(struct api_writer *w, size_t limit, bool pretty, int round);

/* api_write_reserve - room for `more` bytes in advance; only a hint. */
void api_write_reserve(struct api_writer *w, size_t more);

/* `key` is the member's name in an object (ASCII literal, not escaped), NULL in an array or at the top. */
void api_write_object(struct api_writer *w, const char *key);
void api_write_object_end(struct api_writer *w);
void api_write_array(struct api_writer *w, const char *key);
void api_write_array_end(struct api_writer *w);
void api_write_string(struct api_writer *w, const char *key, const char *utf8);
/* api_write_member - like api_write_string's key, but for a name from the client, which is escaped; a value must follow
 * with key NULL. */
void api_write_member(struct api_writer *w, const char *utf8_name);
void api_write_bool(struct api_writer *w, const char *key, bool value);
void api_write_null(struct api_writer *w, const char *key);
void api_write_integer(struct api_writer *w, const char *key, int64_t value);
/* api_write_number - never rounded (checks and costs are exact); a non-finite value is written as the string "NaN",
 * "Infinity" or "-Infinity". */
void api_write_number(struct api_writer *w, const char *key, double value);
/* api_write_tensor - nested lists; obeys `round`; float32 prints the shortest text for float. A dimension 0 prints [].
 */
void api_write_tensor(struct api_writer *w, const char *key, const struct attn_tensor *tensor);
/* api_write_shape - a tensor's shape as a list. */
void api_write_shape(struct api_writer *w, const char *key, const struct attn_tensor *tensor);
/* api_write_raw - text that already is a JSON value. */
void api_write_raw(struct api_writer *w, const char *key, const char *json);

/* api_write_finish - ends the document with a newline, and a NUL that does not count. Returns the malloc'd text (the
 * caller frees it) and its size, or NULL when writing failed; the writer is empty afterwards either way. */
char *api_write_finish(struct api_writer *w, size_t *size);

void api_write_free(struct api_writer *w);

#endif
