/* fuzz_headers - any bytes to everything that reads headers, packed bodies, options and log texts: it ends, stays in
 * its bounds, and what it says holds together.
 *
 * The first byte chooses the reader, the rest is its text.
 */
#include "server/coding.h"
#include "server/cors.h"
#include "server/escape.h"
#include "server/etag.h"
#include "server/framing.h"
#include "server/trace_context.h"

#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { LINES = 32, UNPACK_MOST = 1 << 20 };

static void must(bool holds) {
    if (!holds)
        abort();
}

/* Lines "name:value", with NULs and all; the first byte chooses the version. */
static void framing(const char *text, size_t size) {
    static const char *const versions[] = {"HTTP/1.1", "HTTP/1.0"};
    if (!size)
        return;
    unsigned choice = (unsigned char)*text++;
    struct srv_field fields[LINES];
    size_t n = 0;
    for (const char *end = text + size - 1, *at = text; n < LINES && at < end; n++) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        line_end = line_end ? line_end : end;
        const char *colon = memchr(at, ':', (size_t)(line_end - at));
        colon = colon ? colon : line_end;
        const char *value = colon < line_end ? colon + 1 : colon;
        fields[n] = (struct srv_field){at, value, (size_t)(colon - at), (size_t)(line_end - value)};
        at = line_end + 1;
    }
    struct srv_framing result;
    enum srv_framing_fault fault = srv_framing_check(versions[choice & 1], fields, n, &result);
    must((fault == SRV_FRAMING_OK) == !result.detail);
    must(fault != SRV_FRAMING_OK || !(result.has_length && result.chunked));
    must(srv_framing_status(fault) >= 200 && (fault == SRV_FRAMING_OK) == !srv_framing_code(fault));
}

/* What we send can be read by ourselves, and names the same trace. */
static void trace(const char *text) {
    struct srv_trace ours, again;
    srv_trace_begin(text, &ours);
    must(strlen(ours.traceparent) == 55);
    srv_trace_begin(ours.traceparent, &again);
    must(strcmp(ours.trace_id, again.trace_id) == 0 && strncmp(ours.traceparent + 36, again.parent_id, 16) == 0);
    char id[SRV_REQUEST_ID_SIZE], same[SRV_REQUEST_ID_SIZE];
    srv_request_id(text, id);
    srv_request_id(id, same);
    must(strcmp(id, same) == 0);
}

static void unpack(const char *data, size_t size) {
    for (enum srv_coding coding = SRV_GZIP; coding <= SRV_DEFLATE; coding++) {
        char *out;
        size_t out_size;
        struct srv_unpack_limit limit = {.bytes = UNPACK_MOST};
        bool fine = srv_unpack(coding, data, size, &limit, &out, &out_size) == SRV_UNPACKED;
        must(fine == (out != NULL) && out_size <= UNPACK_MOST);
        free(out);
        void *packed = srv_compress(&(struct srv_packing){.coding = coding, .level = 1}, data, size, &out_size);
        if (packed) {
            must(out_size < size);
            must(srv_unpack(coding, packed, out_size, &limit, &out, &out_size) == SRV_UNPACKED);
            must(out_size == size && memcmp(out, data, size) == 0);
            free(out);
            free(packed);
        }
    }
}

static void escape(const char *text) {
    char out[300];
    out[0] = '"';
    for (size_t room = 0; room < 290; room += 29) {
        char *end = srv_escape_json(out + 1, out + 1 + room, text);
        must(end <= out + 1 + room);
        *end = '"';
        json_t *json = json_loadb(out, (size_t)(end + 1 - out), JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
        must(json);
        json_decref(json);
    }
}

static void negotiation(const char *text) {
    enum srv_coding coding;
    must(srv_coding_negotiate(text) <= SRV_NOT_ACCEPTABLE);
    if (srv_content_coding(text, &coding))
        must(coding <= SRV_DEFLATE);
    srv_etag_matches(text, "\"0123456789abcdef\"");
}

static void cors(const char *text) {
    char message[SRV_MESSAGE_MAX] = "";
    struct srv_cors_header headers[SRV_CORS_HEADERS];
    struct srv_cors *all = srv_cors_open(text, message);
    must(all || *message);
    must(srv_cors_answer(all, text, headers) <= SRV_CORS_HEADERS);
    must(srv_cors_preflight(all, text, "POST", headers) <= SRV_CORS_HEADERS);
    srv_cors_free(all);
}

/* Arguments and one variable, separated by line feeds. */
static void options(char *text) {
    char *argv[LINES + 1] = {(char[]){"dikkat"}}, *envp[] = {text, NULL}, *rest = NULL;
    int argc = 1;
    for (char *word = strtok_r(text, "\n", &rest); word && argc < LINES; word = strtok_r(NULL, "\n", &rest))
        argv[argc++] = word;
    struct srv_options result;
    char message[SRV_MESSAGE_MAX];
    must(srv_options_read(&result, argc, argv, envp, message) != (*message != 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!size)
        return 0;
    char *text = malloc(size);
    memcpy(text, data + 1, size - 1);
    text[size - 1] = 0;
    switch (*data % 7) {
    case 0:
        framing(text, size - 1);
        break;
    case 1:
        trace(text);
        break;
    case 2:
        unpack(text, size - 1);
        break;
    case 3:
        escape(text);
        break;
    case 4:
        negotiation(text);
        break;
    case 5:
        cors(text);
        break;
    default:
        options(text);
    }
    free(text);
    return 0;
}
