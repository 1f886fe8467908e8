/* test_json_write.c - documents are well-formed whatever is put in, and hold exactly what was put in.
 *
 * Small documents are compared as text, compact and indented; large random tensors are read back by jansson and by the
 * lift, bit for bit; limits and failing allocations at every place give a refusal, never half a document.
 */
#include "api/decimal_fast.h"
#include "api/json_write.h"
#include "api/lift.h"
#include "tests/api/fault.h"

#include <criterion/criterion.h>
#include <float.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A document with everything in it. */
static void write_all(struct api_writer *w) {
    static double numbers[6] = {1.5, -2, 0.1, (double)NAN, -(double)INFINITY, 1e300};
    static float singles[2] = {0.1f, 3.25f};
    static uint8_t booleans[2] = {1, 0};
    static int64_t integers[3] = {INT64_MIN, 0, INT64_MAX};
    struct attn_tensor matrix = {ATTN_F64, 2, {2, 3}, numbers}, row = {ATTN_F32, 1, {2}, singles};
    struct attn_tensor mask = {ATTN_BOOL, 2, {2, 1}, booleans}, ids = {ATTN_I64, 1, {3}, integers};
    struct attn_tensor empty = {ATTN_F64, 2, {0, 3}, numbers}, scalar = {ATTN_F64, 0, {0}, numbers};
    api_write_object(w, NULL);
    api_write_tensor(w, "matrix", &matrix);
    api_write_tensor(w, "row", &row);
    api_write_tensor(w, "mask", &mask);
    api_write_tensor(w, "ids", &ids);
    api_write_tensor(w, "empty", &empty);
    api_write_tensor(w, "scalar", &scalar);
    api_write_shape(w, "shape", &matrix);
    api_write_object(w, "none");
    api_write_object_end(w);
    api_write_array(w, "list");
    api_write_integer(w, NULL, -7);
    api_write_number(w, NULL, 2.5);
    api_write_bool(w, NULL, true);
    api_write_null(w, NULL);
    api_write_string(w, NULL, "t\"x");
    api_write_array(w, NULL);
    api_write_array_end(w);
    api_write_array_end(w);
    api_write_member(w, "na\nme");
    api_write_object(w, NULL);
    api_write_raw(w, "raw", "{\"a\":[]}");
    api_write_object_end(w);
    api_write_object_end(w);
}

static const char compact[] =
    "{\"matrix\":[[1.5,-2,0.1],[\"NaN\",\"-Infinity\",1e300]],\"row\":[0.1,3.25],\"mask\":[[true],[false]],"
    "\"ids\":[-9223372036854775808,0,9223372036854775807],\"empty\":[],\"scalar\":1.5,\"shape\":[2,3],\"none\":{},"
    "\"list\":[-7,2.5,true,null,\"t\\\"x\",[]],\"na\\nme\":{\"raw\":{\"a\":[]}}}\n";

static const char indented[] = "{\n"
                               "  \"matrix\": [\n"
                               "    [1.5, -2, 0.1],\n"
                               "    [\"NaN\", \"-Infinity\", 1e300]\n"
                               "  ],\n"
                               "  \"row\": [0.1, 3.25],\n"
                               "  \"mask\": [\n"
                               "    [true],\n"
                               "    [false]\n"
                               "  ],\n"
                               "  \"ids\": [-9223372036854775808, 0, 9223372036854775807],\n"
                               "  \"empty\": [],\n"
                               "  \"scalar\": 1.5,\n"
                               "  \"shape\": [2, 3],\n"
                               "  \"none\": {},\n"
                               "  \"list\": [\n"
                               "    -7,\n"
                               "    2.5,\n"
                               "    true,\n"
                               "    null,\n"
                               "    \"t\\\"x\",\n"
                               "    []\n"
                               "  ],\n"
                               "  \"na\\nme\": {\n"
                               "    \"raw\": {\"a\":[]}\n"
                               "  }\n"
                               "}\n";

Test(json_write, whole_documents) {
    for (int pretty = 0; pretty < 2; pretty++) {
        struct api_writer w;
        size_t size;
        api_write_init(&w, 0, pretty, -1);
        write_all(&w);
        cr_assert_eq(w.numbers, 6 + 2 + 2 + 3 + 0 + 1 + 2);
        char *text = api_write_finish(&w, &size);
        cr_assert_str_eq(text, pretty ? indented : compact);
        cr_assert_eq(size, strlen(text));
        cr_assert_null(w.text);
        free(text);
    }
}

/* One value at the top, written by `write`, as text. */
static char *single(void (*write)(struct api_writer *, const void *), const void *arg, int round, size_t *size) {
    struct api_writer w;
    api_write_init(&w, 0, false, round);
    write(&w, arg);
    return api_write_finish(&w, size);
}

static void write_string(struct api_writer *w, const void *arg) {
    api_write_string(w, NULL, arg);
}

static void write_tensor(struct api_writer *w, const void *arg) {
    api_write_tensor(w, NULL, arg);
}

Test(json_write, strings) {
    static const char *const rows[][2] = {
        {"", "\"\"\n"},
        {"\"\\/", "\"\\\"\\\\/\"\n"},
        {"\b\f\n\r\t\x01\x1f\x7f", "\"\\b\\f\\n\\r\\t\\u0001\\u001f\x7f\"\n"},
        {"dikkat \xC4\xB1\xE2\x82\xAC\xF0\x9F\x99\x82", "\"dikkat \xC4\xB1\xE2\x82\xAC\xF0\x9F\x99\x82\"\n"},
        {"\xF4\x8F\xBF\xBF", "\"\xF4\x8F\xBF\xBF\"\n"},
        {"\xC0\xAF", "\"\xEF\xBF\xBD\xEF\xBF\xBD\"\n"},                                 /* overlong */
        {"\xE0\x80\x80", "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"\n"},                 /* overlong */
        {"\xED\xA0\x80", "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"\n"},                 /* surrogate */
        {"\xF4\x90\x80\x80", "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"\n"}, /* beyond U+10FFFF */
        {"a\xE2\x82", "\"a\xEF\xBF\xBD\xEF\xBF\xBD\"\n"},                               /* cut off */
        {"\xE2\x82\"", "\"\xEF\xBF\xBD\xEF\xBF\xBD\\\"\"\n"},
        {"\x80\xFF", "\"\xEF\xBF\xBD\xEF\xBF\xBD\"\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t size;
        char *text = single(write_string, rows[i][0], -1, &size);
        cr_assert_str_eq(text, rows[i][1]);
        json_t *value = json_loadb(text, size, JSON_DECODE_ANY, NULL);
        cr_assert_not_null(value, "%s", text);
        json_decref(value);
        free(text);
    }
}

/* Random bytes never make a document that jansson refuses. */
Test(json_write, random_strings) {
    uint64_t state = 1;
    for (int i = 0; i < 30000; i++) {
        char bytes[24];
        size_t length = (size_t)(i % 23), size;
        for (size_t k = 0; k < length; k++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            bytes[k] = (char)(state >> 56 ? state >> 56 : 1);
            if (i % 2 && (state >> 40) % 2)
                bytes[k] = (char)(0x80 | (bytes[k] & 0x3F));
        }
        bytes[length] = '\0';
        char *text = single(write_string, bytes, -1, &size);
        json_t *value = json_loadb(text, size, JSON_DECODE_ANY, NULL);
        cr_assert_not_null(value, "%s", text);
        json_decref(value);
        free(text);
    }
}

Test(json_write, round) {
    static double f64[] = {0.1, 2.0 / 3, -0.0004, 12.5, 1e-9, 123456.78949999};
    static float f32[] = {0.1f, 2.0f / 3, -0.0004f, 12.5f, 1e-9f, 3e10f};
    static const struct {
        int round;
        const char *f64, *f32;
    } rows[] = {{0, "[0,1,-0,12,0,123457]\n", "[0,1,-0,12,0,30000000000]\n"},
                {3, "[0.1,0.667,-0,12.5,0,123456.789]\n", "[0.1,0.667,-0,12.5,0,30000000000]\n"},
                {10, "[0.1,0.6666666667,-0.0004,12.5,1e-9,123456.78949999]\n",
                 "[0.1,0.6666667,-0.0004,12.5,1e-9,30000000000]\n"},
                {-1, "[0.1,0.6666666666666666,-0.0004,12.5,1e-9,123456.78949999]\n",
                 "[0.1,0.6666667,-0.0004,12.5,1e-9,30000000000]\n"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct attn_tensor doubles = {ATTN_F64, 1, {6}, f64}, singles = {ATTN_F32, 1, {6}, f32};
        size_t size;
        char *text = single(write_tensor, &doubles, rows[i].round, &size);
        cr_assert_str_eq(text, rows[i].f64);
        free(text);
        text = single(write_tensor, &singles, rows[i].round, &size);
        cr_assert_str_eq(text, rows[i].f32);
        free(text);
    }
}

/* Tensors of every rank with random bits: lifted again they are the same, bit for bit; jansson reads the same numbers.
 */
Test(json_write, tensors_come_back) {
    enum { COUNT = 3 * 5 * 2 * 700 };
    static const size_t shapes[][ATTN_MAX_RANK] = {{COUNT}, {30, 700}, {3, 10, 700}, {3, 5, 2, 700}, {3, 5, 1400, 1}};
    static double values[COUNT];
    uint64_t bits = 1;
    for (unsigned k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        for (size_t i = 0; i < COUNT; i++) {
            bits = bits * 6364136223846793005u + 1442695040888963407u;
            double value = api_double_of_bits(bits ^ bits >> 29);
            values[i] = isfinite(value) ? value : i % 3 ? 0.25 * (double)i : -(double)INFINITY;
        }
        struct attn_tensor tensor = {ATTN_F64, k < 4 ? k + 1 : 4, {0}, values};
        memcpy(tensor.shape, shapes[k], sizeof tensor.shape);
        struct api_writer w;
        size_t size;
        api_write_init(&w, 0, k % 2, -1);
        api_write_tensor(&w, NULL, &tensor);
        cr_assert_eq(w.numbers, COUNT);
        char *text = api_write_finish(&w, &size);
        struct api_arena arena;
        struct api_lift lift;
        api_arena_init(&arena, 0);
        cr_assert(api_lift(&arena, text, size, NULL, &lift));
        cr_assert_eq(lift.count, 1);
        cr_assert_eq(lift.items[0].rank, tensor.rank);
        cr_assert_arr_eq(lift.items[0].shape, tensor.shape, tensor.rank * sizeof(size_t));
        cr_assert_eq(memcmp(lift.items[0].data, values, sizeof values), 0);
        json_t *read = json_loadb(text, size, JSON_DECODE_INT_AS_REAL, NULL), *element = read;
        cr_assert_not_null(read);
        while (json_is_array(element))
            element = json_array_get(element, 0);
        cr_assert_eq(json_number_value(element), values[0]);
        json_decref(read);
        api_arena_free(&arena);
        free(text);
    }
}

/* A document over the limit is refused, one of exactly the limit is not. */
Test(json_write, every_limit) {
    for (size_t limit = 1; limit < sizeof compact + 2; limit++) {
        struct api_writer w;
        size_t size;
        api_write_init(&w, limit, false, -1);
        write_all(&w);
        char *text = api_write_finish(&w, &size);
        cr_assert_eq(text != NULL, limit >= sizeof compact - 1, "%zu", limit);
        if (text)
            cr_assert_str_eq(text, compact);
        else
            cr_assert(w.failed && w.over_limit && size == 0);
        free(text);
    }
}

Test(json_write, nth_allocation_fails) {
    bool fired = true;
    for (unsigned n = 1; fired; n++) {
        struct api_writer w;
        size_t size;
        fault_arm(n, false);
        api_write_init(&w, 0, true, -1);
        api_write_array(&w, NULL);
        for (int i = 0; i < 20; i++)
            write_all(&w);
        api_write_array_end(&w);
        char *text = api_write_finish(&w, &size);
        cr_assert(text ? size > 20 * sizeof compact : w.failed && !w.over_limit);
        free(text);
        cr_assert_eq(fault_live(), 0);
        fired = fault_disarm();
        cr_assert(n > 1 || fired, "the faults are not linked in");
        cr_assert(n > 1 || !text);
    }
}

/* Giving up in the middle frees what there is. */
Test(json_write, given_up) {
    struct api_writer w;
    fault_arm(0, false);
    api_write_init(&w, 0, false, -1);
    api_write_object(&w, NULL);
    api_write_string(&w, "a", "b");
    api_write_free(&w);
    cr_assert_eq(fault_live(), 0);
    fault_disarm();
}

/* --- by several tasks ----------------------------------------------------------------------------------------------
 */

static void run_backwards(void *ctx, size_t n, attn_task *task, void *arg) {
    (void)ctx;
    while (n--)
        task(arg, n, n % 3);
}

static bool runs_out(void *ctx) { /* stops after as many looks as *ctx says */
    size_t *looks = ctx;
    return *looks == 0 || --*looks == 0;
}

static char *text_of(const struct attn_tensor *t, const struct attn_exec *exec, bool pretty, int round, size_t limit,
                     size_t *size) {
    struct api_writer w;
    api_write_init(&w, limit, pretty, round);
    w.exec = exec;
    api_write_object(&w, NULL);
    api_write_tensor(&w, "a", t);
    api_write_object_end(&w);
    cr_assert(w.failed || w.numbers == attn_tensor_count(t));
    char *text = api_write_finish(&w, size);
    api_write_free(&w);
    return text;
}

/* The text of a large tensor does not depend on who writes it; when it is stopped in the middle there is none. */
Test(json_write, tasks_write_what_one_thread_writes) {
    static const size_t shapes[][3] = {{2, 700, 100}, {1, 2, 70000}, {70001, 1, 1}, {3, 37, 613}, {1, 1, 65536}};
    double *data = malloc(140000 * sizeof *data);
    for (size_t i = 0; i < 140000; i++)
        data[i] = i % 97 == 0 ? NAN : sin((double)i) * exp2((double)(i % 90) - 45);
    struct attn_exec exec = {.slots = 3, .run = run_backwards};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (int dtype = ATTN_F64; dtype <= ATTN_I64; dtype++)
            for (int way = 0; way < 3; way++) {
                struct attn_tensor t = {(enum attn_dtype)dtype, 3, {shapes[s][0], shapes[s][1], shapes[s][2]}, data};
                size_t size, other_size, looks = 2;
                char *one = text_of(&t, NULL, way == 1, way == 2 ? 3 : -1, 0, &size);
                char *many = text_of(&t, &exec, way == 1, way == 2 ? 3 : -1, 0, &other_size);
                struct attn_exec ending = {3, run_backwards, runs_out, &looks};
                cr_assert(size == other_size && memcmp(one, many, size) == 0, "shape %zu dtype %d way %d", s, dtype,
                          way);
                free(many);
                cr_assert_null(text_of(&t, &ending, way == 1, way == 2 ? 3 : -1, 0, &other_size));
                struct attn_exec alone = {1, NULL, runs_out, &looks};
                looks = 5;
                cr_assert_null(text_of(&t, &alone, way == 1, way == 2 ? 3 : -1, 0, &other_size));
                cr_assert_null(text_of(&t, &exec, way == 1, way == 2 ? 3 : -1, size - 2, &other_size));
                free(one);
            }
    free(data);
}

Test(json_write, tasks_without_memory) {
    double *data = malloc(70000 * sizeof *data);
    for (size_t i = 0; i < 70000; i++)
        data[i] = cos((double)i);
    struct attn_tensor t = {ATTN_F64, 2, {700, 100}, data};
    struct attn_exec exec = {.slots = 3, .run = run_backwards};
    size_t size, other_size;
    char *one = text_of(&t, NULL, false, -1, 0, &size);
    unsigned n = 1;
    for (bool fired = true; fired; n++) {
        fault_arm(n, n % 2);
        char *many = text_of(&t, &exec, false, -1, 0, &other_size);
        fired = fault_disarm();
        cr_assert(!many || (size == other_size && memcmp(one, many, size) == 0), "allocation %u", n);
        cr_assert(many || fired);
        free(many);
    }
    cr_assert_gt(n, 8);
    free(one);
    free(data);
}
