/* lift.c - one pass finds the arrays and reads their numbers; then the text between them is put together.
 *
 * Outside a candidate array only two characters matter: '"' begins a string to be skipped, '[' a candidate. Inside,
 * the text must be nested lists of numbers or of booleans. When something else turns up, every array that is open at
 * that place is no tensor, but arrays closed within them are: the stretches between the open brackets are scanned once
 * more, and this time the open brackets are passed over. Closed arrays hold nothing else by then, so nothing is
 * scanned three times, and the whole is linear in the size of the text. When the text turns out not to be JSON, there
 * is nothing more to do but to let jansson come to the same place quickly: the array up to there is cut short.
 *
 * Numbers are appended to one reservation of memory. Each tensor begins at a multiple of 64 bytes.
 */
#include "api/lift.h"

#include "api/json_text.h"
#include "api/lift_array.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    ALIGN = 64,
    FIRST_ITEMS = 8,
    PLACEHOLDER_MAX = 24,               /* "[k]" for any size_t */
    CUT_MAX = API_LIFT_MAX_RANK + 5 + 1 /* "[[null,", as text */
};

/* struct scan - the work in hand.
 *
 *     data, used, most   the reservation: its begin, the bytes that belong to finished items, its size
 *     looked             where it was last asked whether to stop
 *     items              malloc'd while their number is not known
 */
struct scan {
    struct api_arena *arena;
    const struct attn_exec *exec;
    const char *body, *end, *looked;
    char *data;
    size_t used, most;
    struct api_lifted *items;
    size_t count, capacity, numbers;
    bool failed;
    size_t cut_begin, cut_end;
    char cut[CUT_MAX];
};

/* The character behind the string that begins at p, or the end of the text. */
static const char *skip_string(const char *p, const char *end) {
    for (p++; p < end && *p != '"'; p++)
        if (*p == '\\' && end - p > 1)
            p++;
    return p < end ? p + 1 : end;
}

static bool all_integers(const double *values, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!(fabs(values[i]) <= 0x1p53 && (double)(int64_t)values[i] == values[i]))
            return false;
    return true;
}

/* Room for one more item. */
static bool another_item(struct scan *s) {
    if (s->count < s->capacity)
        return true;
    size_t capacity = s->capacity ? 2 * s->capacity : FIRST_ITEMS, size = capacity * sizeof *s->items;
    bool over_limit = s->arena->limit && size > s->arena->limit;
    struct api_lifted *items = over_limit ? NULL : realloc(s->items, size);
    if (!items) {
        s->failed = s->arena->failed = true;
        s->arena->over_limit |= over_limit;
        return false;
    }
    s->items = items;
    s->capacity = capacity;
    return true;
}

static void add_item(struct scan *s, struct candidate *c, const char *begin, const char *end) {
    if (!c->solid || !another_item(s))
        return;
    struct api_lifted *item = &c->item;
    item->boolean = c->kind == BOOLEANS;
    item->integral = !item->boolean && all_integers((const double *)(void *)c->data, c->count);
    item->rank = c->deepest;
    item->data = c->data;
    item->count = c->count;
    item->begin = (size_t)(begin - s->body);
    item->end = (size_t)(end - s->body);
    s->items[s->count++] = *item;
    s->numbers += c->count;
    size_t bytes = c->count * (item->boolean ? 1 : sizeof(double));
    s->used += (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

/* Bytes that the numbers of a text of this size can need: 8 for two characters ("1,"), and up to 56 between the end of
 * a tensor and the begin of the next, at least 7 characters apart ([1],"", in well-formed text). */
static size_t most_bytes(size_t size) {
    return 4 * size + 56 * (size / 7 + 1) + ALIGN;
}

/* Only malformed text, such as [1][1][1], can be denser than most_bytes supposes: it need not be lifted any more. */
static bool too_dense(const struct scan *s, const char *p) {
    return s->used + 4 * (size_t)(s->end - p) + ALIGN > s->most;
}

static const char *lift_array(struct scan *s, const char *p);

/* Lifts what there is between p and stop. */
static void lift_between(struct scan *s, const char *p, const char *stop) {
    while (p < stop && !s->failed) {
        if (*p == '"')
            p = skip_string(p, s->end);
        else if (*p == '[')
            p = lift_array(s, p);
        else
            p++;
    }
}

/* How many of the open arrays are given up when something alien stands at *next. Inner arrays without any value so far
 * get another chance on their own, from *next on: [[1], [true]] holds two tensors. */
static unsigned give_up(const struct candidate *c, const char **next) {
    unsigned i = 0;
    while (i < c->depth && c->before[i] < c->count)
        i++;
    if (i == 0 || i == c->depth)
        return c->depth;
    *next = c->at[i];
    return i;
}

/* The array at p is malformed at `fault`: as many open brackets and a value or comma stand for what comes before. It is
 * null, which makes no placeholder. */
static void cut_short(struct scan *s, const struct candidate *c, const char *p, const char *fault, bool value) {
    s->cut_begin = (size_t)(p - s->body);
    s->cut_end = (size_t)(fault - s->body);
    memset(s->cut, '[', c->depth);
    const char *element = !value ? "null " : c->n[c->depth - 1] ? "null," : "";
    memcpy(s->cut + c->depth, element, strlen(element) + 1);
}

/* Lifts the array at p, or what is to be lifted from the part of it that was read. Returns where to go on. */
static const char *lift_array(struct scan *s, const char *p) {
    struct candidate c = {.data = s->data + s->used, .exec = s->exec, .looked = s->looked};
    const char *next;
    bool value;
    if (too_dense(s, p))
        return s->end;
    enum finding finding = api_read_array(&c, p, s->end, &next, &value);
    s->looked = c.looked;
    switch (finding) {
    case TENSOR:
        add_item(s, &c, p, next);
        return next;
    case MALFORMED:
        cut_short(s, &c, p, next, value);
        return s->end;
    case STOPPED:
        s->failed = true;
        return s->end;
    case ALIEN:
        break;
    }
    unsigned given_up = give_up(&c, &next);
    for (unsigned i = 0; i < given_up; i++)
        lift_between(s, c.at[i] + 1, i + 1 < c.depth ? c.at[i + 1] : next);
    return next;
}

static size_t placeholder(char *out, size_t index) {
    char *end = api_text_integer(stpcpy(out, "["), (int64_t)index);
    return (size_t)(stpcpy(end, "]") - out);
}

/* struct stitching - the envelope in the making; `from` is how far the request has been taken over. */
struct stitching {
    char *out;
    const char *body;
    size_t from;
};

/* Takes over the request up to `begin`, then `text` for what stands there up to `end`. */
static void stitch(struct stitching *s, size_t begin, size_t end, const char *text, size_t size) {
    memcpy(s->out, s->body + s->from, begin - s->from);
    memcpy(s->out + (begin - s->from), text, size);
    s->out += begin - s->from + size;
    s->from = end;
}

static bool make_envelope(struct api_lift *lift, struct api_arena *arena, const struct scan *s) {
    char text[PLACEHOLDER_MAX];
    size_t size = (size_t)(s->end - s->body);
    lift->size = size - (lift->cut_end - lift->cut_begin) + lift->cut_size;
    for (size_t i = 0; i < lift->count; i++)
        lift->size = lift->size - (lift->items[i].end - lift->items[i].begin) + placeholder(text, i);
    lift->text = api_arena_take(arena, lift->size + 1);
    if (!lift->text)
        return false;
    struct stitching envelope = {lift->text, s->body, 0};
    for (size_t i = 0; i < lift->count; i++)
        stitch(&envelope, lift->items[i].begin, lift->items[i].end, text, placeholder(text, i));
    if (lift->cut_end)
        stitch(&envelope, lift->cut_begin, lift->cut_end, s->cut, lift->cut_size);
    stitch(&envelope, size, size, "", 1);
    return true;
}

bool api_lift(struct api_arena *arena, const char *body, size_t size, const struct attn_exec *exec,
              struct api_lift *lift) {
    *lift = (struct api_lift){0};
    struct scan s = {.arena = arena, .exec = exec, .body = body, .end = body + size};
    bool done = false;
    if (size > SIZE_MAX / 16) {
        arena->failed = arena->over_limit = true;
        return false;
    }
    s.most = most_bytes(size);
    s.data = api_arena_reserve(arena, s.most);
    if (!s.data)
        return false;
    lift_between(&s, body, s.end);
    if (!api_arena_commit(arena, s.used) || s.failed)
        goto done;
    lift->items = api_arena_array(arena, s.count, sizeof *s.items);
    if (!lift->items)
        goto done;
    if (s.count)
        memcpy(lift->items, s.items, s.count * sizeof *s.items);
    lift->count = s.count;
    lift->numbers = s.numbers;
    lift->cut_begin = s.cut_begin;
    lift->cut_end = s.cut_end;
    lift->cut_size = strlen(s.cut);
    done = make_envelope(lift, arena, &s);
done:
    free(s.items);
    return done;
}

size_t api_lift_origin(const struct api_lift *lift, size_t offset) {
    char text[PLACEHOLDER_MAX];
    size_t shift = 0; /* request minus envelope, so far */
    for (size_t i = 0; i < lift->count; i++) {
        const struct api_lifted *item = &lift->items[i];
        size_t begin = item->begin - shift, length = placeholder(text, i);
        if (offset < begin)
            break;
        if (offset < begin + length)
            return item->begin;
        shift = item->end - (begin + length);
    }
    if (lift->cut_end && offset + shift > lift->cut_begin) {
        size_t behind = lift->cut_begin - shift + lift->cut_size;
        return offset < behind ? lift->cut_end : lift->cut_end + (offset - behind);
    }
    return offset + shift;
}

void api_line_column(const char *text, size_t offset, size_t *line, size_t *column) {
    *line = *column = 1;
    for (size_t i = 0; i < offset; i++) {
        *column += ((unsigned char)text[i] & 0xc0) != 0x80; /* characters, not bytes */
        if (text[i] == '\n') {
            ++*line;
            *column = 1;
        }
    }
}
