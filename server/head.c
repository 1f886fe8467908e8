/* head.c - one pass over the header lines serves the framing checks and everybody who looks at a header. */
#include "server/head.h"

#include <string.h>
#include <strings.h>

/* --- target ------------------------------------------------------------------------------------------------------ */

static int hex(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool decode(char *path) {
    char *out = path;
    for (const char *in = path; *in; in++) {
        char c = *in;
        if (c == '%') {
            int high = hex(in[1]), low = high < 0 ? -1 : hex(in[2]);
            if (low < 0 || high + low == 0)
                return false;
            c = (char)(high << 4 | low);
            in += 2;
        }
        *out++ = c;
    }
    *out = 0;
    return true;
}

bool srv_target_split(char *target, const char **path, const char **query) {
    for (const char *c = target; *c; c++)
        if ((unsigned char)*c <= ' ' || *c == 0x7f)
            return false;
    char *mark = strchr(target, '?');
    *query = NULL;
    if (mark) {
        *mark = 0;
        *query = mark + 1;
    }
    if (strncasecmp(target, "http://", 7) == 0 || strncasecmp(target, "https://", 8) == 0) {
        char *host = strchr(target, ':') + 3;
        size_t host_size = strcspn(host, "/");
        if (host_size == 0 || !srv_host_valid(host, host_size))
            return false;
        target = host[host_size] ? host + host_size : NULL;
    }
    *path = target ? target : "/";
    if (!target || strcmp(target, "*") == 0)
        return true;
    return target[0] == '/' && (!strchr(target, '%') || decode(target));
}

/* --- header lines ------------------------------------------------------------------------------------------------ */

struct collected {
    struct srv_request *request;
    struct srv_field fields[SRV_FIELDS_MAX];
    size_t count, bytes;
    bool too_many;
};

/* The members of struct srv_head, by the name of their header. */
static const struct {
    const char *name;
    size_t size, place;
} wanted[] = {
#define WANT(name, member)                                                                                             \
    { name, sizeof name - 1, offsetof(struct srv_head, member) }
    WANT("Content-Type", content_type),
    WANT("Content-Encoding", content_encoding),
    WANT("Accept-Encoding", accept_encoding),
    WANT("Authorization", authorization),
    WANT("Origin", origin),
    WANT("Access-Control-Request-Method", request_method),
    WANT("If-None-Match", if_none_match),
    WANT("X-Request-Id", request_id),
    WANT("traceparent", traceparent),
#undef WANT
};

/* In place of two codings, which no body may have here. */
static const char several[] = ",";

static void keep(struct srv_head *head, const char *name, size_t name_size, const char *value) {
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        if (wanted[i].size != name_size || strncasecmp(wanted[i].name, name, name_size) != 0)
            continue;
        const char **member = (const char **)((char *)head + wanted[i].place);
        if (!*member)
            *member = value;
        else if (member == &head->content_encoding)
            *member = several; /* lines are one list */
        return;
    }
}

static enum MHD_Result collect(void *ctx, enum MHD_ValueKind kind, const char *name, size_t name_size,
                               const char *value, size_t value_size) {
    (void)kind;
    struct collected *all = ctx;
    all->bytes += name_size + value_size + 4;
    if (all->count == SRV_FIELDS_MAX || all->bytes > SRV_HEADERS_MAX) {
        all->too_many = true;
        return MHD_NO;
    }
    all->fields[all->count++] =
        (struct srv_field){.name = name, .value = value, .name_size = name_size, .value_size = value ? value_size : 0};
    if (value)
        keep(&all->request->head, name, name_size, value);
    return MHD_YES;
}

/* libmicrohttpd before 1.0 cuts a line at a NUL, takes a bare LF for the end of a line, glues a folded line to the
 * name, skips spaces and does not report a line without a name. It parses the lines where they were received, each end
 * of line overwritten by NULs: so a gap of another size between what it reports tells that something was there. */
static bool lines_touch(const struct collected *all, const char *url, const char *method, const char *version) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(all->request->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    const char *end = version + strlen(version);
    if (url != method + strlen(method) + 1 || version != url + all->request->target_size + 1)
        return false;
    for (size_t i = 0; i < all->count; i++) {
        const struct srv_field *field = &all->fields[i];
        const char *colon = field->name + field->name_size;
        if (field->name != end + 2 || !field->value || field->value <= colon)
            return false;
        for (const char *c = colon + 1; c < field->value; c++)
            if (*c != ' ' && *c != '\t')
                return false;
        end = field->value + field->value_size;
    }
    return info && end + 4 == method + info->header_size;
}

/* The same text, but for ever: the library may take its memory back before the request is logged. NULL: unknown. */
static const char *known_method(const char *method) {
    static const char *const known[] = {"POST", "GET", "HEAD", "OPTIONS", "PUT", "DELETE", "PATCH", "TRACE", "CONNECT"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i], method) == 0)
            return known[i];
    return NULL;
}

const char *srv_head_fault(struct srv_request *request, const char **detail) {
    struct collected all = {.request = request};
    MHD_get_connection_values_n(request->connection, MHD_HEADER_KIND, collect, &all);
    enum srv_framing_fault fault = srv_framing_check(NULL, all.fields, all.count, &request->head.framing);
    *detail = request->head.framing.detail;
    return srv_framing_code(fault);
}

const char *srv_head_read(struct srv_request *request, const char *url, const char *method, const char *version,
                          const char **detail) {
    struct collected all = {.request = request};
    const char *known = known_method(method);
    request->method = known ? known : method;
    request->path = "";
    MHD_get_connection_values_n(request->connection, MHD_HEADER_KIND, collect, &all);
    srv_request_id(request->head.request_id, request->id);
    srv_trace_begin(request->head.traceparent, &request->trace);
    *detail = NULL;
    if (all.too_many) {
        *detail = "At most 100 header lines and 16384 bytes of them are read.";
        return "headers_too_large";
    }
    if (request->target_size > SRV_TARGET_MAX) {
        *detail = "A request target may have at most 8192 bytes.";
        return "uri_too_long";
    }
    if (request->server->old_layout && !lines_touch(&all, url, method, version)) {
        *detail =
            "The head holds a NUL, spaces too many, or a line that is folded, has no name or no CR LF at its end.";
        return "bad_request";
    }
    enum srv_framing_fault fault = srv_framing_check(version, all.fields, all.count, &request->head.framing);
    if (fault != SRV_FRAMING_OK) {
        *detail = request->head.framing.detail;
        return srv_framing_code(fault);
    }
    if (!known) {
        *detail = "The method is none that the server knows.";
        return "not_implemented";
    }
    if (!srv_target_split(request->target, &request->path, &request->query)) {
        *detail = "The request target is malformed.";
        return "bad_request";
    }
    return NULL;
}
