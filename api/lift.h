/* lift.h - takes the tensors out of a request's text in one pass, so that only a small envelope is left for jansson.
 *
 * Every array, at any depth, that holds only numbers (with "NaN", "Infinity", "-Infinity" as strings or bare words
 * among them), or only booleans, moves to contiguous memory; the text keeps [k] in its place, k its index in `items`.
 * No client can forge a placeholder: an array of numbers in the request would itself be lifted. An array of strings
 * only is never lifted, nor is an empty one.
 */
#ifndef API_LIFT_H
#define API_LIFT_H

#include "api/arena.h"
#include "core/exec.h"

#include <stdbool.h>
#include <stddef.h>

enum { API_LIFT_MAX_RANK = 8 };

enum api_lift_fault {
    API_LIFT_FINE,
    API_LIFT_RAGGED, /* fault_index names the first row whose length differs; fault_expected, fault_got lengths; or a
                        number where its siblings are rows, or the reverse (fault_got 0) */
    API_LIFT_OUT_OF_RANGE /* fault_index names a number beyond double, such as 1e400 */
};

/* struct api_lifted - one array that was taken out.
 *
 *     boolean       data is uint8_t (0 or 1), else double
 *     integral      every number is an integer of magnitude <= 2^53
 *     rank, shape   meaningful when fault is API_LIFT_FINE; of deeper nesting than API_LIFT_MAX_RANK only inner arrays
 *                   are lifted, each by itself
 *     begin, end    the array's place in the request text, [begin, end)
 *     fault...      what is wrong with it; the caller reports it under the field the placeholder stands in;
 *                   fault_index holds fault_depth indices
 */
struct api_lifted {
    bool boolean, integral;
    unsigned rank;
    size_t shape[API_LIFT_MAX_RANK];
    void *data;
    size_t count, begin, end;
    enum api_lift_fault fault;
    unsigned fault_depth;
    size_t fault_index[API_LIFT_MAX_RANK], fault_expected, fault_got;
};

/* struct api_lift - the result; all memory belongs to the arena.
 *
 *     text, size   the envelope, JSON for jansson
 *     cut...       malformed text within an array of numbers: what is sound before it, [cut_begin, cut_end) of the
 *                  request, became cut_size bytes that bring a reader to the same point; all 0 without
 *     numbers      how many numbers and booleans were taken out
 */
struct api_lift {
    char *text;
    size_t size;
    struct api_lifted *items;
    size_t count, numbers;
    size_t cut_begin, cut_end, cut_size;
};

/* api_lift - lifts the tensors out of body. Malformed text is passed on for jansson to report; of a long array that
 * ends in it, only what is needed to come to the same error. Returns false only when the arena refuses memory, or when
 * `exec` (may be NULL) says stop. */
bool api_lift(struct api_arena *arena, const char *body, size_t size, const struct attn_exec *exec,
              struct api_lift *lift);

/* api_lift_origin - the offset in the request text that byte `offset` of the envelope comes from. */
size_t api_lift_origin(const struct api_lift *lift, size_t offset);

/* api_line_column - 1-based line and column (in characters) of an offset in a text. */
void api_line_column(const char *text, size_t offset, size_t *line, size_t *column);

#endif
