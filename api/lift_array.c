/* lift_array.c - see lift_array.h. */
#include "api/lift_array.h"

#include "api/decimal_fast.h"
#include "core/clones.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* A condition that is worth a branch: computing without one would make the next number wait. */
static inline bool rarely(bool condition) {
    return __builtin_expect_with_probability(condition, 0, 0.9999);
}

enum {
    RUN_NUMBERS = 1 << 16, /* read in one go */
    LOOK_BYTES = 1 << 18   /* of text between two looks at whether to stop: less than a millisecond */
};

static const char *skip_space(const char *p, const char *end) {
    while (p < end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'))
        p++;
    return p;
}

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
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
 * last one; NULL: none.
 *
 * Where the next number begins is guessed from the next comma and from what stood between the last two numbers, and
 * checked later, so that the processor reads several numbers at a time: a third of the time of short ones. */
ATTN_CLONES static __attribute__((noinline)) const char *read_numbers(struct candidate *c, const char *p,
                                                                      const char *end) {
    double *out = (double *)(void *)c->data + c->count, *first = out, *most = out + RUN_NUMBERS;
    const char *behind = NULL;
    size_t gap = 1;
    for (;;) {
        double value = 0;
        const char *next = NULL, *guess = p;
        enum api_decimal_status status = API_DECIMAL_OK;
        if (end - p >= API_DECIMAL_FAST_ROOM) {
            guess = p + api_comma(p);
            next = api_decimal_fast(p, &value);
        }
        if (!next) {
            double exact;
            guess = p; /* none: a number may end where api_comma says that there is no comma */
            status = api_decimal_careful(p, end, &exact, &next);
            if (status == API_DECIMAL_MALFORMED)
                break;
            value = exact;
        }
        if (!behind && !admit(c, NUMBERS))
            return NULL;
        if (status == API_DECIMAL_OUT_OF_RANGE)
            too_large(c, (size_t)(out - first));
        *out++ = value;
        behind = next;
        p = guess + gap;
        if (rarely(next != guess)) {
            if (end - next < 3 || *next != ',')
                break;
            p = next + gap;
        }
        if (rarely((next[1] == ' ') != (gap == 2))) {
            gap = 3 - gap;
            p = next + gap;
        }
        if (rarely(out == most))
            break;
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
        const char *behind = p + (is_true ? 4 : 5);
        if ((behind < end && is_letter(*behind)) || !admit(c, BOOLEANS))
            return NULL;
        c->solid = true;
        c->data[c->count++] = is_true;
        c->n[c->depth - 1]++;
        return behind;
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

/* What the text at p is, where a value should be and read_scalar found none that fits. */
static enum finding judge(const char *p, const char *end) {
    double value;
    const char *next;
    if (*p == '"' || *p == '{' || *p == 't' || *p == 'f' || *p == 'n' || non_finite(p, end, &value))
        return ALIEN;
    return api_decimal_careful(p, end, &value, &next) == API_DECIMAL_MALFORMED ? MALFORMED : ALIEN;
}

static bool is_stopped(struct candidate *c, const char *p) {
    if (c->looked && p - c->looked < LOOK_BYTES)
        return false;
    c->looked = p;
    return attn_exec_stopped(c->exec);
}

enum finding api_read_array(struct candidate *c, const char *p, const char *end, const char **next, bool *value) {
    for (;;) {
        *value = true;
        *next = p;
        if (p == end)
            return MALFORMED;
        if (is_stopped(c, p))
            return STOPPED;
        if (*p == '[') {
            if (c->depth == API_LIFT_MAX_RANK)
                return ALIEN;
            open_array(c, p);
            p = skip_space(p + 1, end);
            if (p == end || *p != ']')
                continue;
        } else if (!(p = read_scalar(c, p, end))) {
            return judge(*next, end);
        }
        /* A value has ended before p, or an empty array ends at p. */
        *value = false;
        for (p = skip_space(p, end); p < end && *p == ']'; p = skip_space(p + 1, end)) {
            close_array(c);
            if (c->depth == 0) {
                *next = p + 1;
                return TENSOR;
            }
        }
        *next = p;
        if (p == end || *p != ',')
            return MALFORMED;
        p = skip_space(p + 1, end);
    }
}
