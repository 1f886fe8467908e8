/* test_body_read - once the api says that it has read a body, it never looks at it again: the body is overwritten at
 * that moment, and the answer to every golden request must be what it is otherwise. */
#include "tests/api/call.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct body {
    char *text;
    size_t size;
    unsigned calls;
};

static void spoil(void *ctx) {
    struct body *body = ctx;
    memset(body->text, '}', body->size);
    body->calls++;
}

static unsigned compare(const char *folder) {
    char path[512], method[16], target[64];
    struct body body = {0};
    snprintf(path, sizeof path, "tests/golden/%s/request.json", folder);
    body.text = read_file(path, &body.size);
    snprintf(path, sizeof path, "tests/golden/%s/route", folder);
    char *route = read_file(path, NULL);
    cr_assert(body.text && route && sscanf(route, "%15s %63s", method, target) == 2, "%s", folder);
    struct api_env env = call_env();
    struct call plain = call_bytes(&env, method, target, body.text, body.size);
    env.body_read = spoil;
    env.body_read_ctx = &body;
    struct call spoiled = call_bytes(&env, method, target, body.text, body.size);
    cr_expect_eq(spoiled.response.status, plain.response.status, "%s", folder);
    cr_expect_eq(body.calls, 1, "%s: told %u times", folder, body.calls);
    cr_expect(spoiled.response.body_size == plain.response.body_size &&
                  memcmp(spoiled.response.body, plain.response.body, plain.response.body_size) == 0,
              "%s", folder);
    call_free(&plain);
    call_free(&spoiled);
    free(body.text);
    free(route);
    return 1;
}

Test(body_read, is_final, .timeout = 120) {
    DIR *all = opendir("tests/golden");
    cr_assert(all, "run the tests from the project's root");
    unsigned cases = 0;
    for (struct dirent *entry; (entry = readdir(all));) {
        char path[512];
        snprintf(path, sizeof path, "tests/golden/%s/route", entry->d_name);
        FILE *file = entry->d_name[0] == '.' ? NULL : fopen(path, "re");
        if (file) {
            fclose(file);
            cases += compare(entry->d_name);
        }
    }
    closedir(all);
    cr_expect_gt(cases, 100);
}
