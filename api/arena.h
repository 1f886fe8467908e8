/* arena.h - all memory of one request: taken piece by piece, released at once, with a byte limit. */
#ifndef API_ARENA_H
#define API_ARENA_H

#include <stdbool.h>
#include <stddef.h>

struct api_arena_chunk;

/* struct api_arena - initialise with api_arena_init.
 *
 *     limit   most bytes that may be taken over the arena's life; 0 is no limit
 *     used    bytes taken so far, each piece rounded up to 64
 *     failed  a request for memory was refused: by the limit (over_limit) or by the system
 *     open    the reservation that is being filled, of open_size bytes; NULL: none
 */
struct api_arena {
    struct api_arena_chunk *chunks;
    char *next, *end;
    size_t limit, used;
    bool failed, over_limit;
    char *open;
    size_t open_size;
};

void api_arena_init(struct api_arena *arena, size_t limit);

/* api_arena_take - `size` bytes aligned to 64, not cleared; size 0 gives a valid pointer.
 * Returns NULL over the limit or out of memory, and sets `failed`. */
void *api_arena_take(struct api_arena *arena, size_t size);

/* api_arena_array - count * size bytes, NULL also when the product overflows. */
void *api_arena_array(struct api_arena *arena, size_t count, size_t size);

/* api_arena_reserve - like take, for a block whose real size becomes known only while it is filled: address space of
 * `most` bytes is set aside untouched, and api_arena_commit then keeps (and counts against the limit) the first `size`
 * of them and gives the rest back. At most one reservation is open at a time; nothing else may be taken meanwhile.
 * Returns NULL when out of memory. `most` itself is not held against the limit. */
void *api_arena_reserve(struct api_arena *arena, size_t most);
bool api_arena_commit(struct api_arena *arena, size_t size);

/* api_arena_printf - a formatted string in the arena; NULL when memory is refused. */
char *api_arena_printf(struct api_arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* api_arena_free - releases everything. The arena may be initialised again. */
void api_arena_free(struct api_arena *arena);

#endif
