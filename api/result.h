/* result.h - the arrays of an answer, then their shapes. */
#ifndef API_RESULT_H
#define API_RESULT_H

#include "api/job.h"

enum { API_RESULTS_MAX = 24 };

/* struct api_results - arrays to be sent, in order; of one without data only the shape is sent. Zeroed = none. */
struct api_results {
    struct {
        const char *name;
        struct attn_tensor tensor;
    } items[API_RESULTS_MAX];
    size_t count;
};

/* api_results_add - asserts that there is room. */
void api_results_add(struct api_results *results, const char *name, const struct attn_tensor *tensor);

/* api_results_write - each array under its name, then "shapes": {name: shape, ...}. */
void api_results_write(struct api_writer *w, const struct api_results *results);

/* api_wants - was result `index` (of the "return" field's choices) asked for? `standard`: the set when "return" is
 * absent. */
bool api_wants(const struct api_value *field, uint32_t standard, unsigned index);

/* Rows that endpoints share, for their field tables. */
extern const char *const api_dtype_choices[]; /* float64, float32: the index is enum attn_dtype */
extern const struct api_table api_random_table;

#define API_ROW_DTYPE                                                                                                  \
    {                                                                                                                  \
        .name = "dtype", .accepts = API_CHOICE, .flags = API_HAS_DEFAULT, .choices = api_dtype_choices,                \
        .doc = "Precision of the computation and of the numbers in the answer."                                        \
    }
#define API_ROW_RANDOM                                                                                                 \
    {                                                                                                                  \
        .name = "random", .accepts = API_OBJECT, .object = &api_random_table,                                          \
        .doc = "Fills fields from the stream of NumPy's default_rng(seed)."                                            \
    }
#define API_ROW_ROUND                                                                                                  \
    {                                                                                                                  \
        .name = "round", .accepts = API_INT | API_NULL,                                                                \
        .doc = "Decimals of the numbers in the answer, 0 to 15; null or absent: all of them."                          \
    }
#define API_ROW_RETURN(words)                                                                                          \
    { .name = "return", .accepts = API_CHOICES, .choices = words, .doc = "Which results to send." }

#endif
