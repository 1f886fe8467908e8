/* malformed.c - a grammar of requests in which every rule may go wrong.
 *
 * The faults of one body come at a rate that is drawn for it, so that there are bodies with a single fault far inside,
 * and bodies that are wrong throughout.
 */
#include "tests/server/malformed.h"

#include <stdio.h>
#include <string.h>

#define COUNT(array) ((unsigned)(sizeof(array) / sizeof *(array)))

static const char *const paths[] = {"/attention", "/mha", "/embed", "/lookup", "/check"};

static const char *const fields[] = {
    "q",           "k",         "v",         "x",        "wq",
    "wk",          "wv",        "wo",        "bq",       "num_heads",
    "causal",      "context",   "window",    "alibi",    "random",
    "tokens",      "texts",     "table",     "ids",      "keys",
    "values",      "queries",   "sharpness", "return",   "round",
    "dtype",       "checks",    "scale",     "softcap",  "sinks",
    "attn_mask",   "attn_bias", "rope",      "past_key", "past_value",
    "endpoint",    "request",   "answer",    "pad",      "vocab",
    "key_lengths", "shape",     "data",      "eye",      "draws",
    "seed",        "into",      "low",       "size",     "key_padding_mask",
    "X",           "",          "\\u0071",   "q\\u0000",
};

static const char *const words[] = {"true",         "false",         "null",          "\"NaN\"",
                                    "\"Infinity\"", "\"-Infinity\"", "\"all\"",       "\"output\"",
                                    "\"float32\"",  "\"vocab\"",     "\"attention\"", "\"\""};

/* Not JSON, each in its own way. */
static const char *const broken[] = {"NaN",
                                     "Infinity",
                                     "-",
                                     "01",
                                     "1.",
                                     ".5",
                                     "+1",
                                     "1e",
                                     "1e+",
                                     "0x10",
                                     "tru",
                                     "nulll",
                                     "'q'",
                                     "\"",
                                     "\"\\x\"",
                                     "\"\\u12\"",
                                     "[1,]",
                                     "{,}",
                                     "{\"a\"}",
                                     "[1 2]",
                                     "{\"a\":}",
                                     "/**/1",
                                     "\"\\ud800\"",
                                     "\"\t\"",
                                     "\xff",
                                     "\"\xc3\"",
                                     "\"\xed\xa0\x80\"",
                                     "\"\xf4\x90\x80\x80\"",
                                     "1e99999",
                                     "--1",
                                     "]",
                                     "}"};

static const char *const numbers[] = {"0",
                                      "-0",
                                      "1",
                                      "2",
                                      "3",
                                      "0.5",
                                      "-1.25",
                                      "1e3",
                                      "1e-320",
                                      "1e308",
                                      "1e309",
                                      "-1",
                                      "2147483648",
                                      "18446744073709551616",
                                      "1e18",
                                      "4",
                                      "8",
                                      "1000000",
                                      "0.1000000000000000055511151231257827",
                                      "7"};

unsigned malformed_draw(struct malformed *state, unsigned n) {
    state->random ^= state->random << 13;
    state->random ^= state->random >> 7;
    state->random ^= state->random << 17;
    return (unsigned)(state->random >> 33) % n;
}

struct malformed malformed_new(uint64_t seed) {
    struct malformed state = {.random = seed * 0x9e3779b97f4a7c15u + 0x632be59bd9b4e019u};
    for (int i = 0; i < 8; i++)
        malformed_draw(&state, 2);
    return state;
}

static void put(struct malformed *state, const char *text, size_t size) {
    size_t room = (size_t)(state->end - state->out);
    size = size < room ? size : room;
    memcpy(state->out, text, size);
    state->out += size;
}

static void say(struct malformed *state, const char *text) {
    put(state, text, strlen(text));
}

static bool goes_wrong(struct malformed *state) {
    bool wrong = malformed_draw(state, state->rate) == 0;
    state->faults += wrong;
    return wrong;
}

/* A mark of the grammar: left out, said twice, or another one when it goes wrong. */
static void mark(struct malformed *state, const char *text) {
    static const char *const others[] = {",", ":", "[", "]", "{", "}", "\"", " ", "\n", "\x01", ";"};
    if (!goes_wrong(state)) {
        say(state, text);
        return;
    }
    switch (malformed_draw(state, 3)) {
    case 0:
        break;
    case 1:
        say(state, text);
        say(state, text);
        break;
    default:
        say(state, others[malformed_draw(state, COUNT(others))]);
    }
}

static void number(struct malformed *state) {
    say(state, goes_wrong(state) ? broken[malformed_draw(state, COUNT(broken))]
                                 : numbers[malformed_draw(state, COUNT(numbers))]);
}

static void text(struct malformed *state) {
    static const char *const pieces[] = {"film",           " ", "çok", "\\n", "\\\"", "\\u00e7",
                                         "\\ud83d\\ude00", "😀", "iyi", "/"};
    mark(state, "\"");
    for (unsigned i = malformed_draw(state, 4); i > 0; i--)
        say(state, goes_wrong(state) ? broken[malformed_draw(state, COUNT(broken))]
                                     : pieces[malformed_draw(state, COUNT(pieces))]);
    mark(state, "\"");
}

/* Numbers in `rank` axes; rows differ in length when it goes wrong. */
static void tensor(struct malformed *state, unsigned rank, const unsigned *sizes) {
    if (rank == 0) {
        number(state);
        return;
    }
    unsigned n = sizes[0];
    if (goes_wrong(state))
        n = malformed_draw(state, 6);
    mark(state, "[");
    for (unsigned i = 0; i < n; i++) {
        if (i)
            mark(state, ",");
        tensor(state, rank - 1, sizes + 1);
    }
    mark(state, "]");
}

static void any_tensor(struct malformed *state) {
    unsigned sizes[4];
    for (int i = 0; i < 4; i++)
        sizes[i] = malformed_draw(state, 4) == 0 ? malformed_draw(state, 5) : 2;
    tensor(state, malformed_draw(state, 8) == 0 ? malformed_draw(state, 5) : 2, sizes);
}

static void object(struct malformed *state, unsigned depth);

static void nest(struct malformed *state) {
    for (unsigned i = malformed_draw(state, 2000); i > 0; i--)
        say(state, malformed_draw(state, 2) ? "[" : "{\"a\":");
}

static void value(struct malformed *state, unsigned depth) {
    switch (malformed_draw(state, depth > 4 ? 7 : 12)) {
    case 0:
        say(state, words[malformed_draw(state, COUNT(words))]);
        break;
    case 1:
        number(state);
        break;
    case 2:
        text(state);
        break;
    case 3:
        goes_wrong(state) ? nest(state) : number(state);
        break;
    case 7:
    case 8:
        object(state, depth + 1);
        break;
    case 9:
        mark(state, "[");
        for (unsigned i = malformed_draw(state, 4); i > 0; i--) {
            value(state, depth + 1);
            if (i > 1)
                mark(state, ",");
        }
        mark(state, "]");
        break;
    default:
        any_tensor(state);
    }
}

static void object(struct malformed *state, unsigned depth) {
    mark(state, "{");
    for (unsigned i = malformed_draw(state, 6) + (depth == 0); i > 0; i--) {
        mark(state, "\"");
        say(state, fields[malformed_draw(state, COUNT(fields))]);
        mark(state, "\"");
        mark(state, ":");
        value(state, depth);
        if (i > 1)
            mark(state, ",");
    }
    mark(state, "}");
}

/* Requests that would be answered but for their faults. */
static void nearly(struct malformed *state, unsigned endpoint) {
    static const unsigned shape[] = {3, 2};
    static const char *const names[][3] = {{"q", "k", "v"},
                                           {"x", "wq", "wk"},
                                           {"table", "positions", "x"},
                                           {"queries", "keys", "values"},
                                           {"x", "y", "z"}};
    mark(state, "{");
    for (unsigned i = 0; i < 3; i++) {
        mark(state, "\"");
        say(state, names[endpoint][i]);
        mark(state, "\"");
        mark(state, ":");
        tensor(state, 2, shape);
        mark(state, ",");
    }
    mark(state, "\"round\":3");
    if (malformed_draw(state, 2)) {
        mark(state, ",\"");
        say(state, fields[malformed_draw(state, COUNT(fields))]);
        mark(state, "\":");
        value(state, 1);
    }
    if (malformed_draw(state, 8) == 0)
        say(state, ",\"x\":{\"eye\":99999999}");
    mark(state, "}");
}

/* Whole bytes changed, lost or added. */
static void hurt(struct malformed *state, char *begin) {
    size_t size = (size_t)(state->out - begin);
    for (unsigned i = malformed_draw(state, 4); i > 0 && size > 1; i--) {
        size_t at = malformed_draw(state, (unsigned)size);
        switch (malformed_draw(state, 3)) {
        case 0:
            begin[at] = (char)malformed_draw(state, 256);
            break;
        case 1:
            memmove(begin + at, begin + at + 1, size - at - 1);
            state->out--, size--;
            break;
        default:
            state->out = begin + at; /* cut short */
            size = at;
        }
    }
}

size_t malformed_next(struct malformed *state, char out[MALFORMED_MAX], const char **path) {
    static const unsigned rates[] = {4, 16, 64, 256, 1u << 30};
    unsigned endpoint = malformed_draw(state, COUNT(paths));
    *path = paths[endpoint];
    state->out = out;
    state->end = out + MALFORMED_MAX;
    state->faults = 0;
    state->rate = rates[malformed_draw(state, COUNT(rates))];
    if (malformed_draw(state, 50) == 0)
        say(state, "\xef\xbb\xbf");
    switch (malformed_draw(state, 8)) {
    case 0:
        value(state, 0);
        break;
    case 1:
    case 2:
    case 3:
        object(state, 0);
        break;
    default:
        nearly(state, endpoint);
    }
    if (malformed_draw(state, 20) == 0)
        value(state, 3); /* something behind the end */
    if (malformed_draw(state, 4) == 0)
        hurt(state, out);
    return (size_t)(state->out - out);
}
