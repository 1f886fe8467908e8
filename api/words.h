/* words.h - texts split at white space into words, and words counted into ids. */
#ifndef API_WORDS_H
#define API_WORDS_H

#include "api/job.h"

/* struct api_words - the ids of all texts' words, one after the other; text t has [begin[t], begin[t + 1]). */
struct api_words {
    int64_t *ids;
    size_t *begin, longest;
};

/* api_words_read - splits job->tokens.values[API_EMBED_TEXTS] as Python's str.split() does, and looks the words up in
 * the vocabulary of the request, or builds one in order of first appearance behind the padding token; sets
 * job->tokens.vocabulary and vocab. */
bool api_words_read(struct api_job *job, struct api_words *words);

/* api_words_check - is every value of the request's vocabulary an id? Sets job->tokens.vocabulary and vocab. */
bool api_words_check(struct api_job *job, json_t *vocabulary);

/* api_space_size - bytes of the white space character that UTF-8 text begins with, 0 if it is none. */
size_t api_space_size(const char *text);

#endif
