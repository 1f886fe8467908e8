/* fields.c - names of fields: finding them, and the one that is meant by a name that is not known. */
#include "api/fields.h"

#include "api/synonyms.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { NAME_MAX_COMPARED = 48, CASE_COST = 1, EDIT_COST = 2 };

size_t api_field_find(const struct api_table *table, const char *name) {
    size_t i = 0;
    while (i < table->count && (table->fields[i].name[0] != name[0] || strcmp(table->fields[i].name, name) != 0))
        i++;
    return i;
}

static unsigned least(unsigned a, unsigned b) {
    return a < b ? a : b;
}

static unsigned swap_cost(char a, char b) {
    if (a == b)
        return 0;
    return tolower((unsigned char)a) == tolower((unsigned char)b) ? CASE_COST : EDIT_COST;
}

/* Edits that turn a into b: insertions, deletions and exchanges (Levenshtein 1965), a change of case at half price. */
static unsigned distance(const char *a, const char *b) {
    size_t len_b = strlen(b);
    unsigned row[NAME_MAX_COMPARED + 1];
    for (size_t j = 0; j <= len_b; j++)
        row[j] = (unsigned)j * EDIT_COST;
    for (size_t i = 0; a[i]; i++) {
        unsigned corner = row[0];
        row[0] += EDIT_COST;
        for (size_t j = 0; j < len_b; j++) {
            unsigned above = row[j + 1];
            row[j + 1] = least(least(above, row[j]) + EDIT_COST, corner + swap_cost(a[i], b[j]));
            corner = above;
        }
    }
    return row[len_b];
}

/* A third of the letters may be wrong; of a single letter only the case. A name within the other is near as well. */
static unsigned nearness(const char *known, const char *name) {
    size_t len = strlen(name), len_known = strlen(known);
    if (len > NAME_MAX_COMPARED || len_known > NAME_MAX_COMPARED)
        return 0;
    unsigned most = len < 2 ? CASE_COST : EDIT_COST * least(3, (unsigned)(len + 2) / 3);
    unsigned edits = distance(known, name);
    if (edits <= most)
        return 2 * NAME_MAX_COMPARED * EDIT_COST - edits;
    if (len >= 3 && len_known >= 3 && (strcasestr(known, name) || strcasestr(name, known)))
        return NAME_MAX_COMPARED * EDIT_COST - edits / 2;
    return 0;
}

/* struct known - names as a list of words, or as a table of fields. */
struct known {
    const char *const *words;
    const struct api_table *table;
};

static const char *known_at(const struct known *known, size_t i) {
    if (known->words)
        return known->words[i];
    return i < known->table->count ? known->table->fields[i].name : NULL;
}

/* The known name with the same letters. */
static const char *spelt_alike(const struct known *known, const char *name) {
    const char *word;
    for (size_t i = 0; (word = known_at(known, i)) != NULL; i++)
        if (api_same_letters(word, name))
            return word;
    return NULL;
}

static const char *nearest(const struct known *known, const char *name) {
    const char *best = NULL, *word;
    unsigned best_nearness = 0;
    for (size_t i = 0; (word = known_at(known, i)) != NULL; i++) {
        unsigned near = nearness(word, name);
        if (near > best_nearness) {
            best = word;
            best_nearness = near;
        }
    }
    return best;
}

static struct api_guess guess(const struct known *known, const char *name) {
    if (strnlen(name, NAME_MAX_COMPARED + 1) > NAME_MAX_COMPARED)
        return (struct api_guess){0};
    struct api_guess guessed = {.name = spelt_alike(known, name)};
    const struct api_synonym *row;
    size_t next = 0;
    while (!guessed.name && (row = api_synonym_next(name, &next)) != NULL) {
        guessed.name = row->ours ? spelt_alike(known, row->ours) : NULL;
        guessed.hint = guessed.name || !row->ours ? row->hint : NULL;
        if (!row->ours)
            return guessed;
    }
    if (!guessed.name)
        guessed.name = nearest(known, name);
    return guessed;
}

struct api_guess api_guess_word(const char *const *words, const char *name) {
    assert(words);
    return guess(&(struct known){.words = words}, name);
}

struct api_guess api_guess_field(const struct api_table *table, const char *name) {
    return guess(&(struct known){.table = table}, name);
}

const char *api_closest(const char *const *names, const char *name) {
    return api_guess_word(names, name).name;
}

const char *api_form_names(unsigned accepts, char *out, size_t size) {
    static const char *const names[] = {
        "null",
        "true or false",
        "an integer",
        "a number",
        "a string",
        "one of its words",
        "a list of words",
        "a list of strings",
        "nested lists of numbers",
        "nested lists of booleans",
        "nested lists of integers",
        "a pair [left, right]",
        "an object",
        "a list of objects",
        "an object",
        "a list of sizes",
    };
    out[0] = 0;
    size_t count = sizeof names / sizeof *names, used = 0;
    for (size_t k = 1; k <= count; k++) { /* null, the first form, comes last */
        size_t i = k % count;
        if (accepts & 1u << i && used + 1 < size) {
            int n = snprintf(out + used, size - used, "%s%s", used ? " or " : "", names[i]);
            used += n > 0 ? (size_t)n : 0;
        }
    }
    return out;
}
