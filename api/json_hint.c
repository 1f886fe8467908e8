/* json_hint.c - see json_hint.h. It looks at the byte where reading stopped, and at what stands before it. */
#include "api/json_hint.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

/* struct spot - where reading stopped.
 *
 *     rest     from there on, `size` bytes
 *     here     its first byte; 0 at the end of the body, or when it is a NUL
 *     before   the last byte before it that is not blank, 0 when there is none
 *     first    nothing but blanks stands before it
 */
struct spot {
    const char *rest;
    size_t size;
    char here, before;
    bool first;
};

static bool begins(const struct spot *spot, const char *text) {
    size_t n = strlen(text);
    return spot->size >= n && memcmp(spot->rest, text, n) == 0;
}

/* A word such as True, in any case, with no letter behind it. */
static bool is_word(const struct spot *spot, const char *word) {
    size_t n = strlen(word);
    return spot->size >= n && strncasecmp(spot->rest, word, n) == 0 &&
           (spot->size == n || !isalnum((unsigned char)spot->rest[n]));
}

static const char *encoding_hint(const struct spot *spot) {
    if (begins(spot, "\xef\xbb\xbf"))
        return "The body begins with a byte order mark: save it as UTF-8 without one.";
    if (begins(spot, "\xff\xfe") || begins(spot, "\xfe\xff"))
        return "The body is UTF-16: save it as UTF-8.";
    if (spot->size && !spot->here)
        return "A byte here is 0, as in UTF-16: save the body as UTF-8.";
    return NULL;
}

static const char *quote_hint(const struct spot *spot) {
    if (spot->here == '\'')
        return spot->first ? "The shell has sent its quotes along: put the JSON into a file and send --data @file.json."
                           : "JSON quotes with \" and not with '; Python's json.dumps writes it.";
    if (begins(spot, "\xe2\x80\x9c") || begins(spot, "\xe2\x80\x9d") || begins(spot, "\xe2\x80\x98") ||
        begins(spot, "\xe2\x80\x99"))
        return "These are typographic quotes; JSON takes \" only.";
    return NULL;
}

static const char *word_hint(const struct spot *spot) {
    size_t sign = spot->here == '-' ? 1 : 0;
    struct spot number = {.rest = spot->rest + sign, .size = spot->size - sign};
    if (is_word(&number, "nan") || is_word(&number, "inf") || is_word(&number, "infinity"))
        return "NaN, Infinity and -Infinity, spelt like this, are read in arrays of numbers only.";
    if (is_word(spot, "true") || is_word(spot, "false"))
        return "JSON writes true and false in small letters; Python's json.dumps does it.";
    if (is_word(spot, "none") || is_word(spot, "null") || is_word(spot, "undefined"))
        return "Python's None is null in JSON; json.dumps writes it so.";
    return NULL;
}

static const char *number_hint(const struct spot *spot) {
    bool digit = isdigit((unsigned char)spot->here);
    if (spot->here == '+' || spot->here == '.' || (digit && !isdigit((unsigned char)spot->before)))
        return "A number has no + sign, no 0 before other digits, and digits on both sides of its point: 0.5, 5.0.";
    return NULL;
}

static const char *bracket_hint(const struct spot *spot) {
    if (spot->before == ',' && spot->here && strchr(",]}", spot->here))
        return "Remove the comma before it: nothing follows.";
    if (spot->here == '(')
        return "Lists stand in [ ], not in ( ).";
    if (spot->here == ':')
        return "A list has no names: is a ] missing before this one?";
    if (!spot->size)
        return "The end is missing: a bracket or a quote is still open.";
    return NULL;
}

/* A value, where another one has just ended. */
static const char *comma_hint(const struct spot *spot) {
    bool ended = isdigit((unsigned char)spot->before) || (spot->before && strchr("]}\"el", spot->before));
    if (ended && (strchr("\"[{-", spot->here) || isdigit((unsigned char)spot->here)))
        return "Is a comma missing before it?";
    return NULL;
}

static const char *place_hint(const struct spot *spot) {
    if (spot->here == '#' || begins(spot, "//") || begins(spot, "/*"))
        return "JSON has no comments.";
    if (spot->here == '/')
        return "Numbers are not computed: write 0.5 for 1/2.";
    if (spot->first)
        return "A request begins with {. If this is the name of a file, write --data @name.";
    if (spot->before && strchr("{,", spot->before) && isalpha((unsigned char)spot->here))
        return "Names of fields stand in double quotes: {\"causal\": true}.";
    return NULL;
}

const char *api_json_hint(const char *body, size_t size, size_t offset) {
    size_t before = offset < size ? offset : size;
    while (before > 0 && strchr(" \t\r\n", body[before - 1]) && body[before - 1])
        before--;
    struct spot spot = {body + (offset < size ? offset : size), offset < size ? size - offset : 0,
                        offset < size ? body[offset] : 0, before > 0 ? body[before - 1] : 0, before == 0};
    static const char *(*const hints[])(const struct spot *) = {encoding_hint, quote_hint, word_hint,  bracket_hint,
                                                                comma_hint,    place_hint, number_hint};
    const char *hint = NULL;
    for (size_t i = 0; i < sizeof hints / sizeof *hints && !hint; i++)
        hint = hints[i](&spot);
    return hint;
}
