/* escape.c - see escape.h. */
#include "server/escape.h"

#include <stdint.h>
#include <string.h>

/* Length of the well-formed UTF-8 sequence at text, 0 when there is none (Unicode 15, table 3-7). */
static size_t sequence(const unsigned char *text) {
    unsigned char c = text[0], low = 0x80, high = 0xBF;
    size_t n = c >= 0xC2 && c <= 0xDF ? 2 : c >= 0xE0 && c <= 0xEF ? 3 : c >= 0xF0 && c <= 0xF4 ? 4 : 0;
    if (c < 0x80) {
        return 1;
    }
    low = c == 0xE0 ? 0xA0 : c == 0xF0 ? 0x90 : low;
    high = c == 0xED ? 0x9F : c == 0xF4 ? 0x8F : high;
    for (size_t i = 1; i < n; i++) {
        if (text[i] < low || text[i] > high) {
            return 0;
        }
        low = 0x80, high = 0xBF;
    }
    return n;
}

char *srv_escape_json(char *out, const char *end, const char *text) {
    static const char hex[] = "0123456789abcdef";
    for (const unsigned char *at = (const unsigned char *)(text ? text : ""); *at;) {
        if (*at >= 0x20 && *at < 0x7F && *at != '"' && *at != '\\') { /* nearly always */
            if (out == end) {
                break;
            }
            *out++ = (char)*at++;
            continue;
        }
        char escaped[8];
        size_t used = sequence(at), n = used;
        if (used == 0) {
            memcpy(escaped, "\xEF\xBF\xBD", n = 3);
            used = 1;
        } else if (*at == '"' || *at == '\\') {
            escaped[0] = '\\', escaped[1] = (char)*at, n = 2;
        } else if (*at < 0x20 || *at == 0x7F) {
            memcpy(escaped, "\\u00", 4);
            escaped[4] = hex[*at >> 4], escaped[5] = hex[*at & 15], n = 6;
        } else {
            memcpy(escaped, at, n);
        }
        if ((size_t)(end - out) < n) {
            break;
        }
        memcpy(out, escaped, n);
        out += n;
        at += used;
    }
    return out;
}
