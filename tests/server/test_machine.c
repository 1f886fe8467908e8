/* test_machine - what the cgroup's files say, and that what is found on this machine is possible. */
#include "server/head.h"
#include "server/machine.h"
#include "server/parts.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

Test(machine, cpu_max) {
    static const struct {
        const char *text;
        size_t cores;
    } rows[] = {{"max 100000\n", 0}, {"100000 100000\n", 1}, {"150000 100000", 2},
                {"50000 100000", 1}, {"400000 100000", 4},   {"", 0},
                {"0 100000", 0},     {"100000 0", 0},        {"-1 100000", 0},
                {"x y", 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].text[0] == '-')
            continue; /* version 1 writes -1 for no limit, which is recognised before */
        cr_expect_eq(srv_machine_parse_cpu_max(rows[i].text), rows[i].cores, "%s", rows[i].text);
    }
}

Test(machine, limits_are_possible) {
    cr_expect_geq(srv_machine_cores(), 1);
    cr_expect_leq(srv_machine_cores(), (size_t)sysconf(_SC_NPROCESSORS_CONF));
    cr_expect_gt(srv_machine_memory(), 1 << 20);
    cr_expect_geq(srv_machine_files(64), 64);
}

Test(machine, a_part_of_the_memory_is_left) {
    for (uint64_t bytes = 16 << 20; bytes < 1ull << 40; bytes *= 2) {
        cr_expect_lt(srv_memory_share(bytes), bytes);
        cr_expect_geq(srv_memory_share(bytes), bytes / 2);
    }
}

Test(machine, targets) {
    static const struct {
        const char *target, *path, *query;
    } rows[] = {{"/", "/", NULL},
                {"/mha?pretty", "/mha", "pretty"},
                {"/mha?", "/mha", ""},
                {"/a%20b?c%20d?e", "/a b", "c%20d?e"},
                {"/%2Fx", "//x", NULL},
                {"*", "*", NULL},
                {"http://h", "/", NULL},
                {"http://h?q", "/", "q"},
                {"HTTPS://h:1/p?q", "/p", "q"},
                {"http://[::1]:80/p", "/p", NULL},
                {"http:///p", NULL, NULL},
                {"http://a[/p", NULL, NULL},
                {"ftp://h/p", NULL, NULL},
                {"mha", NULL, NULL},
                {"", NULL, NULL},
                {"/a\tb", NULL, NULL},
                {"/a b", NULL, NULL},
                {"/%", NULL, NULL},
                {"/%1", NULL, NULL},
                {"/%zz", NULL, NULL},
                {"/%00", NULL, NULL},
                {"/a?%00", "/a", "%00"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char target[64];
        const char *path = NULL, *query = NULL;
        snprintf(target, sizeof target, "%s", rows[i].target);
        bool good = srv_target_split(target, &path, &query);
        cr_assert_eq(good, rows[i].path != NULL, "%s", rows[i].target);
        if (good) {
            cr_expect_str_eq(path, rows[i].path, "%s", rows[i].target);
            cr_expect_eq(query != NULL, rows[i].query != NULL, "%s", rows[i].target);
            if (query && rows[i].query)
                cr_expect_str_eq(query, rows[i].query);
        }
    }
}
