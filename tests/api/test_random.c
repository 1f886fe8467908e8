/* test_random.c - "random" in a request: which fields are filled, in which order, from which seed.
 *
 * The numbers themselves are held to NumPy's in tests/core/test_random.c and the golden cases; here the stream of
 * core/random.h is the reference.
 */
#include "core/random.h"
#include "tests/api/call.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 64 };

/* What NumPy's stream for a one-word seed begins with, `skip` numbers later. */
static void expected(uint32_t seed, size_t skip, double *out, size_t n) {
    double skipped[MOST];
    struct attn_rng rng;
    attn_rng_seed(&rng, &seed, 1);
    attn_rng_normal(&rng, skipped, skip, 0, 1);
    attn_rng_normal(&rng, out, n, 0, 1);
}

static json_t *ask(const char *seed, const char *draws, const char *rest) {
    char body[1024];
    snprintf(body, sizeof body, "{\"random\":{\"seed\":%s,\"draws\":[%s]},%s}", seed, draws, rest);
    struct call answer = call("POST", "/embed", body);
    cr_expect_eq(answer.response.status, 200, "%s: %s", body, answer.response.body);
    json_t *json = json_incref(answer.json);
    call_free(&answer);
    return json;
}

static double element(const json_t *output, size_t i, size_t j) {
    return json_number_value(json_array_get(json_array_get(output, i), j));
}

static void expect_rows(json_t *answer, const double *want, size_t n, size_t d) {
    const json_t *output = json_object_get(answer, "output");
    cr_expect_eq(json_array_size(output), n);
    for (size_t i = 0; i < n * d; i++)
        cr_expect_eq(element(output, i / d, i % d), want[i], "element %zu", i);
    json_decref(answer);
}

Test(random_fields, fills_in_order) {
    double table[6], positions[4], want[4];
    expected(5, 0, table, 6);
    expected(5, 6, positions, 4);
    for (size_t i = 0; i < 4; i++)
        want[i] = table[i] + positions[i];
    expect_rows(
        ask("5", "{\"into\":[\"table\"],\"shape\":[3,2]},{\"into\":[\"positions\"],\"shape\":[2,2]}", "\"ids\":[0,1]"),
        want, 2, 2);
    expected(5, 4, table, 6);
    expected(5, 0, positions, 4);
    for (size_t i = 0; i < 4; i++)
        want[i] = table[i] + positions[i];
    expect_rows(
        ask("5", "{\"into\":[\"positions\"],\"shape\":[2,2]},{\"into\":[\"table\"],\"shape\":[3,2]}", "\"ids\":[0,1]"),
        want, 2, 2);
}

Test(random_fields, several_of_one_shape) {
    double table[4], positions[4], want[4];
    expected(0, 0, table, 4);
    expected(0, 4, positions, 4);
    for (size_t i = 0; i < 4; i++)
        want[i] = table[i] * 0.5 + positions[i] * 0.5;
    expect_rows(ask("0", "{\"into\":[\"table\",\"positions\"],\"shape\":[2,2],\"scale\":0.5}", "\"ids\":[0,1]"), want,
                2, 2);
}

Test(random_fields, vocabulary_as_a_size) {
    double want[6];
    expected(9, 0, want, 6);
    json_t *answer =
        ask("9", "{\"into\":[\"table\"],\"shape\":[\"vocab\",2]}", "\"texts\":[\"<pad> a b\"],\"return\":[\"output\"]");
    json_t *first = json_incref(json_array_get(json_object_get(answer, "output"), 0));
    json_object_set_new(answer, "output", first);
    expect_rows(answer, want, 3, 2);
}

/* One seed in each of its spellings, and the words that a large one has. */
Test(random_fields, spellings_of_a_seed) {
    static const char *const same[][4] = {{"7", "7.0", "\"7\"", "[7]"},
                                          {"9007199254740993", "\"9007199254740993\"", "\"009007199254740993\"", NULL},
                                          {"9223372036854775807", "\"9223372036854775807\"", NULL, NULL},
                                          {"0", "\"0\"", "[0]", NULL},
                                          {"\"18446744073709551617\"", "[1,0,1]", NULL, NULL}};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        json_t *first = NULL;
        for (size_t j = 0; j < 4 && same[i][j]; j++) {
            json_t *answer = ask(same[i][j], "{\"into\":[\"table\"],\"shape\":[2,2]}", "\"ids\":[0,1]");
            cr_expect(!first || json_equal(first, answer), "%s and %s", same[i][0], same[i][j]);
            if (!first)
                first = json_incref(answer);
            json_decref(answer);
        }
        json_decref(first);
    }
}

Test(random_fields, uniform) {
    double want[4];
    uint32_t seed = 2;
    struct attn_rng rng;
    attn_rng_seed(&rng, &seed, 1);
    attn_rng_uniform(&rng, want, 4, -1, 2);
    expect_rows(ask("2", "{\"into\":[\"table\"],\"shape\":[2,2],\"distribution\":\"uniform\",\"loc\":-1,\"scale\":2}",
                    "\"ids\":[0,1]"),
                want, 2, 2);
}

/* Single precision rounds the same stream. */
Test(random_fields, single_precision) {
    double want[4];
    expected(3, 0, want, 4);
    json_t *answer = ask("3", "{\"into\":[\"table\"],\"shape\":[2,2]}", "\"ids\":[0,1],\"dtype\":\"float32\"");
    const json_t *output = json_object_get(answer, "output");
    for (size_t i = 0; i < 4; i++)
        cr_expect_eq((float)element(output, i / 2, i % 2), (float)want[i]);
    json_decref(answer);
}

/* Seeds as long as 2048 bits, as a list of words and as decimals. */
Test(random_fields, longest_seeds) {
    enum { WORDS = 64, DIGITS = 616 };
    static const char draws[] = "{\"into\":[\"table\"],\"shape\":[1,1]}";
    char list[2 * WORDS + 8], decimals[DIGITS + 8], body[1024];
    for (int more = 0; more < 2; more++) {
        char *out = list;
        for (int i = 0; i < WORDS + more; i++)
            out += sprintf(out, "%c1", i ? ',' : '[');
        sprintf(out, "]");
        memset(decimals, more ? '9' : '1', sizeof decimals); /* 2^2048 has 617 digits, of which the first is a 3 */
        decimals[0] = '"';
        strcpy(decimals + 1 + DIGITS + more, "\"");
        for (int text = 0; text < 2; text++) {
            snprintf(body, sizeof body, "{\"random\":{\"seed\":%s,\"draws\":[%s]},\"ids\":[0]}", text ? decimals : list,
                     draws);
            struct call got = call("POST", "/embed", body);
            cr_expect_eq(got.response.status, more ? 422 : 200, "%s", got.response.body);
            if (more) {
                cr_expect_str_eq(json_string_value(json_object_get(got.json, "pointer")), "/random/seed");
                cr_expect(strstr(got.response.body, "2048 bits"), "%s", got.response.body);
            }
            call_free(&got);
        }
    }
}
