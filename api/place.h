/* place.h - where in the request a value stands. Kept as a chain on the stack, and turned into a JSON pointer only when
 * something is wrong there. */
#ifndef API_PLACE_H
#define API_PLACE_H

#include "api/arena.h"

/* struct api_place - one step: a member's name, or an element's index when name is NULL. `up` NULL: the step starts
 * behind `prefix`, a finished pointer. */
struct api_place {
    const struct api_place *up;
    const char *prefix, *name;
    size_t index;
};

/* api_place_pointer - the JSON pointer (RFC 6901) in the arena; NULL when memory is refused. */
const char *api_place_pointer(struct api_arena *arena, const struct api_place *place);

/* api_pointer_at - the pointer of the value, or of the member whose name, stands at `offset` of a JSON text,
 * well-formed up to there. */
const char *api_pointer_at(struct api_arena *arena, const char *text, size_t size, size_t offset);

#endif
