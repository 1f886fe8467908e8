/* lift.c - one pass finds the arrays and reads their numbers; then the text between them is put together.
 *
 * Outside a candidate array only two characters matter: '"' begins a string to be skipped, '[' a candidate. Inside,
 * the text must be nested lists of numbers or of booleans. When something else turns up, every array that is open at
 * that place is no tensor, but arrays closed within them are: the stretches between the open brackets are scanned once
 * more, and this time the open brackets are passed over. Closed arrays hold nothing else by then, so nothing is
 * scanned three times, and the whole is linear in the size of the text.
 *
 * Numbers are appended to one reservation of memory. Each tensor begins at a multiple of 64 bytes.
 */
#include "api/lift.h"

#include "api/decimal_fast.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ALIGN = 64,
    FIRST_ITEMS = 8,
    PLACEHOLDER_MAX = 24 /* "[k]" for any size_t */
};

enum kind { UNKNOWN, NUMBERS, BOOLEANS };

/* struct scan - the work in hand.
 *
 *     data, used, most   the reservation: its begin, the bytes that belong to finished items, its size
 *     items              malloc'd while their number is not known
 */
struct scan {
    struct api_arena *arena;
    const char *body, *end;
    char *data;
    size_t used, most;
    struct api_lifted *items;
    size_t count, capacity, numbers;
    bool failed;
};

/* struct candidate - an array that may turn out to be a tensor.
 *
 *     depth      arrays open now; deepest: most that were open at once
 *     scalars    the depth at which numbers stand, 0 before the first
 *     solid      something else than a "NaN" in quotes was among the values
 *     at         where the brackets of the arrays open now stand, outermost first
 *     n          elements so far in each of them
 *     before     value of `count` when each of them was opened: has it content of its own?
 *     known      whether shape holds a length for this depth already
 *     count      values so far, at `data`
 */
struct candidate {
    enum kind kind;
    unsigned depth, deepest, scalars;
    bool solid;
    const char *at[API_LIFT_MAX_RANK];
    size_t n[API_LIFT_MAX_RANK], before[API_LIFT_MAX_RANK];
    bool known[API_LIFT_MAX_RANK];
    size_t count;
    char *data;
    struct api_lifted item;
};

static const char *skip_space(const char *p, const char *end) {
    while (p < end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'))
        p++;
    return p;
}

/* The character behind the string that begins at p, or the end of the text. */
static const char *skip_string(const char *p, const char *end) {
    for (p++; p < end && *p != '"'; p++)
        if (*p == '\\' && end - p > 1)
            p++;
    return p < end ? p + 1 : end;
}

static bool starts(const char *p, const char *end, const char *word, size_t size) {
    return (size_t)(end - p) >= size && memcmp(p, word, size) == 0;
}

/* The length of the non-finite number at p, in quotes or as Python writes it; 0 if there is none. */
static size_t non_finite(const char *p, const char *end, double *value) {
    static const struct {
        const char *text;
        size_t size;
        double value;
    } words[] = {{"NaN", 3, (double)NAN}, {"Infinity", 8, (double)INFINITY}, {"-Infinity", 9, -(double)INFINITY}};
    size_t quote = *p == '"';
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (!starts(p + quote, end, words[i].text, words[i].size))
            continue;
        if (quote && !starts(p + quote + words[i].size, end, "\"", 1))
            return 0;
        *value = words[i].value;
        return words[i].size + 2 * quote;
    }
    return 0;
}

/* Records the first thing wrong: at element n[i] of each of the `depth` outer arrays. */
static void fault(struct candidate *c, enum api_lift_fault what, unsigned depth, size_t expected, size_t got) {
    struct api_lifted *item = &c->item;
    if (item->fault != API_LIFT_FINE)
        return;
    item->fault = what;
    item->fault_depth = depth;
    memcpy(item->fault_index, c->n, depth * sizeof *c->n);
    item->fault_expected = expected;
    item->fault_got = got;
}

/* The number `ahead` elements further on than c->n says is out of range. */
static void too_large(struct candidate *c, size_t ahead) {
    c->n[c->depth - 1] += ahead;
    fault(c, API_LIFT_OUT_OF_RANGE, c->depth, 0, 0);
    c->n[c->depth - 1] -= ahead;
}

static void open_array(struct candidate *c, const char *p) {
    if (c->scalars && c->scalars == c->depth)
        fault(c, API_LIFT_RAGGED, c->depth, 0, 0);
    c->at[c->depth] = p;
    c->n[c->depth] = 0;
    c->before[c->depth] = c->count;
    c->depth++;
    if (c->depth > c->deepest)
        c->deepest = c->depth;
}

static void close_array(struct candidate *c) {
    unsigned axis = --c->depth;
    if (!c->known[axis]) {
        c->known[axis] = true;
        c->item.shape[axis] = c->n[axis];
    } else if (c->item.shape[axis] != c->n[axis]) {
        fault(c, API_LIFT_RAGGED, axis, c->item.shape[axis], c->n[axis]);
    }
    if (axis)
        c->n[axis - 1]++;
}

/* May a value of this kind stand here? */
static bool admit(struct candidate *c, enum kind kind) {
    if (c->kind == UNKNOWN)
        c->kind = kind;
    if (c->kind != kind)
        return false;
    if (c->depth == c->scalars)
        return true;
    if (c->scalars == 0 && c->depth == c->deepest)
        c->scalars = c->depth;
    else
        fault(c, API_LIFT_RAGGED, c->depth, c->depth < API_LIFT_MAX_RANK ? c->item.shape[c->depth] : 0, 0);
    return true;
}

static void add_number(struct candidate *c, double value) {
    memcpy(c->data + c->count * sizeof value, &value, sizeof value);
    c->count++;
    c->n[c->depth - 1]++;
}

/* Reads the numbers at p that follow each other in one array: the innermost loop of all. Returns the place behind the
 * last one; NULL: none. */
static const char *read_numbers(struct candidate *c, const char *p, const char *end) {
    double value, *out = (double *)(void *)c->data + c->count, *first = out;
    const char *behind = NULL, *next;
    enum api_decimal_status status;
    while ((status = api_decimal_inline(p, end, &value, &next)) != API_DECIMAL_MALFORMED) {
        if (!behind && !admit(c, NUMBERS))
            return NULL;
        if (status == API_DECIMAL_OUT_OF_RANGE)
            too_large(c, (size_t)(out - first));
        *out++ = value;
        behind = next;
        if (end - next < 3 || *next != ',')
            break;
        p = next + 1 + (next[1] == ' ');
    }
    c->solid |= behind != NULL;
    c->count += (size_t)(out - first);
    c->n[c->depth - 1] += (size_t)(out - first);
    return behind;
}

/* Reads the value at p, which is no array. Returns what follows; NULL: it cannot be part of a tensor. */
static const char *read_scalar(struct candidate *c, const char *p, const char *end) {
    bool is_true = starts(p, end, "true", 4);
    if (is_true || starts(p, end, "false", 5)) {
        if (!admit(c, BOOLEANS))
            return NULL;
        c->solid = true;
        c->data[c->count++] = is_true;
        c->n[c->depth - 1]++;
        return p + (is_true ? 4 : 5);
    }
    double value;
    size_t word = non_finite(p, end, &value);
    if (!word)
        return read_numbers(c, p, end);
    if (!admit(c, NUMBERS))
        return NULL;
    c->solid |= *p != '"';
    add_number(c, value);
    return p + word;
}

/* Reads the array at p. Returns true with *next behind it, or false with *next at what does not belong into a tensor.
 */
static bool read_array(struct candidate *c, const char *p, const char *end, const char **next) {
    for (;;) {
        /* A value begins at p. */
        *next = p;
        if (p == end)
            return false;
        if (*p == '[') {
            if (c->depth == API_LIFT_MAX_RANK)
                return false;
            open_array(c, p);
            p = skip_space(p + 1, end);
            if (p == end || *p != ']')
                continue;
        } else if (!(p = read_scalar(c, p, end))) {
            return false;
        }
        /* A value has ended before p, or an empty array ends at p. */
        for (p = skip_space(p, end); p < end && *p == ']'; p = skip_space(p + 1, end)) {
            close_array(c);
            if (c->depth == 0) {
                *next = p + 1;
                return true;
            }
        }
        *next = p;
        if (p == end || *p != ',')
            return false;
        p = skip_space(p + 1, end);
    }
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

/* Lifts the array at p, or what is to be lifted from the part of it that was read. Returns where to go on. */
static const char *lift_array(struct scan *s, const char *p) {
    struct candidate c = {.data = s->data + s->used};
    const char *next;
    if (too_dense(s, p))
        return s->end;
    if (read_array(&c, p, s->end, &next)) {
        add_item(s, &c, p, next);
        return next;
    }
    unsigned given_up = give_up(&c, &next);
    for (unsigned i = 0; i < given_up; i++)
        lift_between(s, c.at[i] + 1, i + 1 < c.depth ? c.at[i + 1] : next);
    return next;
}

static size_t placeholder(char *out, size_t index) {
    return (size_t)snprintf(out, PLACEHOLDER_MAX, "[%zu]", index);
}

/* Puts the envelope together: the text between the items, and placeholders. */
static bool stitch(struct api_lift *lift, struct api_arena *arena, const char *body, size_t size) {
    char text[PLACEHOLDER_MAX];
    lift->size = size;
    for (size_t i = 0; i < lift->count; i++)
        lift->size = lift->size - (lift->items[i].end - lift->items[i].begin) + placeholder(text, i);
    char *out = lift->text = api_arena_take(arena, lift->size + 1);
    if (!out)
        return false;
    size_t from = 0;
    for (size_t i = 0; i < lift->count; i++) {
        memcpy(out, body + from, lift->items[i].begin - from);
        out += lift->items[i].begin - from;
        from = lift->items[i].end;
        size_t length = placeholder(text, i);
        memcpy(out, text, length);
        out += length;
    }
    memcpy(out, body + from, size - from);
    out[size - from] = '\0';
    return true;
}

bool api_lift(struct api_arena *arena, const char *body, size_t size, struct api_lift *lift) {
    *lift = (struct api_lift){0};
    struct scan s = {.arena = arena, .body = body, .end = body + size};
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
    done = stitch(lift, arena, body, size);
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
    return offset + shift;
}

void api_line_column(const char *text, size_t offset, size_t *line, size_t *column) {
    *line = *column = 1;
    for (size_t i = 0; i < offset; i++) {
        ++*column;
        if (text[i] == '\n') {
            ++*line;
            *column = 1;
        }
    }
}
