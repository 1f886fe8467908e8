/* golden.c - see golden.h. A folder of tests/golden has request.json, expected.json and route ("POST /mha"). */
#include "tests/api/golden.h"

#include "tests/api/call.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static char *read_part(const char *folder, const char *part, size_t *size) {
    char path[512];
    snprintf(path, sizeof path, "tests/golden/%s/%s", folder, part);
    return read_file(path, size);
}

static void visit_folder(const char *folder, void (*visit)(const struct golden *, void *), void *arg) {
    struct golden golden = {.name = folder};
    char *route = read_part(folder, "route", NULL), *expected = read_part(folder, "expected.json", NULL);
    golden.request = read_part(folder, "request.json", &golden.request_size);
    cr_assert(route && expected && golden.request, "%s: a file is missing", folder);
    cr_assert_eq(sscanf(route, "%15s %63s", golden.method, golden.path), 2, "%s: route", folder);
    golden.expected = json_loads(expected, 0, NULL);
    cr_assert(golden.expected, "%s: expected.json", folder);
    visit(&golden, arg);
    json_decref(golden.expected);
    free(golden.request);
    free(expected);
    free(route);
}

unsigned golden_each(void (*visit)(const struct golden *golden, void *arg), void *arg) {
    DIR *all = opendir("tests/golden");
    cr_assert(all, "run the tests from the project's root");
    unsigned count = 0;
    for (struct dirent *entry; (entry = readdir(all)) != NULL;) {
        char path[512];
        struct stat is;
        snprintf(path, sizeof path, "tests/golden/%s", entry->d_name);
        if (entry->d_name[0] == '.' || entry->d_name[0] == '_' || stat(path, &is) != 0 || !S_ISDIR(is.st_mode))
            continue;
        visit_folder(entry->d_name, visit, arg);
        count++;
    }
    closedir(all);
    cr_assert_gt(count, 0u);
    return count;
}
