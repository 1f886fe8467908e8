/* test_lift_harm.c - inputs made to hurt, memory that runs out, and places in the text.
 *
 * Time: each hurtful text of a megabyte would take hours if some of it were read over and over; the timeout is the
 * test.
 */
#include "api/lift.h"
#include "tests/api/fault.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGE = 1 << 20 };

static char *repeat(const char *first, const char *unit, const char *last, size_t size) {
    char *text = malloc(strlen(first) + size + strlen(unit) + strlen(last) + 1), *p = stpcpy(text, first);
    while (p < text + size)
        p = stpcpy(p, unit);
    strcpy(p, last);
    return text;
}

Test(lift_harm, takes_linear_time, .timeout = 60) {
    static const struct {
        const char *first, *unit, *last;
        size_t items; /* 0: do not care */
    } rows[] = {
        {"", "[", "", 0},
        {"", "[1,", "", 0},
        {"", "]", "", 0},
        {"", "[]", "", 0},
        {"[[[[[[[[", "1,", "\"a\"", 0},
        {"[[[[[[[[1,", "1,", "1,[[", 0},
        {"[", "[1,1],", "\"a\"]", LARGE / 6},
        {"[", "[1],[true],", "1]", LARGE * 2 / 11},
        {"[", "[1],\"\",", "1]", LARGE / 7},
        {"", "[1]", "", 0},
        {"", "[\"NaN\",", "", 0},
        {"[true,", "[[[[[", "", 0},
        {"[1", "          ", "", 0},
        {"[1,[", "          ", "true", 0},
        {"[true,[[[[", "[],", "1", 0},
        {"[", "0,", "1]", 1},
        {"[", "1e400,", "1]", 1},
        {"[", "[1],", "[2,2]]", 1},
        {"\"", "[1],\\\"", "", 0},
        {"\"", "\\", "", 0},
        {"[-", "-", "", 0},
        {"[0.", "1", "", 0},
        {"[0.", "1", "]", 1},
        {"[1", "0", "]", 1},
        {"[1e", "9", "]", 1},
        {"[0.", "0", "1e1048600]", 1},
        {"", "{\"a\":", "", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *text = repeat(rows[i].first, rows[i].unit, rows[i].last, LARGE);
        struct api_arena arena;
        struct api_lift lift;
        api_arena_init(&arena, 0);
        cr_assert(api_lift(&arena, text, strlen(text), NULL, &lift));
        if (rows[i].items)
            cr_assert_geq(lift.count, rows[i].items, "%s%s: %zu", rows[i].first, rows[i].unit, lift.count);
        api_arena_free(&arena);
        free(text);
    }
}

/* What each limit and each failing allocation gives is either refused, with the flag, or the same as ever. */
static const char request[] =
    "{\"q\":[[1.5,2],[3,4]],\"m\":[true],\"a\":[1],\"b\":[2],\"c\":[3],\"d\":[4],\"e\":[5],\"f\":[6],"
    "\"g\":[7],\"h\":[8],\"i\":[\"x\"]}";
static const char envelope[] = "{\"q\":[0],\"m\":[1],\"a\":[2],\"b\":[3],\"c\":[4],\"d\":[5],\"e\":[6],\"f\":[7],"
                               "\"g\":[8],\"h\":[9],\"i\":[\"x\"]}";

static bool lift_once(size_t limit, bool *over_limit) {
    struct api_arena arena;
    struct api_lift lift;
    api_arena_init(&arena, limit);
    bool lifted = api_lift(&arena, request, sizeof request - 1, NULL, &lift);
    cr_assert_eq(lifted, !arena.failed);
    if (lifted) {
        cr_assert_str_eq(lift.text, envelope);
        cr_assert_eq(lift.count, 10);
        cr_assert_eq(lift.numbers, 13);
        cr_assert_eq(((const double *)lift.items[0].data)[3], 4);
        cr_assert_eq(*(const uint8_t *)lift.items[1].data, 1);
    }
    cr_assert(!limit || arena.used <= limit);
    *over_limit = arena.over_limit;
    api_arena_free(&arena);
    return lifted;
}

/* What is lifted out of a copy that ends where its memory ends: how many arrays, and the size of the first. */
static void lift_exactly(const char *text, size_t *arrays, size_t *numbers) {
    struct api_arena arena;
    struct api_lift lift;
    char *copy = malloc(strlen(text));
    memcpy(copy, text, strlen(text));
    api_arena_init(&arena, 0);
    cr_assert(api_lift(&arena, copy, strlen(text), NULL, &lift));
    *arrays = lift.count;
    *numbers = lift.count ? lift.items[0].count : 0;
    api_arena_free(&arena);
    free(copy);
}

/* However many digits a number has, what stands behind it is read as behind one of a single digit. */
Test(lift_harm, length_of_a_number) {
    static const char *const rows[][2] = {{"[", ""},       {"[", "]"},        {"[", ",2]"},       {"[1, ", ", 2]"},
                                          {"[1,", "] 2]"}, {"[[1, ", "] 2]"}, {"[[1, ", "] 2]]"}, {"[[1,", "],[2]]"},
                                          {"[", "x2]"},    {"[", " 2]"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[400], digits_of_one[200];
        memset(digits_of_one, '1', sizeof digits_of_one);
        size_t arrays, numbers, arrays_of_one, numbers_of_one;
        snprintf(text, sizeof text, "%s1%s", rows[i][0], rows[i][1]);
        lift_exactly(text, &arrays_of_one, &numbers_of_one);
        for (int digits = 2; digits < 200; digits++) {
            snprintf(text, sizeof text, "%s%.*s%s", rows[i][0], digits, digits_of_one, rows[i][1]);
            lift_exactly(text, &arrays, &numbers);
            cr_assert(arrays == arrays_of_one && numbers == numbers_of_one, "%d digits: %s", digits, text);
        }
    }
}

Test(lift_harm, every_limit) {
    size_t refused = 0;
    bool over_limit, lifted = false;
    for (size_t limit = 64; limit < 8192; limit += 32) {
        bool before = lifted;
        lifted = lift_once(limit, &over_limit);
        cr_assert(lifted || over_limit);
        cr_assert(lifted || !before, "more memory, but refused");
        refused += !lifted;
    }
    cr_assert(lifted && refused > 10);
}

Test(lift_harm, nth_allocation_fails) {
    bool fired = true, over_limit;
    for (unsigned n = 1; fired; n++) {
        fault_arm(n, false);
        bool lifted = lift_once(0, &over_limit);
        cr_assert_eq(fault_live(), 0);
        fired = fault_disarm();
        cr_assert_eq(lifted, !fired);
        cr_assert(!over_limit);
        cr_assert(n > 1 || fired, "the faults are not linked in");
    }
}

Test(lift_harm, body_too_large_to_describe) {
    struct api_arena arena;
    struct api_lift lift;
    api_arena_init(&arena, 0);
    cr_assert_not(api_lift(&arena, "", SIZE_MAX / 2, NULL, &lift));
    cr_assert(arena.failed);
    api_arena_free(&arena);
}

/* Every byte of the envelope outside placeholders comes from the byte that api_lift_origin names. */
Test(lift_harm, origin) {
    struct api_arena arena;
    struct api_lift lift;
    api_arena_init(&arena, 0);
    cr_assert(api_lift(&arena, request, sizeof request - 1, NULL, &lift));
    size_t item = 0, inside = 0;
    for (size_t i = 0; i < lift.size; i++) {
        size_t origin = api_lift_origin(&lift, i);
        if (item < lift.count && origin == lift.items[item].begin) {
            inside++;
            if (lift.text[i] == ']')
                item++;
            continue;
        }
        cr_assert_eq(lift.text[i], request[origin], "%zu", i);
    }
    cr_assert_eq(item, lift.count);
    cr_assert_eq(inside, 3 * lift.count);
    cr_assert_eq(api_lift_origin(&lift, lift.size), sizeof request - 1);
    api_arena_free(&arena);
}

Test(lift_harm, line_column) {
    static const char text[] = "ab\ncd\n\nx\xc3\xa7y"; /* a c with a cedilla is one column of two bytes */
    static const size_t expected[][2] = {{1, 1}, {1, 2}, {1, 3}, {2, 1}, {2, 2}, {2, 3},
                                         {3, 1}, {4, 1}, {4, 2}, {4, 3}, {4, 3}, {4, 4}};
    for (size_t offset = 0; offset < sizeof text; offset++) {
        size_t line, column;
        api_line_column(text, offset, &line, &column);
        cr_assert_eq(line, expected[offset][0], "%zu", offset);
        cr_assert_eq(column, expected[offset][1], "%zu", offset);
    }
}
