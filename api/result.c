/* result.c - see result.h. */
#include "api/result.h"

#include <assert.h>

const char *const api_dtype_choices[] = {"float64", "float32", NULL};

void api_results_add(struct api_results *results, const char *name, const struct attn_tensor *tensor) {
    assert(results->count < API_RESULTS_MAX);
    results->items[results->count].name = name;
    results->items[results->count++].tensor = *tensor;
}

void api_results_write(struct api_writer *w, const struct api_results *results) {
    for (size_t i = 0; i < results->count; i++)
        if (results->items[i].tensor.data)
            api_write_tensor(w, results->items[i].name, &results->items[i].tensor);
    api_write_object(w, "shapes");
    for (size_t i = 0; i < results->count; i++)
        api_write_shape(w, results->items[i].name, &results->items[i].tensor);
    api_write_object_end(w);
}

bool api_wants(const struct api_value *field, uint32_t standard, unsigned index) {
    return (field->form == API_CHOICES ? field->chosen : standard) >> index & 1;
}
