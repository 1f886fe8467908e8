/* framing.c - RFC 9112 (sections 3.2, 5.1, 6.1 - 6.3) and RFC 9110 (sections 5.5, 7.2, 8.6, 10.1.1), read strictly. */
#include "server/framing.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* struct text - a piece of a header; not NUL-terminated. */
struct text {
    const char *at;
    size_t size;
};

static struct text trim(struct text t) {
    while (t.size && (*t.at == ' ' || *t.at == '\t')) {
        t.at++, t.size--;
    }
    while (t.size && (t.at[t.size - 1] == ' ' || t.at[t.size - 1] == '\t')) {
        t.size--;
    }
    return t;
}

static bool equals(struct text t, const char *word) {
    return t.size == strlen(word) && strncasecmp(t.at, word, t.size) == 0;
}

/* The next member of a comma-separated list; `rest` moves behind it, rest->at becomes NULL after the last. */
static struct text next_member(struct text *rest) {
    const char *comma = memchr(rest->at, ',', rest->size);
    struct text member = {rest->at, comma ? (size_t)(comma - rest->at) : rest->size};
    rest->size -= comma ? member.size + 1 : rest->size;
    rest->at = comma ? comma + 1 : NULL;
    return trim(member);
}

/* --- the form of a line ------------------------------------------------------------------------------------------ */

static bool is_token(struct text t) {
    for (size_t i = 0; i < t.size; i++) {
        unsigned char c = (unsigned char)t.at[i];
        if (!(c < 0x80 && (isalnum(c) || (c && strchr("!#$%&'*+-.^_`|~", c))))) {
            return false;
        }
    }
    return t.size > 0;
}

static bool is_value(struct text t) {
    for (size_t i = 0; i < t.size; i++) {
        unsigned char c = (unsigned char)t.at[i];
        if ((c < 0x20 && c != '\t') || c == 0x7F) {
            return false;
        }
    }
    return true;
}

bool srv_host_valid(const char *host, size_t size) {
    size_t i = 0;
    if (size && host[0] == '[') {
        for (i = 1; i < size && (isxdigit((unsigned char)host[i]) || host[i] == ':' || host[i] == '.'); i++) {
        }
        if (i < 4 || i == size || host[i++] != ']') {
            return false;
        }
    }
    for (; host && i < size && host[0] != '[' && host[i] != ':'; i++) {
        unsigned char c = (unsigned char)host[i];
        if (!(c < 0x80 && (isalnum(c) || (c && strchr("-._~!$&'()*+,;=%", c))))) {
            return false;
        }
    }
    if (i == size) {
        return true;
    }
    if (i == 0 || host[i++] != ':' || size - i > 5) {
        return false; /* a port without a host, or something behind ']' */
    }
    unsigned port = 0;
    for (; i < size; i++) {
        if (!isdigit((unsigned char)host[i])) {
            return false;
        }
        port = 10 * port + (unsigned)(host[i] - '0');
    }
    return port <= 65535;
}

/* --- the lines that matter --------------------------------------------------------------------------------------- */

/* struct reading - the check under way. */
struct reading {
    struct srv_framing *framing;
    bool version_0;
    unsigned hosts, lengths, codings;
};

static enum srv_framing_fault fault(struct reading *r, enum srv_framing_fault kind, const char *detail) {
    r->framing->detail = detail;
    return kind;
}

static enum srv_framing_fault read_host(struct reading *r, struct text value) {
    if (++r->hosts > 1) {
        return fault(r, SRV_FRAMING_BAD, "There is more than one Host header.");
    }
    if (!srv_host_valid(value.at, value.size)) {
        return fault(r, SRV_FRAMING_BAD, "The Host header is not a host with an optional port.");
    }
    return SRV_FRAMING_OK;
}

static enum srv_framing_fault read_length(struct reading *r, struct text value) {
    if (++r->lengths > 1) {
        return fault(r, SRV_FRAMING_BAD, "There is more than one Content-Length header.");
    }
    uint64_t length = 0;
    for (size_t i = 0; i < value.size; i++) {
        if (!isdigit((unsigned char)value.at[i])) {
            return fault(r, SRV_FRAMING_BAD, "Content-Length is not one decimal number.");
        }
        if (length > (UINT64_MAX - 9) / 10) {
            return fault(r, SRV_FRAMING_BAD, "Content-Length is out of range.");
        }
        length = 10 * length + (uint64_t)(value.at[i] - '0');
    }
    if (!value.size) {
        return fault(r, SRV_FRAMING_BAD, "Content-Length is empty.");
    }
    r->framing->has_length = true;
    r->framing->length = length;
    return SRV_FRAMING_OK;
}

static enum srv_framing_fault read_transfer_encoding(struct reading *r, struct text value) {
    if (++r->codings > 1) {
        return fault(r, SRV_FRAMING_BAD, "There is more than one Transfer-Encoding header.");
    }
    if (r->version_0) {
        return fault(r, SRV_FRAMING_BAD, "Transfer-Encoding does not exist in HTTP/1.0.");
    }
    bool unknown = false;
    struct text rest = value;
    while (rest.at) {
        struct text coding = next_member(&rest);
        if (r->framing->chunked) {
            return fault(r, SRV_FRAMING_BAD, "In Transfer-Encoding chunked must come once, and last.");
        }
        if (equals(coding, "chunked")) {
            r->framing->chunked = true;
        } else if (coding.size) {
            unknown = true;
        }
    }
    if (unknown) {
        return fault(r, SRV_FRAMING_UNKNOWN_CODING, "Of the transfer codings only chunked is known here.");
    }
    return r->framing->chunked ? SRV_FRAMING_OK : fault(r, SRV_FRAMING_BAD, "Transfer-Encoding is empty.");
}

static enum srv_framing_fault read_expect(struct reading *r, struct text value) {
    struct text rest = value;
    while (!r->version_0 && rest.at) {
        struct text member = next_member(&rest);
        if (equals(member, "100-continue")) {
            r->framing->expect_continue = true;
        } else if (member.size) {
            return fault(r, SRV_FRAMING_EXPECTATION, "Of the expectations only 100-continue can be met.");
        }
    }
    return SRV_FRAMING_OK;
}

static enum srv_framing_fault read_field(struct reading *r, const struct srv_field *field) {
    struct text name = {field->name, field->name_size};
    struct text value = {field->value ? field->value : "", field->value ? field->value_size : 0};
    if (!is_token(name)) {
        return fault(r, SRV_FRAMING_BAD, "A header's name is empty or holds a character that no name may hold.");
    }
    if (!is_value(value)) {
        return fault(r, SRV_FRAMING_BAD, "A header's value holds a control character.");
    }
    value = trim(value);
    return equals(name, "Host")                ? read_host(r, value)
           : equals(name, "Content-Length")    ? read_length(r, value)
           : equals(name, "Transfer-Encoding") ? read_transfer_encoding(r, value)
           : equals(name, "Expect")            ? read_expect(r, value)
                                               : SRV_FRAMING_OK;
}

enum srv_framing_fault srv_framing_check(const char *version, const struct srv_field *fields, size_t count,
                                         struct srv_framing *framing) {
    *framing = (struct srv_framing){0};
    struct reading r = {.framing = framing, .version_0 = version && strcmp(version, "HTTP/1.0") == 0};
    if (version && (strncmp(version, "HTTP/1.", 7) != 0 || !isdigit((unsigned char)version[7]) || version[8])) {
        return fault(&r, SRV_FRAMING_VERSION, "This service speaks HTTP/1.1 and HTTP/1.0.");
    }
    /* A fault that leaves no doubt about the request's end gives way to one that does. */
    enum srv_framing_fault first = SRV_FRAMING_OK;
    const char *detail = NULL;
    for (size_t i = 0; i < count; i++) {
        enum srv_framing_fault found = read_field(&r, &fields[i]);
        if (found == SRV_FRAMING_BAD) {
            return found;
        }
        if (found && !first) {
            first = found;
            detail = framing->detail;
        }
    }
    if (r.lengths && r.codings) {
        return fault(&r, SRV_FRAMING_BAD, "Content-Length and Transfer-Encoding exclude each other.");
    }
    if (!r.hosts && version && !r.version_0) {
        return fault(&r, SRV_FRAMING_BAD, "HTTP/1.1 requires a Host header.");
    }
    framing->detail = detail;
    return first;
}

int srv_framing_status(enum srv_framing_fault fault) {
    static const short status[] = {[SRV_FRAMING_OK] = 200,
                                   [SRV_FRAMING_BAD] = 400,
                                   [SRV_FRAMING_EXPECTATION] = 417,
                                   [SRV_FRAMING_UNKNOWN_CODING] = 501,
                                   [SRV_FRAMING_VERSION] = 505};
    return status[fault];
}

const char *srv_framing_code(enum srv_framing_fault fault) {
    static const char *const code[] = {[SRV_FRAMING_OK] = NULL,
                                       [SRV_FRAMING_BAD] = "bad_request",
                                       [SRV_FRAMING_EXPECTATION] = "expectation_failed",
                                       [SRV_FRAMING_UNKNOWN_CODING] = "not_implemented",
                                       [SRV_FRAMING_VERSION] = "http_version"};
    return code[fault];
}
