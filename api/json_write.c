/* json_write.c - see json_write.h. */
#include "api/json_write.h"

#include "api/json_text.h"
#include "api/pages.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 1024 };

void api_write_init(struct api_writer *w, size_t limit, bool pretty, int round) {
    assert(round >= -1 && round <= 15);
    *w = (struct api_writer){.limit = limit, .pretty = pretty, .round = round};
}

void api_write_free(struct api_writer *w) {
    free(w->text);
    w->text = NULL;
    w->size = w->capacity = 0;
}

bool api_text_fail(struct api_writer *w, bool over_limit) {
    w->failed = true;
    w->over_limit |= over_limit;
    return false;
}

/* Growing doubles the address space, not the memory in use: pages behind `size` stay untouched. */
bool api_text_grow(struct api_writer *w, size_t more) {
    size_t most = SIZE_MAX / 4;
    if (more > most - w->size)
        return api_text_fail(w, false);
    size_t capacity = w->capacity < most / 2 ? 2 * w->capacity : most;
    if (capacity < w->size + more)
        capacity = w->size + more;
    if (capacity < FIRST_CAPACITY)
        capacity = FIRST_CAPACITY;
    char *text = realloc(w->text, capacity);
    if (!text)
        return api_text_fail(w, false);
    w->text = text;
    w->capacity = capacity;
    api_pages_large(text, capacity);
    return true;
}

void api_write_reserve(struct api_writer *w, size_t more) {
    if (w->failed || (w->limit && w->size > w->limit))
        return;
    if (w->limit && more > w->limit - w->size)
        more = w->limit - w->size;
    if (more > w->capacity - w->size && !api_text_grow(w, more))
        w->failed = false; /* only a hint: writing itself may still find room */
}

bool api_text_line(struct api_writer *w, unsigned depth) {
    size_t spaces = 2 * (size_t)depth;
    if (!api_text_room(w, 1 + spaces))
        return false;
    char *p = w->text + w->size;
    *p++ = '\n';
    memset(p, ' ', spaces);
    return api_text_keep(w, p + spaces);
}

/* What stands before every value: comma, line break, and the key. */
bool api_text_begin(struct api_writer *w, const char *key) {
    if (w->comma && !api_text_put(w, ",", 1))
        return false;
    if (w->pretty && w->depth && !w->after_name && !api_text_line(w, w->depth))
        return false;
    w->comma = true;
    w->after_name = false;
    if (!key)
        return !w->failed;
    return api_text_put(w, "\"", 1) && api_text_put(w, key, strlen(key)) &&
           (w->pretty ? api_text_put(w, "\": ", 3) : api_text_put(w, "\":", 2));
}

static void open_bracket(struct api_writer *w, const char *key, const char *bracket) {
    if (api_text_begin(w, key) && api_text_put(w, bracket, 1)) {
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
        api_text_line(w, w->depth);
    api_text_put(w, bracket, 1);
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
        return api_text_fail(w, true);
    if (!api_text_room(w, 6 * length + 2)) /* \u001f is the longest a byte can become */
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
    return api_text_keep(w, out);
}

void api_write_string(struct api_writer *w, const char *key, const char *utf8) {
    if (api_text_begin(w, key))
        put_string(w, utf8);
}

void api_write_member(struct api_writer *w, const char *utf8_name) {
    if (api_text_begin(w, NULL) && put_string(w, utf8_name) && api_text_put(w, ": ", w->pretty ? 2 : 1)) {
        w->comma = false;
        w->after_name = true;
    }
}

void api_write_bool(struct api_writer *w, const char *key, bool value) {
    if (api_text_begin(w, key))
        api_text_put(w, value ? "true" : "false", value ? 4 : 5);
}

void api_write_null(struct api_writer *w, const char *key) {
    if (api_text_begin(w, key))
        api_text_put(w, "null", 4);
}

void api_write_raw(struct api_writer *w, const char *key, const char *json) {
    if (api_text_begin(w, key))
        api_text_put(w, json, strlen(json));
}

char *api_text_integer(char *out, int64_t value) {
    char digits[API_INTEGER_MAX], *p = digits + sizeof digits;
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
    if (!api_text_begin(w, key) || !api_text_room(w, API_INTEGER_MAX))
        return;
    w->numbers++;
    api_text_keep(w, api_text_integer(w->text + w->size, value));
}

char *api_text_non_finite(char *out, double value) {
    const char *text = isnan(value) ? "\"NaN\"" : value < 0 ? "\"-Infinity\"" : "\"Infinity\"";
    size_t size = strlen(text);
    memcpy(out, text, size);
    return out + size;
}

void api_write_number(struct api_writer *w, const char *key, double value) {
    if (!api_text_begin(w, key) || !api_text_room(w, API_NUMBER_ROOM))
        return;
    w->numbers++;
    char *out = w->text + w->size;
    api_text_keep(w, isfinite(value) ? api_decimal_write_f64(out, value) : api_text_non_finite(out, value));
}

void api_write_shape(struct api_writer *w, const char *key, const struct attn_tensor *tensor) {
    if (!api_text_begin(w, key) || !api_text_room(w, 2 + ATTN_MAX_RANK * (API_INTEGER_MAX + 2)))
        return;
    char *out = w->text + w->size;
    *out++ = '[';
    for (unsigned axis = 0; axis < tensor->rank; axis++) {
        if (axis)
            *out++ = ',';
        if (axis && w->pretty)
            *out++ = ' ';
        out = api_text_integer(out, (int64_t)tensor->shape[axis]);
    }
    *out++ = ']';
    api_text_keep(w, out);
}

char *api_write_finish(struct api_writer *w, size_t *size) {
    assert(w->failed || (w->depth == 0 && w->comma));
    *size = 0;
    if (!api_text_room(w, 2) || !api_text_put(w, "\n", 1)) {
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
