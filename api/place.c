/* place.c - JSON pointers; see place.h. */
#include "api/place.h"

#include "api/json_text.h"

#include <stdbool.h>
#include <string.h>

enum { INDEX_DIGITS = 21, POINTER_DEPTH = 64, POINTER_NAME = 128 };

static size_t escaped_size(const char *name) {
    size_t size = 0;
    for (; *name; name++)
        size += *name == '~' || *name == '/' ? 2 : 1;
    return size;
}

static char *escape(char *out, const char *name) {
    for (; *name; name++) {
        if (*name == '~' || *name == '/') {
            *out++ = '~';
            *out++ = *name == '~' ? '0' : '1';
        } else {
            *out++ = *name;
        }
    }
    return out;
}

static size_t pointer_size(const struct api_place *place) {
    size_t size = 1;
    for (; place; place = place->up) {
        size += 1 + (place->name ? escaped_size(place->name) : INDEX_DIGITS);
        if (!place->up && place->prefix)
            size += strlen(place->prefix);
    }
    return size;
}

static char *write_steps(char *out, const struct api_place *place) {
    if (place->up)
        out = write_steps(out, place->up);
    else if (place->prefix)
        out = stpcpy(out, place->prefix);
    *out++ = '/';
    if (place->name)
        return escape(out, place->name);
    return api_text_integer(out, (int64_t)place->index);
}

const char *api_place_pointer(struct api_arena *arena, const struct api_place *place) {
    char *text = api_arena_take(arena, pointer_size(place));
    if (text)
        *write_steps(text, place) = 0;
    return text;
}

/* struct trail - the containers that are open at a place of a text; deeper ones than POINTER_DEPTH are counted only. */
struct trail {
    size_t depth;
    struct {
        bool object, named;
        size_t index;
        const char *name;
        size_t name_size;
    } open[POINTER_DEPTH];
};

static const char *string_end(const char *p, const char *end) {
    for (p++; p < end && *p != '"'; p++)
        if (*p == '\\')
            p++;
    return p < end ? p : end;
}

static void step_over(struct trail *trail, char c) {
    if (c == '{' || c == '[') {
        if (trail->depth < POINTER_DEPTH) {
            memset(&trail->open[trail->depth], 0, sizeof *trail->open);
            trail->open[trail->depth].object = c == '{';
        }
        trail->depth++;
    } else if ((c == '}' || c == ']') && trail->depth > 0) {
        trail->depth--;
    } else if (c == ',' && trail->depth > 0 && trail->depth <= POINTER_DEPTH) {
        trail->open[trail->depth - 1].index++;
        trail->open[trail->depth - 1].named = false;
    }
}

static void note_name(struct trail *trail, const char *begin, const char *end) {
    if (trail->depth == 0 || trail->depth > POINTER_DEPTH)
        return;
    if (!trail->open[trail->depth - 1].object || trail->open[trail->depth - 1].named)
        return;
    trail->open[trail->depth - 1].named = true;
    trail->open[trail->depth - 1].name = begin;
    trail->open[trail->depth - 1].name_size = (size_t)(end - begin);
}

const char *api_pointer_at(struct api_arena *arena, const char *text, size_t size, size_t offset) {
    struct trail trail = {0};
    const char *end = text + size, *stop = text + (offset < size ? offset : size);
    for (const char *p = text; p < stop; p++) {
        if (*p == '"') {
            const char *close = string_end(p, end);
            note_name(&trail, p + 1, close);
            p = close;
        } else {
            step_over(&trail, *p);
        }
    }
    struct api_place places[POINTER_DEPTH];
    char names[POINTER_DEPTH][POINTER_NAME];
    size_t n = 0;
    for (size_t i = 0; i < trail.depth && i < POINTER_DEPTH; i++) {
        if (trail.open[i].object && (!trail.open[i].name || trail.open[i].name_size >= POINTER_NAME))
            break;
        places[n] = (struct api_place){.up = n ? &places[n - 1] : NULL, .index = trail.open[i].index};
        if (trail.open[i].object) {
            memcpy(names[n], trail.open[i].name, trail.open[i].name_size);
            names[n][trail.open[i].name_size] = 0;
            places[n].name = names[n];
        }
        n++;
    }
    return n ? api_place_pointer(arena, &places[n - 1]) : "";
}
