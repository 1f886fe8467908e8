/* test_checks.c - "checks" must tell the truth. What they say is measured a second time here from the arrays of the
 * answer, and from a second request whose last input row is changed by +2, over many combinations of options; and
 * mistakes that course code makes must show. */
#include "tests/api/build.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { N = 5, D = 4, HEADS = 2 };

static json_t *layer(uint64_t seed) {
    json_t *request = json_object();
    json_object_set_new(request, "x", tensor(&seed, N, D, 0));
    for (const char *const *name = (const char *const[]){"wq", "wk", "wv", "wo", NULL}; *name; name++)
        json_object_set_new(request, *name, tensor(&seed, D, D, 0));
    json_object_set_new(request, "num_heads", json_integer(HEADS));
    return request;
}

/* The request with 2 added to the last row of a field. */
static json_t *changed(const json_t *request, const char *field) {
    json_t *out = json_copy((json_t *)request), *rows = json_deep_copy(json_object_get(request, field));
    json_t *last = json_array_get(rows, json_array_size(rows) - 1);
    for (size_t c = 0; c < json_array_size(last); c++)
        json_array_set_new(last, c, json_real(json_number_value(json_array_get(last, c)) + 2));
    json_object_set_new(out, field, rows);
    return out;
}

static double cell(const json_t *rows, size_t i, size_t j) {
    return json_number_value(json_array_get(json_array_get(rows, i), j));
}

/* Largest change of the first `rows` rows of two outputs. */
static double change_of(const json_t *a, const json_t *b, size_t rows) {
    double most = 0;
    for (size_t i = 0; i < rows; i++)
        for (size_t c = 0; c < json_array_size(json_array_get(a, 0)); c++)
            most = fmax(most, fabs(cell(a, i, c) - cell(b, i, c)));
    return most;
}

struct seen {
    double future, sum_error;
    size_t zero_rows;
};

/* From weights [heads][n_q][n_k]. */
static struct seen look_at(const json_t *weights, size_t offset) {
    struct seen seen = {0};
    size_t h, i;
    json_t *head, *row;
    json_array_foreach(weights, h, head) json_array_foreach(head, i, row) {
        double sum = 0;
        for (size_t j = 0; j < json_array_size(row); j++) {
            double w = json_number_value(json_array_get(row, j));
            sum += w;
            if (j > i + offset)
                seen.future = fmax(seen.future, w);
        }
        if (sum == 0)
            seen.zero_rows++;
        else
            seen.sum_error = fmax(seen.sum_error, fabs(sum - 1));
    }
    return seen;
}

static const char *const options[] = {
    "{}",
    "{\"causal\":true}",
    "{\"window\":[1,1]}",
    "{\"window\":[null,0]}",
    "{\"rope\":{}}",
    "{\"rope\":{\"positions\":[4,1,0,9,3]},\"causal\":true}",
    "{\"softcap\":1,\"alibi\":true}",
    "{\"num_kv_heads\":1,\"wk\":[[1,2],[0,1],[2,1],[1,1]],\"wv\":[[1,0],[0,1],[2,1],[1,-1]]}",
    "{\"past_key\":[[[1,2]],[[0,1]]],\"past_value\":[[[1,2]],[[0,1]]],\"rope\":{}}",
    "{\"past_key\":[[[1,2]],[[0,1]]],\"past_value\":[[[1,2]],[[0,1]]],\"causal\":true}",
    "{\"key_padding_mask\":[false,false,true,false,true]}",
    ("{\"attn_mask\":[[true,false,false,false,false],[false,false,false,false,false],[true,true,true,true,true],"
     "[false,false,false,true,true],[true,true,true,true,true]]}"),
    "{\"bq\":[1,2,3,4],\"bv\":[4,3,2,1],\"bo\":[1,1,1,1]}",
    "{\"weight_layout\":\"out_in\"}",
    "{\"causal\":true,\"mask_value\":-1e9}",
    "{\"causal\":true,\"causal_alignment\":\"bottom_right\",\"key_lengths\":[3]}",
};

/* For every option, with and without weights in the answer. */
Test(checks, say_what_is_in_the_arrays) {
    for (size_t o = 0; o < sizeof options / sizeof *options; o++) {
        json_t *base = layer(30 + o), *request = with(base, options[o]);
        json_t *answer = ask("/mha", with(request, "{}")), *after = ask("/mha", changed(request, "x"));
        json_t *few = ask("/mha", with(request, "{\"return\":[\"output\"]}"));
        size_t offset = json_object_get(request, "past_key") ? 1 : 0;
        struct seen seen = look_at(json_object_get(answer, "weights"), offset);
        double change = change_of(json_object_get(answer, "output"), json_object_get(after, "output"), N - 1);
        for (const json_t **a = (const json_t *[]){answer, few, NULL}; *a; a++) {
            cr_assert_eq(number_at(*a, "checks.causality.perturbed_position"), N - 1);
            cr_assert_float_eq(number_at(*a, "checks.causality.max_past_change"), change, 1e-13, "%s", options[o]);
            cr_assert_float_eq(number_at(*a, "checks.causality.max_future_weight"), seen.future, 1e-15, "%s",
                               options[o]);
            cr_assert_eq(truth_at(*a, "checks.causality.holds"), change == 0 && seen.future == 0, "%s", options[o]);
            cr_assert_eq(number_at(*a, "checks.normalization.empty_rows"), (double)seen.zero_rows, "%s", options[o]);
            cr_assert(number_at(*a, "checks.normalization.max_abs_error") <= 1e-15);
            cr_assert(truth_at(*a, "checks.normalization.holds"));
            cr_assert(truth_at(*a, "checks.ok"), "%s", options[o]);
        }
        json_decref(base), json_decref(request), json_decref(answer), json_decref(after), json_decref(few);
    }
}

/* Of cross-attention the context's last row is changed; of q, k, v the last row of each. */
Test(checks, change_what_the_keys_come_from) {
    uint64_t seed = 60;
    json_t *base = layer(61), *crossed = with_value(base, "context", tensor(&seed, 3, D, 0));
    json_t *answer = ask("/mha", with(crossed, "{}")), *after = ask("/mha", changed(crossed, "context"));
    double change = change_of(json_object_get(answer, "output"), json_object_get(after, "output"), 2);
    cr_assert_eq(number_at(answer, "checks.causality.perturbed_position"), 2);
    cr_assert_float_eq(number_at(answer, "checks.causality.max_past_change"), change, 1e-13);
    cr_assert_gt(change, 0);
    json_decref(base), json_decref(crossed), json_decref(answer), json_decref(after);

    json_t *q = tensor(&seed, 4, 3, 0), *k = tensor(&seed, 4, 3, 0), *v = tensor(&seed, 4, 2, 0);
    json_t *request = json_pack("{s:o,s:o,s:o}", "q", q, "k", k, "v", v);
    json_t *k2 = changed(request, "k"), *v2 = changed(k2, "v"), *q2 = changed(v2, "q");
    answer = ask("/attention", request), after = ask("/attention", q2);
    change = change_of(json_object_get(answer, "output"), json_object_get(after, "output"), 3);
    cr_assert_float_eq(number_at(answer, "checks.causality.max_past_change"), change, 1e-14);
    json_decref(k2), json_decref(v2), json_decref(answer), json_decref(after);
}

/* The commonest mistake: the polarity of a mask. Lower triangle true = may attend; turned round it shows the future. */
Test(checks, expose_a_mask_turned_round) {
    json_t *base = json_loads("{\"x\":[[1,2],[0,1],[3,1]]}", 0, NULL);
    json_t *right =
        ask("/attention", with(base, "{\"attn_mask\":[[true,false,false],[true,true,false],[true,true,true]]}"));
    json_t *wrong =
        ask("/attention", with(base, "{\"attn_mask\":[[false,true,true],[false,false,true],[false,false,false]]}"));
    cr_assert(truth_at(right, "checks.causality.holds"));
    cr_assert_not(truth_at(right, "checks.causality.requested"));
    cr_assert_not(truth_at(wrong, "checks.causality.holds"));
    cr_assert_eq(number_at(wrong, "checks.normalization.empty_rows"), 1);
    json_decref(base), json_decref(right), json_decref(wrong);
}

Test(checks, padding) {
    static const struct {
        const char *request;
        bool requested, holds;
        double weight;
    } rows[] = {
        {"{}", false, true, 0},
        {"{\"key_padding_mask\":[false,true]}", true, true, 0},
        {"{\"key_lengths\":[1]}", true, true, 0},
        {"{\"key_padding_mask\":[false,true],\"mask_value\":-1e9}", true, true, 0},
        {"{\"key_padding_mask\":[true,true],\"mask_value\":-1e9}", true, false, 2},
        {"{\"key_padding_mask\":[false,true],\"mask_value\":0,\"scale\":0}", true, false, 1},
        {"{\"key_lengths\":[1],\"mask_value\":0,\"scale\":0}", true, false, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int few = 0; few < 2; few++) {
            json_t *base = json_loads(few ? "{\"x\":[[1,2],[3,4]],\"return\":[]}" : "{\"x\":[[1,2],[3,4]]}", 0, NULL);
            json_t *answer = ask("/attention", with(base, rows[i].request));
            cr_assert_eq(truth_at(answer, "checks.padding.requested"), rows[i].requested, "%s", rows[i].request);
            cr_assert_eq(truth_at(answer, "checks.padding.holds"), rows[i].holds, "%s", rows[i].request);
            cr_assert_eq(truth_at(answer, "checks.ok"), rows[i].holds, "%s", rows[i].request);
            cr_assert_float_eq(number_at(answer, "checks.padding.total_weight"), rows[i].weight, 1e-15, "%s",
                               rows[i].request);
            json_decref(base), json_decref(answer);
        }
}

/* A finite fill that is not low enough lets the future through, and `causal` is then not fulfilled. */
Test(checks, causal_with_a_fill_that_leaks) {
    json_t *base = json_loads("{\"x\":[[1,2],[3,4]],\"causal\":true}", 0, NULL);
    json_t *low = ask("/attention", with(base, "{\"mask_value\":-1e9}")),
           *high = ask("/attention", with(base, "{\"mask_value\":1}"));
    cr_assert(truth_at(low, "checks.ok"));
    cr_assert(truth_at(high, "checks.causality.requested"));
    cr_assert_not(truth_at(high, "checks.causality.holds"));
    cr_assert_not(truth_at(high, "checks.ok"));
    json_decref(base), json_decref(low), json_decref(high);
}

/* Rows with a sink sum to less than 1; the check knows the sink's share. */
Test(checks, sinks_take_their_share) {
    static const char *const forms[] = {"{}", "{\"return\":[\"output\"]}", "{\"dtype\":\"float32\"}",
                                        "{\"key_padding_mask\":[true,true]}"};
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
        json_t *base = json_loads("{\"x\":[[1,2],[3,4]],\"sinks\":[6]}", 0, NULL);
        json_t *answer = ask("/attention", with(base, forms[f]));
        cr_assert(truth_at(answer, "checks.normalization.holds"), "%s", forms[f]);
        cr_assert(truth_at(answer, "checks.ok"), "%s", forms[f]);
        if (f == 0)
            cr_assert_lt(number_at(answer, "weights.0.0") + number_at(answer, "weights.0.1"), 0.9);
        cr_assert_eq(number_at(answer, "checks.normalization.empty_rows"), f == 3 ? 2 : 0);
        json_decref(base), json_decref(answer);
    }
}

/* What overflows where it is allowed is not hidden; where it is masked it is not there. */
Test(checks, finite) {
    json_t *base = json_loads("{\"q\":[[1],[1]],\"k\":[[1],[2]],\"v\":[[1],[\"Infinity\"]]}", 0, NULL);
    json_t *shown = ask("/attention", with(base, "{}")),
           *absent = ask("/attention", with(base, "{\"key_lengths\":[1]}"));
    cr_assert_not(truth_at(shown, "checks.finite.holds"));
    cr_assert_not(truth_at(shown, "checks.ok"));
    cr_assert(truth_at(absent, "checks.ok"));
    json_t *scores = ask("/attention", with(base, "{\"k\":[[\"NaN\"],[2]],\"v\":[[1],[2]],\"return\":[]}"));
    cr_assert_not(truth_at(scores, "checks.finite.holds"));
    cr_assert_not(truth_at(scores, "checks.normalization.holds"));
    json_decref(base), json_decref(shown), json_decref(absent), json_decref(scores);
}

Test(checks, can_be_left_out) {
    json_t *answer = ask("/attention", json_loads("{\"x\":[[1]],\"checks\":false}", 0, NULL));
    cr_assert_not(json_object_get(answer, "checks"));
    cr_assert_eq(number_at(answer, "output.0.0"), 1);
    json_decref(answer);
}
