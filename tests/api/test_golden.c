/* test_golden.c - every folder of tests/golden: the request is sent, and the answer is what NumPy computed, with not a
 * member more.
 *
 * A folder has request.json, expected.json and route ("POST /mha"). Numbers agree to 1e-12 of the largest magnitude in
 * their row, in single precision to 1e-6; "*" is a text that is there to be read. All cases run; each that differs is
 * named.
 */
#include "tests/api/call.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOLERANCE_F64 1e-12
#define TOLERANCE_F32 1e-6

static char *read_part(const char *folder, const char *name) {
    char path[512];
    snprintf(path, sizeof path, "tests/golden/%s/%s", folder, name);
    return read_file(path, NULL);
}

/* A request may hold NaN as a bare word, so it is looked at as text. */
static bool is_single(const char *request) {
    return strstr(request, "\"float32\"") != NULL;
}

static bool answer_is(const char *folder, const char *route, const char *request, const json_t *expected) {
    char method[16], path[64], *where = NULL;
    if (sscanf(route, "%15s %63s", method, path) != 2 || !expected) {
        fprintf(stderr, "golden: %s: route or expected.json cannot be read\n", folder);
        return false;
    }
    struct call answer = call(method, path, request);
    double tolerance = is_single(request) ? TOLERANCE_F32 : TOLERANCE_F64;
    bool same = json_near(expected, answer.json, tolerance, &where);
    if (!same)
        fprintf(stderr, "golden: %s: %s\n", folder, where);
    free(where);
    call_free(&answer);
    return same;
}

/* Runs one folder. Returns whether it passed. */
static bool run_case(const char *folder) {
    char *route = read_part(folder, "route"), *request = read_part(folder, "request.json"),
         *expected_text = read_part(folder, "expected.json");
    json_t *expected = expected_text ? json_loads(expected_text, 0, NULL) : NULL;
    bool same = route && request && answer_is(folder, route, request, expected);
    json_decref(expected);
    free(route);
    free(request);
    free(expected_text);
    return same;
}

Test(golden, numpy_agrees, .timeout = 120) {
    DIR *all = opendir("tests/golden");
    cr_assert(all, "run the tests from the project's root");
    unsigned cases = 0, failed = 0;
    for (struct dirent *entry; (entry = readdir(all)) != NULL;) {
        char probe[512];
        snprintf(probe, sizeof probe, "tests/golden/%s/request.json", entry->d_name);
        FILE *request = fopen(probe, "rb");
        if (!request)
            continue;
        fclose(request);
        cases++;
        failed += !run_case(entry->d_name);
    }
    closedir(all);
    fprintf(stderr, "golden: %u cases, %u differ\n", cases, failed);
    cr_assert_gt(cases, 0u);
    cr_assert_eq(failed, 0u);
}
