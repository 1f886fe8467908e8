/* test_fields.c - names that are nearly right lead to the right one; far-off names lead nowhere. */
#include "api/endpoints.h"
#include "api/result.h"

#include <criterion/criterion.h>
#include <string.h>

static const char *const names[] = {"x",       "q",         "k",           "v",      "wq",     "wk",
                                    "wv",      "wo",        "num_heads",   "causal", "scale",  "softcap",
                                    "context", "attn_mask", "key_lengths", "return", "window", NULL};

Test(fields, closest_name) {
    static const struct {
        const char *name, *closest;
    } cases[] = {
        {"Wq", "wq"},
        {"WK", "wk"},
        {"numHeads", "num_heads"},
        {"n_heads", "num_heads"},
        {"Causal", "causal"},
        {"casual", "causal"},
        {"mask", "attn_mask"},
        {"keyLengths", "key_lengths"},
        {"key_length", "key_lengths"},
        {"Q", "q"},
        {"heads", "num_heads"},
        {"contxt", "context"},
        {"windows", "window"},
        {"retrun", "return"},
        {"zzzzzz", NULL},
        {"z", NULL},
        {"", NULL},
        {"temperature", "scale"},
        {"\xc3\xa7\xc3\xb6", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *closest = api_closest(names, cases[i].name);
        cr_expect(closest ? cases[i].closest && strcmp(closest, cases[i].closest) == 0 : !cases[i].closest,
                  "%s leads to %s", cases[i].name, closest ? closest : "nothing");
    }
}

Test(fields, long_names) {
    char name[1000];
    memset(name, 'a', sizeof name - 1);
    name[sizeof name - 1] = 0;
    for (size_t size = 999; size > 0; size /= 2) {
        name[size] = 0;
        cr_expect_null(api_closest(names, name));
    }
}

Test(fields, forms_in_words) {
    char text[256];
    cr_expect_str_eq(api_form_names(API_NUMBER | API_TENSOR, text, sizeof text), "a number or nested lists of numbers");
    cr_expect_str_eq(api_form_names(0, text, sizeof text), "");
    char narrow[8];
    api_form_names(API_NUMBER | API_TENSOR, narrow, sizeof narrow);
    cr_expect_eq(narrow[7], 0);
}

/* Every row of every table can be documented and bound. */
static void check_table(const struct api_table *table) {
    for (size_t i = 0; i < table->count; i++) {
        const struct api_field *field = &table->fields[i];
        cr_assert(field->name && field->doc, "%s, row %zu", table->name, i);
        cr_expect_eq(api_field_find(table, field->name), i, "%s.%s stands twice", table->name, field->name);
        cr_expect(field->accepts, "%s.%s", table->name, field->name);
        cr_expect(field->max_rank <= ATTN_MAX_RANK && field->min_rank <= field->max_rank, "%s.%s", table->name,
                  field->name);
        if (field->accepts & (API_CHOICE | API_CHOICES)) {
            size_t n = 0;
            while (field->choices[n])
                n++;
            cr_expect(n > 0 && n <= 32, "%s.%s", table->name, field->name);
        }
        if (field->accepts & (API_OBJECT | API_LIST))
            check_table(field->object);
        else
            cr_expect_null(field->object, "%s.%s", table->name, field->name);
    }
}

Test(fields, tables_are_sound) {
    size_t tables = 0;
    for (size_t i = 0; api_endpoint_at(i); i++)
        if (api_endpoint_at(i)->table) {
            check_table(api_endpoint_at(i)->table);
            tables++;
        }
    cr_assert_geq(tables, 4u);
}
