/* escape.h - text from outside made safe for a JSON string. */
#ifndef SRV_ESCAPE_H
#define SRV_ESCAPE_H

#include <stddef.h>

/* srv_escape_json - writes `text` (NUL-terminated, NULL = empty) as the inside of a JSON string: quotes, backslashes
 * and control characters escaped, bytes that are not part of valid UTF-8 replaced by U+FFFD. Stops before the first
 * character that would not fit, so the result is always whole.
 *
 *     out    [out, end) is where it may write; no NUL is added
 *
 * Returns the end of what was written.
 */
char *srv_escape_json(char *out, const char *end, const char *text);

#endif
