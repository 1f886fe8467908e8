/* examples.c - GET /examples: requests to try; GET /examples/{name}: one of them, as it is sent. */
#include "api/bind.h"
#include "api/endpoints.h"

#include <string.h>

#define EXAMPLE(symbol, endpoint, path, summary)                                                                       \
    extern const char api_example_##symbol##_begin[], api_example_##symbol##_end[];
#include "api/examples_list.h"
#undef EXAMPLE

/* struct example - `begin` ends in NUL. */
struct example {
    const char *endpoint, *path, *summary, *begin;
};

static const struct example examples[] = {
#define EXAMPLE(symbol, endpoint, path, summary) {endpoint, path, summary, api_example_##symbol##_begin},
#include "api/examples_list.h"
#undef EXAMPLE
};

enum { EXAMPLES = sizeof examples / sizeof *examples, NAME_SIZE = 48 };

/* "mha-causal" of "api/examples/mha-causal.json", written into out. */
static const char *name_of(const struct example *example, char *out, size_t size) {
    const char *name = strrchr(example->path, '/') + 1;
    size_t n = strcspn(name, ".");
    n = n < size ? n : size - 1;
    memcpy(out, name, n);
    out[n] = 0;
    return out;
}

bool api_examples(struct api_job *job) {
    char name[NAME_SIZE];
    api_write_object(job->writer, NULL);
    api_write_array(job->writer, "examples");
    for (size_t i = 0; i < EXAMPLES; i++) {
        api_write_object(job->writer, NULL);
        api_write_string(job->writer, "name", name_of(&examples[i], name, sizeof name));
        api_write_string(job->writer, "endpoint", examples[i].endpoint);
        api_write_string(job->writer, "summary", examples[i].summary);
        api_write_object_end(job->writer);
    }
    api_write_array_end(job->writer);
    api_write_object_end(job->writer);
    return true;
}

static bool refuse_name(struct api_job *job) {
    char names[EXAMPLES][NAME_SIZE];
    const char *known[EXAMPLES + 1] = {0};
    for (size_t i = 0; i < EXAMPLES; i++)
        known[i] = name_of(&examples[i], names[i], NAME_SIZE);
    const char *hint = api_guess_text(job, api_guess_word(known, job->rest));
    hint = hint ? hint : "GET /examples lists them.";
    api_refuse(job, "not_found", NULL, "There is no example of this name. %s", hint);
    job->problem->hint = hint;
    return false;
}

bool api_example(struct api_job *job) {
    char name[NAME_SIZE];
    for (size_t i = 0; i < EXAMPLES; i++)
        if (strcmp(name_of(&examples[i], name, sizeof name), job->rest) == 0) {
            api_write_raw(job->writer, NULL, examples[i].begin);
            return true;
        }
    return refuse_name(job);
}
