/* json_hint.h - what is probably meant by text that is not JSON. */
#ifndef API_JSON_HINT_H
#define API_JSON_HINT_H

#include <stddef.h>

/* api_json_hint - how to mend a body that could not be read from `offset` on: the habits of Python, JavaScript and
 * shells that JSON does not share. Returns a static sentence, or NULL when none fits. */
const char *api_json_hint(const char *body, size_t size, size_t offset);

#endif
