/* arena.c - chunks in a list; small pieces share one, large pieces and large reservations have their own. */
#include "api/arena.h"
#include "api/pages.h"

#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    ALIGN = 64,
    CHUNK = 64 * 1024,
    OWN_CHUNK = CHUNK / 4, /* a piece from this size on does not share a chunk */
    MAP_FROM = 256 * 1024, /* a reservation from this size on is mapped, so that its unused rest can be given back */
};

/* A chunk begins with this header; its pieces follow, the first one at the next multiple of 64. */
struct api_arena_chunk {
    struct api_arena_chunk *next;
    size_t mapped; /* bytes to unmap; 0: from malloc */
};

static size_t round_up(size_t size, size_t unit) {
    return (size + unit - 1) / unit * unit;
}

static char *first_piece(struct api_arena_chunk *chunk) {
    uintptr_t behind = (uintptr_t)chunk + sizeof *chunk;
    return (char *)chunk + sizeof *chunk + (ALIGN - behind % ALIGN) % ALIGN;
}

static void *refuse(struct api_arena *arena, bool over_limit) {
    arena->failed = true;
    arena->over_limit |= over_limit;
    return NULL;
}

/* A chunk with room for `size` bytes of pieces, linked into the arena; `size` is a multiple of 64. */
static struct api_arena_chunk *add_chunk(struct api_arena *arena, size_t size, bool map) {
    if (size > SIZE_MAX / 2)
        return NULL;
    size_t whole = sizeof(struct api_arena_chunk) + ALIGN + size, mapped = 0;
    struct api_arena_chunk *chunk;
    if (map) {
        mapped = round_up(whole, (size_t)sysconf(_SC_PAGESIZE));
        chunk = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (chunk == MAP_FAILED)
            return NULL;
    } else if (!(chunk = malloc(whole))) {
        return NULL;
    }
    api_pages_large(chunk, whole);
    chunk->next = arena->chunks;
    chunk->mapped = mapped;
    arena->chunks = chunk;
    return chunk;
}

/* Makes a fresh chunk the shared one. */
static bool share_chunk(struct api_arena *arena, size_t size) {
    struct api_arena_chunk *chunk = add_chunk(arena, size, false);
    if (!chunk)
        return false;
    arena->next = first_piece(chunk);
    arena->end = arena->next + size;
    return true;
}

static bool within_limit(const struct api_arena *arena, size_t size) {
    return !arena->limit || (arena->used <= arena->limit && size <= arena->limit - arena->used);
}

static size_t room(const struct api_arena *arena) {
    return (size_t)(arena->end - arena->next);
}

void api_arena_init(struct api_arena *arena, size_t limit) {
    *arena = (struct api_arena){.limit = limit};
}

void *api_arena_take(struct api_arena *arena, size_t size) {
    assert(!arena->open);
    if (size > SIZE_MAX / 2)
        return refuse(arena, true);
    size = size ? round_up(size, ALIGN) : ALIGN;
    if (!within_limit(arena, size))
        return refuse(arena, true);
    char *piece;
    if (size > room(arena) && size >= OWN_CHUNK) {
        struct api_arena_chunk *chunk = add_chunk(arena, size, false);
        if (!chunk)
            return refuse(arena, false);
        piece = first_piece(chunk);
    } else {
        if (size > room(arena) && !share_chunk(arena, CHUNK))
            return refuse(arena, false);
        piece = arena->next;
        arena->next += size;
    }
    arena->used += size;
    return piece;
}

void *api_arena_array(struct api_arena *arena, size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        return refuse(arena, true);
    return api_arena_take(arena, bytes);
}

void *api_arena_reserve(struct api_arena *arena, size_t most) {
    assert(!arena->open);
    if (most > SIZE_MAX / 2)
        return refuse(arena, false);
    most = most ? round_up(most, ALIGN) : ALIGN;
    if (most >= MAP_FROM) {
        struct api_arena_chunk *chunk = add_chunk(arena, most, true);
        if (!chunk)
            return refuse(arena, false);
        arena->open = first_piece(chunk);
    } else {
        if (most > room(arena) && !share_chunk(arena, most > CHUNK ? most : CHUNK))
            return refuse(arena, false);
        arena->open = arena->next;
    }
    arena->open_size = most;
    return arena->open;
}

/* Gives back the pages of the newest (mapped) chunk that lie wholly behind its first `size` bytes of pieces. */
static void unmap_rest(struct api_arena_chunk *chunk, size_t size) {
    size_t kept = round_up((size_t)(first_piece(chunk) - (char *)chunk) + size, (size_t)sysconf(_SC_PAGESIZE));
    if (kept < chunk->mapped && munmap((char *)chunk + kept, chunk->mapped - kept) == 0)
        chunk->mapped = kept;
}

bool api_arena_commit(struct api_arena *arena, size_t size) {
    assert(arena->open && size <= arena->open_size);
    size = round_up(size, ALIGN);
    bool fits = within_limit(arena, size);
    if (!fits) {
        refuse(arena, true);
        size = 0;
    }
    if (arena->open == arena->next)
        arena->next += size;
    else
        unmap_rest(arena->chunks, size);
    arena->used += size;
    arena->open = NULL;
    return fits;
}

char *api_arena_printf(struct api_arena *arena, const char *format, ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    char *text = length < 0 ? refuse(arena, false) : api_arena_take(arena, (size_t)length + 1);
    if (text)
        vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    va_end(args);
    return text;
}

void api_arena_free(struct api_arena *arena) {
    for (struct api_arena_chunk *chunk = arena->chunks, *next; chunk; chunk = next) {
        next = chunk->next;
        if (chunk->mapped)
            munmap(chunk, chunk->mapped);
        else
            free(chunk);
    }
    api_arena_init(arena, arena->limit);
}
