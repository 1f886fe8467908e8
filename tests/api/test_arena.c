/* test_arena.c - the arena keeps its promises: alignment, limit, reservation, and refusal without harm. */
#include "api/arena.h"
#include "tests/api/fault.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

static bool is_aligned(const void *p) {
    return p && (uintptr_t)p % 64 == 0;
}

/* Pieces of every size are aligned, apart from each other, and keep what is written into them. */
Test(arena, pieces) {
    enum { PIECES = 400 };
    static unsigned char *pieces[PIECES];
    struct api_arena arena;
    api_arena_init(&arena, 0);
    for (size_t i = 0; i < PIECES; i++) {
        size_t size = i * i * i % 40000;
        pieces[i] = api_arena_take(&arena, size);
        cr_assert(is_aligned(pieces[i]));
        memset(pieces[i], (int)(i & 255), size);
    }
    for (size_t i = 0; i < PIECES; i++)
        for (size_t k = 0; k < i * i * i % 40000; k++)
            cr_assert_eq(pieces[i][k], i & 255);
    cr_assert_not(arena.failed);
    api_arena_free(&arena);
    cr_assert_eq(arena.used, 0);
}

Test(arena, limit_is_kept_exactly) {
    struct api_arena arena;
    api_arena_init(&arena, 64 * 10);
    for (int i = 0; i < 10; i++)
        cr_assert(is_aligned(api_arena_take(&arena, i ? 64 : 1)));
    cr_assert_eq(arena.used, 640);
    cr_assert_not(arena.failed);
    cr_assert_null(api_arena_take(&arena, 0));
    cr_assert(arena.failed && arena.over_limit);
    api_arena_free(&arena);
    cr_assert_not(arena.failed);
    cr_assert_eq(arena.limit, 640);
}

Test(arena, sizes_beyond_memory) {
    struct api_arena arena;
    api_arena_init(&arena, 0);
    cr_assert_null(api_arena_array(&arena, SIZE_MAX / 2, 3));
    cr_assert(arena.failed && arena.over_limit);
    api_arena_free(&arena);
    cr_assert_null(api_arena_take(&arena, SIZE_MAX));
    cr_assert_null(api_arena_take(&arena, SIZE_MAX - 63));
    cr_assert_null(api_arena_reserve(&arena, SIZE_MAX));
    cr_assert_null(api_arena_reserve(&arena, SIZE_MAX / 2 - 100));
    cr_assert(is_aligned(api_arena_take(&arena, 100)));
    api_arena_free(&arena);
}

/* Small reservations share a chunk, large ones are mapped; both keep what was filled and give back the rest. */
Test(arena, reservation) {
    static const size_t most[] = {0, 64, 1000, 60000, 200000, 300000, (size_t)1 << 26, (size_t)1 << 32};
    for (size_t i = 0; i < sizeof most / sizeof *most; i++)
        for (size_t part = 0; part < 3; part++) {
            struct api_arena arena;
            api_arena_init(&arena, 1 << 20);
            char *before = api_arena_take(&arena, 100);
            char *piece = api_arena_reserve(&arena, most[i]);
            cr_assert(is_aligned(piece));
            size_t size = part * (most[i] < 900000 ? most[i] : 900000) / 2;
            memset(piece, 'r', size);
            memset(before, 'b', 100);
            cr_assert(api_arena_commit(&arena, size));
            char *after = api_arena_take(&arena, 5000);
            memset(after, 'a', 5000);
            for (size_t k = 0; k < size; k++)
                cr_assert_eq(piece[k], 'r');
            cr_assert_eq(arena.used, 128 + (size + 63) / 64 * 64 + 5056);
            api_arena_free(&arena);
        }
}

Test(arena, commit_is_held_against_the_limit) {
    for (size_t most = 1000; most <= 1000000; most *= 1000) {
        struct api_arena arena;
        api_arena_init(&arena, 640);
        cr_assert_not_null(api_arena_reserve(&arena, most));
        cr_assert_not(api_arena_commit(&arena, 641));
        cr_assert(arena.failed && arena.over_limit);
        cr_assert_eq(arena.used, 0);
        cr_assert_not_null(api_arena_take(&arena, 640));
        api_arena_free(&arena);
    }
}

Test(arena, printf_) {
    struct api_arena arena;
    api_arena_init(&arena, 4096);
    cr_assert_str_eq(api_arena_printf(&arena, "/%s/%d", "x", 7), "/x/7");
    cr_assert_str_eq(api_arena_printf(&arena, "%s", ""), "");
    cr_assert_null(api_arena_printf(&arena, "%5000d", 1));
    cr_assert(arena.over_limit);
    api_arena_free(&arena);
}

/* Every allocation in turn is refused: NULL, the flag, nothing lost. */
Test(arena, nth_allocation_fails) {
    bool fired = true;
    for (unsigned n = 1; fired; n++) {
        struct api_arena arena;
        fault_arm(n, false);
        api_arena_init(&arena, 0);
        void *pieces[] = {api_arena_take(&arena, 10), api_arena_take(&arena, 100000), api_arena_take(&arena, 60000)};
        void *reserved = api_arena_reserve(&arena, 1000000);
        if (reserved)
            api_arena_commit(&arena, 1000);
        int got = (pieces[0] != NULL) + (pieces[1] != NULL) + (pieces[2] != NULL) + (reserved != NULL);
        bool failed = arena.failed;
        api_arena_free(&arena);
        cr_assert_eq(fault_live(), 0);
        fired = fault_disarm();
        cr_assert_eq(got, fired ? 3 : 4);
        cr_assert_eq(failed, fired);
        cr_assert(n > 1 || fired, "the faults are not linked in");
    }
}
