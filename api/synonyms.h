/* synonyms.h - what other libraries, and beginners, call the fields and words that are known here by another name. */
#ifndef API_SYNONYMS_H
#define API_SYNONYMS_H

#include <stdbool.h>
#include <stddef.h>

/* struct api_synonym - one row.
 *
 *     theirs    names with a space between, in small letters and without underscores
 *     ours      the name that is meant; the row counts only where that name is known. NULL: there is none, anywhere
 *     hint      what to say instead of "Did you mean ...?", or NULL
 */
struct api_synonym {
    const char *theirs, *ours, *hint;
};

/* api_synonym_next - the next row whose `theirs` has this name, from *row on, which moves behind it; NULL: no more. */
const struct api_synonym *api_synonym_next(const char *name, size_t *row);

/* api_same_letters - are two names the same but for case, underscores, hyphens and slashes? Never for names without a
 * letter or digit. */
bool api_same_letters(const char *a, const char *b);

#endif
