/* test_lift.c - what the lift takes out of a request, what it leaves, and that nothing makes it slow or fall over.
 *
 * A table of requests with their envelopes and items; random documents held against jansson's reading of them; inputs
 * made to hurt. Items are compared in the form that the writer gives them.
 */
#include "api/json_write.h"
#include "api/lift.h"
#include "tests/api/fault.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One item as text: [[1,2]], or what is wrong with it: ragged/1/0:3,2 and range/0/1. */
static void show(struct api_writer *w, const struct api_lifted *item) {
    static const char *const names[] = {"", "ragged", "range"};
    char text[400], *p = text;
    if (item->fault == API_LIFT_FINE && item->rank <= ATTN_MAX_RANK) {
        struct attn_tensor tensor = {item->boolean ? ATTN_BOOL : ATTN_F64, item->rank, {0}, item->data};
        memcpy(tensor.shape, item->shape, item->rank * sizeof *item->shape);
        api_write_tensor(w, NULL, &tensor);
        cr_assert_eq(attn_tensor_count(&tensor), item->count);
        cr_assert_eq((uintptr_t)item->data % 64, 0);
        return;
    }
    p += sprintf(p, "%s", item->fault ? names[item->fault] : "rank");
    if (!item->fault)
        p += sprintf(p, "%u", item->rank);
    for (unsigned i = 0; i < item->fault_depth; i++)
        p += sprintf(p, "/%zu", item->fault_index[i]);
    if (item->fault == API_LIFT_RAGGED)
        sprintf(p, ":%zu,%zu", item->fault_expected, item->fault_got);
    api_write_raw(w, NULL, text);
}

/* All items as one JSON-like list; malloc'd. */
static char *show_all(const struct api_lift *lift) {
    struct api_writer w;
    size_t size;
    api_write_init(&w, 0, false, -1);
    api_write_array(&w, NULL);
    for (size_t i = 0; i < lift->count; i++)
        show(&w, &lift->items[i]);
    api_write_array_end(&w);
    char *text = api_write_finish(&w, &size);
    text[size - 1] = '\0';
    return text;
}

/* Lifts a copy of the text that ends where its memory ends. */
static bool lift_copy(struct api_arena *arena, const char *text, size_t size, struct api_lift *lift, char **copy) {
    *copy = malloc(size ? size : 1);
    memcpy(*copy, text, size);
    api_arena_init(arena, 0);
    return api_lift(arena, *copy, size, NULL, lift);
}

static const struct {
    const char *request, *envelope, *items;
} cases[] = {
    {"", "", "[]"},
    {"{}", "{}", "[]"},
    {"[1]", "[0]", "[[1]]"},
    {"{\"q\":[[1,2.5],[-0,1e2]],\"scale\":2}", "{\"q\":[0],\"scale\":2}", "[[[1,2.5],[-0,100]]]"},
    {" [ [ 1 ,\t2 ] ,\r\n [ 3 , 4 ] ] ", " [0] ", "[[[1,2],[3,4]]]"},
    {"[true,false]", "[0]", "[[true,false]]"},
    {"[[true],[false]]", "[0]", "[[[true],[false]]]"},
    {"[NaN, Infinity,-Infinity]", "[0]", "[[\"NaN\",\"Infinity\",\"-Infinity\"]]"},
    {"[\"NaN\",1,\"-Infinity\"]", "[0]", "[[\"NaN\",1,\"-Infinity\"]]"},
    {"[[\"NaN\"],[1]]", "[0]", "[[[\"NaN\"],[1]]]"},
    /* strings only, or nothing, is never lifted */
    {"[\"NaN\"]", "[\"NaN\"]", "[]"},
    {"[[\"NaN\"],[\"Infinity\"]]", "[[\"NaN\"],[\"Infinity\"]]", "[]"},
    {"{\"texts\":[\"a [1] b\",\"[2]\",\"\\\"[3]\"]}", "{\"texts\":[\"a [1] b\",\"[2]\",\"\\\"[3]\"]}", "[]"},
    {"[]", "[]", "[]"},
    {"[[],[]]", "[[],[]]", "[]"},
    /* mixtures stay, tensors within them do not */
    {"[1,true]", "[1,true]", "[]"},
    {"[1,null]", "[1,null]", "[]"},
    {"[1,\"a\"]", "[1,\"a\"]", "[]"},
    {"[true,\"NaN\"]", "[true,\"NaN\"]", "[]"},
    {"[1,\"NaNo\"]", "[1,\"NaNo\"]", "[]"},
    {"[[1],[true]]", "[[0],[1]]", "[[1],[true]]"},
    {"[[true],[[1],[2]]]", "[[0],[1]]", "[[true],[[1],[2]]]"},
    {"[[1,2],[3,\"a\"],[4]]", "[[0],[3,\"a\"],[1]]", "[[1,2],[4]]"},
    {"[[[1],[2]],{\"a\":[3]},[[4]]]", "[[0],{\"a\":[1]},[2]]", "[[[1],[2]],[3],[[4]]]"},
    {"[{\"shape\":[2,2]}]", "[{\"shape\":[0]}]", "[[2,2]]"},
    /* ragged: the first row of another length, a number among rows, a row among numbers */
    {"[[1,2],[3]]", "[0]", "[ragged/1:2,1]"},
    {"[[[1],[2]],[[3],[4,5]]]", "[0]", "[ragged/1/1:1,2]"},
    {"[[[1],[2]],[[3]]]", "[0]", "[ragged/1:2,1]"},
    {"[[1,2],3]", "[0]", "[ragged/1:2,0]"},
    {"[1,[2]]", "[0]", "[ragged/1:0,0]"},
    {"[[],[1]]", "[0]", "[ragged/1:0,1]"},
    {"[[1],[]]", "[0]", "[ragged/1:1,0]"},
    {"[[],1]", "[0]", "[ragged/1:0,0]"},
    {"[[[]],[1]]", "[0]", "[ragged/1/0:0,0]"},
    {"[[[1]],[[]]]", "[0]", "[ragged/1/0:1,0]"},
    {"[[true,true],[false]]", "[0]", "[ragged/1:2,1]"},
    {"[[1,2],[3],[\"a\"]]", "[[0],[1],[\"a\"]]", "[[1,2],[3]]"},
    /* beyond double; the first fault counts */
    {"[1e400]", "[0]", "[range/0]"},
    {"[[0,1],[2,-1e999]]", "[0]", "[range/1/1]"},
    {"[[1e400,1],[2]]", "[0]", "[range/0/0]"},
    {"[[1],[2,3],[1e400]]", "[0]", "[ragged/1:1,2]"},
    {"[1e-400]", "[0]", "[[0]]"},
    /* ranks */
    {"[[[[[[[[1]]]]]]]]", "[0]", "[rank8]"},
    {"[[[[[[[[[1]]]]]]]]]", "[[[[[[[[[0]]]]]]]]]", "[[1]]"},
    {"[[1,2],[[[[[[[[3]]]]]]]]]", "[[0],[1]]", "[[1,2],rank8]"},
    /* malformed: for jansson to report, and soon */
    {"[1 2]", "[null 2]", "[]"},
    {"[1,]", "[null,]", "[]"},
    {"[,1]", "[,1]", "[]"},
    {"[1", "[null ", "[]"},
    {"[[1],[2]", "[null ", "[]"},
    {"{\"q\":[1],\"k\":[[3],[1,2, x]],\"v\":[4]}", "{\"q\":[0],\"k\":[[null,x]],\"v\":[4]}", "[[1]]"},
    {"[01]", "[01]", "[]"},
    {"[5,1.]", "[null,1.]", "[]"},
    {"[+1]", "[+1]", "[]"},
    {"[[5],[-]]", "[[-]]", "[]"},
    {"[nan]", "[nan]", "[]"},
    {"[1,nan]", "[1,nan]", "[]"},
    {"[truest]", "[truest]", "[]"},
    {"{\"a\":\"[1", "{\"a\":\"[1", "[]"},
    {"{\"a\":\"\\", "{\"a\":\"\\", "[]"},
    {"[\"NaN", "[\"NaN", "[]"},
    {"]]]", "]]]", "[]"},
    {"[1]]", "[0]]", "[[1]]"},
};

Test(lift, table) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct api_arena arena;
        struct api_lift lift;
        char *copy;
        cr_assert(lift_copy(&arena, cases[i].request, strlen(cases[i].request), &lift, &copy));
        char *items = show_all(&lift);
        cr_assert_str_eq(lift.text, cases[i].envelope, "%s became %s", cases[i].request, lift.text);
        cr_assert_str_eq(items, cases[i].items, "%s held %s", cases[i].request, items);
        cr_assert_eq(lift.size, strlen(lift.text));
        free(items);
        free(copy);
        api_arena_free(&arena);
    }
}

Test(lift, integral) {
    static const struct {
        const char *text;
        bool integral;
    } rows[] = {{"[1,-2,0]", true},
                {"[1.0,1e3,-0]", true},
                {"[1.5]", false},
                {"[9007199254740992]", true},
                {"[9007199254740994]", false},
                {"[1,NaN]", false},
                {"[1,\"Infinity\"]", false},
                {"[true]", false},
                {"[[1],[2.25]]", false},
                {"[1e400]", false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct api_arena arena;
        struct api_lift lift;
        char *copy;
        cr_assert(lift_copy(&arena, rows[i].text, strlen(rows[i].text), &lift, &copy));
        cr_assert_eq(lift.count, 1);
        cr_assert_eq(lift.items[0].integral, rows[i].integral, "%s", rows[i].text);
        free(copy);
        api_arena_free(&arena);
    }
}

/* --- random documents ------------------------------------------------------------------------------------------- */

static unsigned seed = 1;

static unsigned dice(unsigned sides) {
    seed = seed * 1103515245 + 12345;
    return (seed >> 16) % sides;
}

static char *space(char *p) {
    while (dice(6) == 0)
        *p++ = " \t\n\r"[dice(4)];
    return p;
}

static char *document(char *p, unsigned depth, unsigned taste) {
    static const char *const words[] = {"0",       "-1",
                                        "2.5",     "1e3",
                                        "-0.0",    "123456789012345678901234567890",
                                        "0.1",     "7",
                                        "true",    "false",
                                        "\"NaN\"", "\"-Infinity\"",
                                        "null",    "\"text\"",
                                        "\"[1]\"", "\"a\\\"[\\\\\"",
                                        "{}",      "[]"};
    p = space(p);
    if (depth == 0 || (depth < 6 && dice(2) == 0)) {
        unsigned n = dice(5);
        bool object = dice(4) == 0;
        *p++ = object ? '{' : '[';
        for (unsigned i = 0; i < n; i++) {
            if (i)
                *p++ = ',';
            p = space(p);
            if (object)
                p += sprintf(p, "\"%u[\":", i);
            p = document(p, depth + 1, dice(8) ? taste : dice(4));
        }
        p = space(p);
        *p++ = object ? '}' : ']';
    } else {
        static const unsigned first[] = {0, 8, 0, 0}, count[] = {8, 2, 12, 18};
        p += sprintf(p, "%s", words[first[taste] + dice(count[taste])]);
    }
    return space(p);
}

enum { NUMBER = 1, BOOLEAN = 2, WORD = 4, ALIEN = 8 };

/* What an array holds, at any depth. */
static int contents(const json_t *value) {
    size_t i;
    json_t *element;
    int all = 0;
    if (json_is_array(value)) {
        json_array_foreach(value, i, element) all |= contents(element);
        return all;
    }
    const char *string = json_string_value(value);
    return json_is_number(value)                                                                               ? NUMBER
           : json_is_boolean(value)                                                                            ? BOOLEAN
           : string && (!strcmp(string, "NaN") || !strcmp(string, "Infinity") || !strcmp(string, "-Infinity")) ? WORD
                                                                                                               : ALIEN;
}

/* Compares an item's values with an array, in order; returns how many were compared. */
static size_t same_values(const struct api_lifted *item, size_t from, const json_t *value) {
    if (json_is_array(value)) {
        size_t i, n = 0;
        json_t *element;
        json_array_foreach(value, i, element) n += same_values(item, from + n, element);
        return n;
    }
    if (item->boolean) {
        cr_assert_eq(((const uint8_t *)item->data)[from], json_is_true(value));
        return 1;
    }
    double ours = ((const double *)item->data)[from];
    const char *string = json_string_value(value);
    if (!string)
        cr_assert_eq(ours, json_number_value(value));
    else
        cr_assert(string[0] == 'N' ? isnan(ours) : ours < 0);
    return 1;
}

/* Walks the request as jansson reads it beside the envelope: every array that is a tensor must be the next placeholder,
 * everything else must be the same. */
static void walk(const struct api_lift *lift, size_t *next, json_t *request, json_t *envelope, const char *text) {
    int held = json_is_array(request) ? contents(request) : 0;
    if (held == BOOLEAN || held == NUMBER || held == (NUMBER | WORD)) {
        cr_assert_eq(json_array_size(envelope), 1, "%s", text);
        cr_assert_eq(json_number_value(json_array_get(envelope, 0)), (double)*next, "%s", text);
        const struct api_lifted *item = &lift->items[(*next)++];
        cr_assert_eq(item->boolean, held == BOOLEAN);
        cr_assert_eq(same_values(item, 0, request), item->count, "%s", text);
        return;
    }
    cr_assert_eq(json_typeof(request), json_typeof(envelope), "%s", text);
    size_t i;
    const char *key;
    json_t *element;
    json_array_foreach(request, i, element) walk(lift, next, element, json_array_get(envelope, i), text);
    json_object_foreach(request, key, element) walk(lift, next, element, json_object_get(envelope, key), text);
    cr_assert_eq(json_array_size(request), json_array_size(envelope), "%s", text);
    if (!json_is_array(request) && !json_is_object(request))
        cr_assert(json_equal(request, envelope), "%s", text);
}

Test(lift, random_documents, .timeout = 60) {
    enum { DOCUMENTS = 20000 };
    static char text[1 << 20];
    size_t lifted = 0;
    for (int i = 0; i < DOCUMENTS; i++) {
        char *end = document(text, 0, dice(4));
        const size_t flags = JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL;
        json_t *request = json_loadb(text, (size_t)(end - text), flags, NULL);
        cr_assert_not_null(request, "%s", text);
        struct api_arena arena;
        struct api_lift lift;
        char *copy;
        cr_assert(lift_copy(&arena, text, (size_t)(end - text), &lift, &copy));
        json_t *envelope = json_loadb(lift.text, lift.size, flags, NULL);
        cr_assert_not_null(envelope, "%s became %s", text, lift.text);
        size_t next = 0;
        walk(&lift, &next, request, envelope, text);
        cr_assert_eq(next, lift.count, "%s", text);
        lifted += next;
        json_decref(request);
        json_decref(envelope);
        free(copy);
        api_arena_free(&arena);
    }
    cr_assert_gt(lifted, DOCUMENTS / 4);
}

/* --- long rows --------------------------------------------------------------------------------------------------- */

static char *digits(char *p, unsigned count) {
    while (count-- > 0)
        *p++ = (char)('0' + (dice(5) ? dice(10) : 0));
    return p;
}

/* A number of any plain form: up to 9 digits before the point, 24 behind it, an exponent of 3. */
static char *number(char *p) {
    unsigned whole = dice(3) ? 1 : 2 + dice(8), fraction = dice(4) ? dice(25) : 0;
    if (dice(2))
        *p++ = '-';
    *p++ = (char)('0' + (whole == 1 ? dice(10) : 1 + dice(9)));
    p = digits(p, whole - 1);
    if (fraction > 0) {
        *p++ = '.';
        p = digits(p, fraction);
    }
    return dice(12) ? p : p + sprintf(p, "%c%s%u", "eE"[dice(2)], &"+\0-\0"[2 * dice(2)], dice(300));
}

/* Rows long enough to be read ahead, with commas close together, far apart, and laid out as a program or a person
 * does. */
Test(lift, long_rows, .timeout = 60) {
    enum { ROWS = 4000, COLUMNS = 50 };
    static const char *const commas[] = {",", ", ", ",  ", " ,", ",\n", " , "};
    static char text[COLUMNS * 64];
    double expected[COLUMNS];
    for (int i = 0; i < ROWS; i++) {
        unsigned usual = dice(6);
        char *p = text;
        for (int k = 0; k < COLUMNS; k++) {
            p = stpcpy(p, k ? commas[dice(10) ? usual : dice(6)] : "[");
            char *begin = p;
            p = number(p);
            *p = '\0';
            expected[k] = strtod(begin, NULL);
            if (isinf(expected[k]))
                p = begin + sprintf(begin, "%.0f", expected[k] = 1);
        }
        *p++ = ']';
        struct api_arena arena;
        struct api_lift lift;
        char *copy;
        cr_assert(lift_copy(&arena, text, (size_t)(p - text), &lift, &copy));
        cr_assert_eq(lift.count, 1, "%s", copy);
        cr_assert_eq(lift.items[0].count, COLUMNS, "%s", copy);
        cr_assert(memcmp(lift.items[0].data, expected, sizeof expected) == 0, "%s", text);
        free(copy);
        api_arena_free(&arena);
    }
}

/* Malformed text gives jansson the same error at the same place, through the envelope, as by itself. */
Test(lift, malformed_documents, .timeout = 60) {
    enum { DOCUMENTS = 30000 };
    static const char alien[] = "[]{},:\"\\ 0-.eE+xtn\n\x01\xFF";
    static char text[1 << 20];
    int malformed = 0, cut = 0;
    for (int i = 0; i < DOCUMENTS; i++) {
        size_t size = (size_t)(document(text, 0, dice(3)) - text), at = size ? dice((unsigned)size) : 0;
        if (i % 8 == 0)
            size = at;
        else
            text[at] = alien[dice(sizeof alien - 1)];
        const size_t flags = JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL;
        json_error_t expected = {0}, got = {0};
        struct api_arena arena;
        struct api_lift lift;
        char *copy;
        json_decref(json_loadb(text, size, flags, &expected));
        cr_assert(lift_copy(&arena, text, size, &lift, &copy));
        json_decref(json_loadb(lift.text, lift.size, flags, &got));
        bool later = json_error_code(&expected) == json_error_numeric_overflow || strstr(expected.text, "near 'NaN") ||
                     strstr(expected.text, "Infinity") ||
                     strstr(expected.text, "near '-'"); /* the lift reads these, and goes on */
        cr_assert(later || json_error_code(&got) == json_error_code(&expected), "%.*s became %s: %s, not %s", (int)size,
                  text, lift.text, got.text, expected.text);
        if (*expected.text && !later) {
            malformed++;
            cut += lift.cut_end > 0;
            size_t at_fault = (size_t)expected.position, behind = (size_t)got.position;
            bool same = api_lift_origin(&lift, behind) == at_fault ||
                        (behind && api_lift_origin(&lift, behind - 1) == at_fault - 1); /* '[' of a placeholder */
            cr_assert(same, "%.*s became %s: %s", (int)size, text, lift.text, got.text);
            if (json_error_code(&got) != json_error_invalid_utf8) /* which also quotes the token before */
                cr_assert_str_eq(got.text, expected.text);
        }
        free(copy);
        api_arena_free(&arena);
    }
    cr_assert(malformed > DOCUMENTS / 4 && cut > DOCUMENTS / 20, "%d, %d", malformed, cut);
}
