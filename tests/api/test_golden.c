/* test_golden.c - every folder of tests/golden: the request is sent, and the answer is what NumPy computed, with not a
 * member more.
 *
 * Numbers agree to 1e-12 of the largest magnitude in
 * their row, in single precision to 1e-6; "*" is a text that is there to be read. All cases run; each that differs is
 * named.
 */
#include "tests/api/call.h"
#include "tests/api/golden.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOLERANCE_F64 1e-12
#define TOLERANCE_F32 1e-6

/* Looked at as text, see golden.h. */
static bool is_single(const char *request) {
    return strstr(request, "\"float32\"") != NULL;
}

static void compare(const struct golden *golden, void *arg) {
    unsigned *failed = arg;
    char *where = NULL;
    struct api_env env = call_env();
    struct call answer = call_bytes(&env, golden->method, golden->path, golden->request, golden->request_size);
    double tolerance = is_single(golden->request) ? TOLERANCE_F32 : TOLERANCE_F64;
    if (!json_near(golden->expected, answer.json, tolerance, &where)) {
        fprintf(stderr, "golden: %s: %s\n", golden->name, where);
        (*failed)++;
    }
    free(where);
    call_free(&answer);
}

Test(golden, numpy_agrees, .timeout = 120) {
    unsigned failed = 0, cases = golden_each(compare, &failed);
    fprintf(stderr, "golden: %u cases, %u differ\n", cases, failed);
    cr_assert_eq(failed, 0u);
}
