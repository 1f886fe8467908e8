/* bench_decimal.c - nanoseconds for each number read and written, beside jansson and the C library in the same run.
 *
 *   read     the lift over an array of arrays, brackets and commas included
 *   write    the writer over a matrix, brackets and commas included
 *
 * Numbers are like those of NumPy's standard normal. Each figure is the best of several rounds, in which all candidates
 * take turns, in seconds of this thread on a processor: a busy neighbour costs little then.
 */
#include "api/decimal.h"
#include "api/json_write.h"
#include "api/lift.h"
#include "tests/bench/bench.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROWS = 200, COLUMNS = 500, COUNT = ROWS * COLUMNS, ROUNDS = 30, LONGEST = 30 };

/* struct text - a document, and the best time of reading it so far. */
struct text {
    char *bytes;
    size_t size;
    double seconds;
};

static double values[COUNT];
static float singles[COUNT];

static double uniform(void) {
    static uint64_t state = 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return ((double)(state >> 11) + 0.5) * 0x1p-53;
}

static void *must(void *p) {
    if (!p)
        abort();
    return p;
}

/* The matrix as Python's json.dumps lays it out, each number by `format`; NULL: the shortest text. */
static struct text layout(const char *format, double unit) {
    struct text t = {.seconds = HUGE_VAL};
    char *p = t.bytes = must(malloc((size_t)COUNT * LONGEST));
    for (size_t i = 0; i < COUNT; i++) {
        p = stpcpy(p, i == 0 ? "[[" : i % COLUMNS ? ", " : "], [");
        double value = unit > 0 ? rint(values[i] / unit) * unit : values[i];
        if (format)
            p += sprintf(p, format, value);
        else
            p = api_decimal_write_f64(p, value);
    }
    p = stpcpy(p, "]]");
    t.size = (size_t)(p - t.bytes);
    return t;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void best(double *seconds, double start) {
    double taken = now() - start;
    if (taken < *seconds)
        *seconds = taken;
}

static void read_lift(struct text *t, size_t expected) {
    struct api_arena arena;
    struct api_lift lift;
    double start = now();
    api_arena_init(&arena, 0);
    bool lifted = api_lift(&arena, t->bytes, t->size, NULL, &lift);
    best(&t->seconds, start);
    if (!lifted || lift.numbers != expected)
        abort();
    api_arena_free(&arena);
}

static void read_jansson(const struct text *t, double *seconds) {
    double start = now();
    json_t *json = json_loadb(t->bytes, t->size, 0, NULL);
    best(seconds, start);
    json_decref(must(json));
}

static void read_strtod(const struct text *t, double *seconds) {
    volatile double sum = 0;
    double start = now();
    for (char *p = t->bytes; *p; p++)
        if (*p == '-' || (*p >= '0' && *p <= '9'))
            sum = sum + strtod(p, &p);
    best(seconds, start);
}

static void write_ours(enum attn_dtype dtype, int round, double *seconds) {
    struct attn_tensor t = {dtype, 2, {ROWS, COLUMNS}, dtype == ATTN_F64 ? (void *)values : (void *)singles};
    struct api_writer w;
    size_t size;
    double start = now();
    api_write_init(&w, 0, false, round);
    api_write_tensor(&w, NULL, &t);
    char *text = api_write_finish(&w, &size);
    best(seconds, start);
    free(must(text));
}

static void write_jansson(const json_t *json, double *seconds) {
    double start = now();
    char *text = json_dumps(json, JSON_COMPACT);
    best(seconds, start);
    free(must(text));
}

static void write_snprintf(double *seconds) {
    char text[LONGEST];
    double start = now();
    for (size_t i = 0; i < COUNT; i++)
        snprintf(text, sizeof text, "%.17g", values[i]);
    best(seconds, start);
}

static double ns(double seconds) {
    return seconds * 1e9 / COUNT;
}

static void bench_reading(void) {
    struct text full = layout("%.17g", 0), brief = layout(NULL, 0.25), whole = layout("%.0f", 0.001),
                python = layout(NULL, 0);
    struct text broken = python;
    broken.bytes = must(strdup(python.bytes));
    memcpy(strrchr(broken.bytes, ','), "; ", 2);
    double jansson = HUGE_VAL, library = HUGE_VAL, jansson_brief = HUGE_VAL;
    for (int i = 0; i < ROUNDS; i++) {
        read_lift(&full, COUNT);
        read_lift(&python, COUNT);
        read_lift(&brief, COUNT);
        read_lift(&whole, COUNT);
        read_lift(&broken, 0);
        if (i % 3 == 0) {
            read_jansson(&full, &jansson);
            read_jansson(&brief, &jansson_brief);
            read_strtod(&full, &library);
        }
    }
    bench_figure("jansson reads a 17-digit number", ns(jansson), "ns");
    bench_figure("strtod reads a 17-digit number", ns(library), "ns");
    bench_goal("read a 17-digit number (%.17g)", ns(full.seconds), "ns", 25, false);
    bench_goal("read a number as Python prints it", ns(python.seconds), "ns", 25, false);
    bench_goal("read a short number (-0.25)", ns(brief.seconds), "ns", 18, false);
    bench_goal("read an integer", ns(whole.seconds), "ns", 15, false);
    bench_goal("read 17 digits / jansson", full.seconds / jansson, "x", 0.05, true);
    bench_goal("read short / jansson", brief.seconds / jansson_brief, "x", 0.1, true);
    bench_goal("read short / 17 digits", brief.seconds / full.seconds, "x", 0.9, false);
    bench_goal("find what is malformed at the end / read", broken.seconds / python.seconds, "x", 1.05, true);
    free(full.bytes);
    free(brief.bytes);
    free(whole.bytes);
    free(python.bytes);
    free(broken.bytes);
}

static void bench_writing(void) {
    struct text full = layout("%.17g", 0);
    json_t *json = must(json_loadb(full.bytes, full.size, 0, NULL));
    double ours = HUGE_VAL, single = HUGE_VAL, rounded = HUGE_VAL, jansson = HUGE_VAL, library = HUGE_VAL;
    for (int i = 0; i < ROUNDS; i++) {
        write_ours(ATTN_F64, -1, &ours);
        write_ours(ATTN_F32, -1, &single);
        write_ours(ATTN_F64, 4, &rounded);
        if (i % 3 == 0) {
            write_jansson(json, &jansson);
            write_snprintf(&library);
        }
    }
    bench_figure("jansson writes a number with 17 digits", ns(jansson), "ns");
    bench_figure("snprintf writes a number with 17 digits", ns(library), "ns");
    bench_goal("write a float64, shortest", ns(ours), "ns", 30, false);
    bench_goal("write a float32, shortest", ns(single), "ns", 30, false);
    bench_goal("write a float64, 4 decimals", ns(rounded), "ns", 35, false);
    bench_goal("write a float64 / jansson", ours / jansson, "x", 0.08, true);
    json_decref(json);
    free(full.bytes);
}

int main(void) {
    for (size_t i = 0; i < COUNT; i++) { /* Box and Muller, 1958 */
        values[i] = sqrt(-2 * log(uniform())) * cos(2 * 3.14159265358979323846 * uniform());
        singles[i] = (float)values[i];
    }
    bench_reading();
    bench_writing();
    return bench_exit();
}
