/* json_write.c - see json_write.h. */
#include "api/json_write.h"

#include "api/decimal.h"
#include "api/pages.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    FIRST_CAPACITY = 1024,
    INTEGER_MAX_TEXT = 20,             /* -9223372036854775808 */
    NUMBER_ROOM = API_DECIMAL_MAX + 2, /* with the separator */
    RUN = 256                          /* numbers written between two looks at the capacity */
};

void api_write_init(struct api_writer *w, size_t limit, bool pretty, int round) {
    assert(round >= -1 && round <= 15);
    *w = (struct api_writer){.limit = limit, .pretty = pretty, .round = round};
}

void api_write_free(struct api_writer *w) {
    free(w->text);
    w->text = NULL;
    w->size = w->capacity = 0;
}

static bool fail(struct api_writer *w, bool over_limit) {
    w->failed = true;
    w->over_limit |= over_limit;
    return false;
}

/* Growing doubles the address space, not the memory in use: pages behind `size` stay untouched. */
static bool grow(struct api_writer *w, size_t more) {
    size_t most = SIZE_MAX / 4;
    if (more > most - w->size)
        return fail(w, false);
    size_t capacity = w->capacity < most / 2 ? 2 * w->capacity : most;
    if (capacity < w->size + more)
        capacity = w->size + more;
    if (capacity < FIRST_CAPACITY)
        capacity = FIRST_CAPACITY;
    char *text = realloc(w->text, capacity);
    if (!text)
        return fail(w, false);
    w->text = text;
    w->capacity = capacity;
    api_pages_large(text, capacity);
    return true;
}

/* Room for `more` bytes, or false for good. */
static inline bool room(struct api_writer *w, size_t more) {
    if (w->failed)
        return false;
    return more <= w->capacity - w->size || grow(w, more);
}

/* Takes over what was written up to `end` and holds it against the limit. */
static inline bool keep(struct api_writer *w, const char *end) {
    w->size = (size_t)(end - w->text);
    return !w->limit || w->size <= w->limit || fail(w, true);
}

static bool put(struct api_writer *w, const char *bytes, size_t size) {
    if (!room(w, size))
        return false;
    memcpy(w->text + w->size, bytes, size);
    return keep(w, w->text + w->size + size);
}

void api_write_reserve(struct api_writer *w, size_t more) {
    if (w->failed || (w->limit && w->size > w->limit))
        return;
    if (w->limit && more > w->limit - w->size)
        more = w->limit - w->size;
    if (more > w->capacity - w->size && !grow(w, more))
        w->failed = false; /* only a hint: writing itself may still find room */
}

static bool line(struct api_writer *w, unsigned depth) {
    size_t spaces = 2 * (size_t)depth;
    if (!room(w, 1 + spaces))
        return false;
    char *p = w->text + w->size;
    *p++ = '\n';
    memset(p, ' ', spaces);
    return keep(w, p + spaces);
}

/* What stands before every value: comma, line break, and the key. */
static bool begin(struct api_writer *w, const char *key) {
    if (w->comma && !put(w, ",", 1))
        return false;
    if (w->pretty && w->depth && !w->after_name && !line(w, w->depth))
        return false;
    w->comma = true;
    w->after_name = false;
    if (!key)
        return !w->failed;
    return put(w, "\"", 1) && put(w, key, strlen(key)) && (w->pretty ? put(w, "\": ", 3) : put(w, "\":", 2));
}

static void open_bracket(struct api_writer *w, const char *key, const char *bracket) {
    if (begin(w, key) && put(w, bracket, 1)) {
        w->depth++;
        w->comma = false;
    }
}

static void close_bracket(struct api_writer *w, const char *bracket) {
    if (w->failed)
        return;
    assert(w->depth > 0 && !w->after_name);
    w->depth--;
    if (w->pretty && w->comma)
        line(w, w->depth);
    put(w, bracket, 1);
    w->comma = true;
}

void api_write_object(struct api_writer *w, const char *key) {
    open_bracket(w, key, "{");
}

void api_write_object_end(struct api_writer *w) {
    close_bracket(w, "}");
}

void api_write_array(struct api_writer *w, const char *key) {
    open_bracket(w, key, "[");
}

void api_write_array_end(struct api_writer *w) {
    close_bracket(w, "]");
}

/* Length of the well-formed UTF-8 sequence at p (RFC 3629), 0 if there is none. The text ends in NUL, which is no
 * continuation byte, so nothing behind it is read. */
static size_t utf8_sequence(const unsigned char *p) {
    unsigned char a = p[0], low = 0x80, high = 0xBF;
    if (a < 0x80)
        return 1;
    size_t length = a >= 0xC2 && a <= 0xDF ? 2 : (a & 0xF0) == 0xE0 ? 3 : a >= 0xF0 && a <= 0xF4 ? 4 : 0;
    if (a == 0xE0)
        low = 0xA0; /* shorter forms exist */
    else if (a == 0xED)
        high = 0x9F; /* surrogates */
    else if (a == 0xF0)
        low = 0x90;
    else if (a == 0xF4)
        high = 0x8F; /* beyond U+10FFFF */
    if (!length || p[1] < low || p[1] > high)
        return 0;
    for (size_t i = 2; i < length; i++)
        if (p[i] < 0x80 || p[i] > 0xBF)
            return 0;
    return length;
}

static char *escape(char *out, unsigned char c) {
    static const char hex[] = "0123456789abcdef";
    static const char named[] = "\"\"\\\\\bb\ff\nn\rr\tt";
    *out++ = '\\';
    for (const char *n = named; *n; n += 2)
        if ((unsigned char)*n == c) {
            *out++ = n[1];
            return out;
        }
    memcpy(out, "u00", 3);
    out[3] = hex[c >> 4];
    out[4] = hex[c & 15];
    return out + 5;
}

/* A quoted string; bytes that are not UTF-8 become U+FFFD, so that the document is always well-formed. */
static bool put_string(struct api_writer *w, const char *utf8) {
    const unsigned char *p = (const unsigned char *)utf8;
    size_t length = strlen(utf8);
    if (length > SIZE_MAX / 16)
        return fail(w, true);
    if (!room(w, 6 * length + 2)) /* \u001f is the longest a byte can become */
        return false;
    char *out = w->text + w->size;
    *out++ = '"';
    while (*p) {
        size_t n = utf8_sequence(p);
        if (n == 0) {
            memcpy(out, "\xEF\xBF\xBD", 3);
            out += 3;
            p++;
        } else if (n == 1 && (*p < 0x20 || *p == '"' || *p == '\\')) {
            out = escape(out, *p++);
        } else {
            memcpy(out, p, n);
            out += n;
            p += n;
        }
    }
    *out++ = '"';
    return keep(w, out);
}

void api_write_string(struct api_writer *w, const char *key, const char *utf8) {
    if (begin(w, key))
        put_string(w, utf8);
}

void api_write_member(struct api_writer *w, const char *utf8_name) {
    if (begin(w, NULL) && put_string(w, utf8_name) && put(w, ": ", w->pretty ? 2 : 1)) {
        w->comma = false;
        w->after_name = true;
    }
}

void api_write_bool(struct api_writer *w, const char *key, bool value) {
    if (begin(w, key))
        put(w, value ? "true" : "false", value ? 4 : 5);
}

void api_write_null(struct api_writer *w, const char *key) {
    if (begin(w, key))
        put(w, "null", 4);
}

void api_write_raw(struct api_writer *w, const char *key, const char *json) {
    if (begin(w, key))
        put(w, json, strlen(json));
}

static char *put_integer(char *out, int64_t value) {
    char digits[INTEGER_MAX_TEXT], *p = digits + sizeof digits;
    uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;
    do
        *--p = (char)('0' + rest % 10);
    while (rest /= 10);
    if (value < 0)
        *out++ = '-';
    size_t size = (size_t)(digits + sizeof digits - p);
    memcpy(out, p, size);
    return out + size;
}

void api_write_integer(struct api_writer *w, const char *key, int64_t value) {
    if (!begin(w, key) || !room(w, INTEGER_MAX_TEXT))
        return;
    w->numbers++;
    keep(w, put_integer(w->text + w->size, value));
}

static char *put_non_finite(char *out, double value) {
    const char *text = isnan(value) ? "\"NaN\"" : value < 0 ? "\"-Infinity\"" : "\"Infinity\"";
    size_t size = strlen(text);
    memcpy(out, text, size);
    return out + size;
}

void api_write_number(struct api_writer *w, const char *key, double value) {
    if (!begin(w, key) || !room(w, NUMBER_ROOM))
        return;
    w->numbers++;
    char *out = w->text + w->size;
    keep(w, isfinite(value) ? api_decimal_write_f64(out, value) : put_non_finite(out, value));
}

static char *put_f64(char *out, double value, int round) {
    if (!isfinite(value))
        return put_non_finite(out, value);
    return round < 0 ? api_decimal_write_f64(out, value) : api_decimal_write_rounded(out, value, (unsigned)round);
}

static char *put_f32(char *out, float value, int round) {
    if (!isfinite(value))
        return put_non_finite(out, (double)value);
    return round < 0 ? api_decimal_write_f32(out, value) : api_decimal_write_rounded_f32(out, value, (unsigned)round);
}

/* `count` elements of a tensor from element `from` on, separated; count <= RUN, and there is room. One loop per type,
 * so that the type is looked at once a run. */
static char *put_elements(const struct api_writer *w, char *out, const struct attn_tensor *t, size_t from,
                          size_t count) {
    size_t gap = w->pretty ? 2 : 1;
    switch (t->dtype) {
    case ATTN_F64:
        for (size_t i = 0; i < count; i++, out += gap) {
            out = put_f64(out, ((const double *)t->data)[from + i], w->round);
            memcpy(out, ", ", 2);
        }
        break;
    case ATTN_F32:
        for (size_t i = 0; i < count; i++, out += gap) {
            out = put_f32(out, ((const float *)t->data)[from + i], w->round);
            memcpy(out, ", ", 2);
        }
        break;
    case ATTN_BOOL:
        for (size_t i = 0; i < count; i++, out += gap) {
            bool value = ((const uint8_t *)t->data)[from + i] != 0;
            memcpy(out, value ? "true" : "false", 5);
            out += value ? 4 : 5;
            memcpy(out, ", ", 2);
        }
        break;
    case ATTN_I64:
        for (size_t i = 0; i < count; i++, out += gap) {
            out = put_integer(out, ((const int64_t *)t->data)[from + i]);
            memcpy(out, ", ", 2);
        }
        break;
    }
    return out - gap;
}

/* The innermost row: [a,b,c] on one line. */
static bool put_row(struct api_writer *w, const struct attn_tensor *t, size_t from, size_t count) {
    if (!put(w, "[", 1))
        return false;
    for (size_t done = 0, n; done < count; done += n) {
        n = count - done < RUN ? count - done : RUN;
        if ((done && !put(w, ", ", w->pretty ? 2 : 1)) || !room(w, n * NUMBER_ROOM))
            return false;
        if (!keep(w, put_elements(w, w->text + w->size, t, from + done, n)))
            return false;
    }
    w->numbers += count;
    return put(w, "]", 1);
}

/* Level `axis` of the nested list whose elements begin at `*from`; the recursion is at most ATTN_MAX_RANK deep. */
static bool put_level(struct api_writer *w, const struct attn_tensor *t, unsigned axis, size_t *from) {
    size_t n = t->shape[axis];
    if (axis + 1 == t->rank) {
        *from += n;
        return put_row(w, t, *from - n, n);
    }
    if (!put(w, "[", 1))
        return false;
    for (size_t i = 0; i < n; i++) {
        if (i && !put(w, ",", 1))
            return false;
        if (w->pretty && !line(w, w->depth + axis + 1))
            return false;
        if (!put_level(w, t, axis + 1, from))
            return false;
    }
    if (w->pretty && n && !line(w, w->depth + axis))
        return false;
    return put(w, "]", 1);
}

void api_write_tensor(struct api_writer *w, const char *key, const struct attn_tensor *tensor) {
    if (!begin(w, key))
        return;
    if (tensor->rank == 0) {
        if (room(w, NUMBER_ROOM) && keep(w, put_elements(w, w->text + w->size, tensor, 0, 1)))
            w->numbers++;
        return;
    }
    size_t count = attn_tensor_count(tensor), typical = tensor->dtype == ATTN_F64 ? 21 : 11;
    if (count < SIZE_MAX / 64)
        api_write_reserve(w, count * typical);
    size_t from = 0;
    put_level(w, tensor, 0, &from);
}

void api_write_shape(struct api_writer *w, const char *key, const struct attn_tensor *tensor) {
    if (!begin(w, key) || !room(w, 2 + ATTN_MAX_RANK * (INTEGER_MAX_TEXT + 2)))
        return;
    char *out = w->text + w->size;
    *out++ = '[';
    for (unsigned axis = 0; axis < tensor->rank; axis++) {
        if (axis)
            *out++ = ',';
        if (axis && w->pretty)
            *out++ = ' ';
        out = put_integer(out, (int64_t)tensor->shape[axis]);
    }
    *out++ = ']';
    keep(w, out);
}

char *api_write_finish(struct api_writer *w, size_t *size) {
    assert(w->failed || (w->depth == 0 && w->comma));
    *size = 0;
    if (!room(w, 2) || !put(w, "\n", 1)) {
        api_write_free(w);
        return NULL;
    }
    w->text[w->size] = '\0';
    char *text = realloc(w->text, w->size + 1); /* the unused rest goes back; shrinking copies nothing */
    if (!text)
        text = w->text;
    *size = w->size;
    w->text = NULL;
    w->size = w->capacity = 0;
    return text;
}
