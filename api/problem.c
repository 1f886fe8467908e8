/* problem.c - every problem code with its status and meaning, and the document that is sent for it. */
#include "api/problem.h"

#include "api/json_write.h"

#include <stdlib.h>
#include <string.h>

enum { PROBLEM_LIMIT = 1 << 20, POINTER_MAX = 4096, RETRY_AFTER_S = 1 };

static const struct api_problem_type problems[] = {
    {"bad_request", 400, "Bad request", "The request line, a header or the body's framing breaks the rules of HTTP."},
    {"empty_body", 400, "Empty body", "The request has no body; every endpoint takes one JSON object."},
    {"not_json", 400, "Not JSON", "The body is not JSON text; `line` and `column` say where reading stopped."},
    {"duplicate_field", 400, "Duplicate field", "An object names a member twice, so its meaning is not clear."},
    {"invalid_unicode", 400, "Invalid Unicode",
     "A string is not valid UTF-8, or holds half of a surrogate pair or \\u0000."},
    {"unauthorized", 401, "Unauthorized", "The request carries no valid key in `Authorization: Bearer`."},
    {"not_found", 404, "Not found", "There is nothing under this path; `hint` names the one that is probably meant."},
    {"method_not_allowed", 405, "Method not allowed", "The path exists but not with this method; see `Allow`."},
    {"not_acceptable", 406, "Not acceptable", "`Accept-Encoding` refuses every coding that an answer can have."},
    {"timeout", 408, "Timeout", "The request did not arrive completely within the time allowed."},
    {"length_required", 411, "Length required", "The body's length is neither stated nor chunked."},
    {"body_too_large", 413, "Body too large",
     "The body is longer than the server's limit; `expected` and `got` say how much."},
    {"too_costly", 413, "Too costly", "The multiply-adds estimated from the shapes are over the server's limit."},
    {"answer_too_large", 413, "Answer too large", "The answer would hold more numbers than the server's limit."},
    {"memory_limit", 413, "Too much memory", "The request needs more memory than the server grants to one request."},
    {"uri_too_long", 414, "URI too long", "The request target is longer than the server reads."},
    {"unsupported_media_type", 415, "Unsupported media type", "The body is labelled as something else than JSON."},
    {"unsupported_encoding", 415, "Unsupported encoding",
     "The body is compressed in a way that the server does not read."},
    {"expectation_failed", 417, "Expectation failed", "The only expectation that is met is `100-continue`."},
    {"not_an_object", 422, "Not an object", "The body is JSON, but its top level is not an object."},
    {"unknown_field", 422, "Unknown field",
     "The endpoint has no such field; `hint` names the one that is probably meant."},
    {"missing_field", 422, "Missing field", "A field that the endpoint needs is absent."},
    {"wrong_type", 422, "Wrong type", "A value has another JSON type than its field takes."},
    {"bad_value", 422, "Bad value", "A value has the right type but lies outside its domain."},
    {"unknown_choice", 422, "Unknown choice", "A word is none of those that the field knows; `expected` lists them."},
    {"ragged", 422, "Ragged rows", "Rows of one tensor differ in length; `pointer` is the first odd one."},
    {"empty_tensor", 422, "Empty tensor", "A tensor holds no number."},
    {"wrong_rank", 422, "Wrong rank", "A tensor has too many or too few dimensions."},
    {"number_out_of_range", 422, "Number out of range", "A number is beyond what its type can hold, such as 1e400."},
    {"numeric_mask", 422, "Numeric mask",
     "A mask is made of numbers; masks are booleans, numbers that are added are `attn_bias`."},
    {"id_out_of_range", 422, "Id out of range", "A token id has no row in the table; ids neither wrap nor clamp."},
    {"unknown_token", 422, "Unknown token", "A word of a text is not in the vocabulary that was sent."},
    {"shape_mismatch", 422, "Shape mismatch", "Shapes of two fields do not fit each other; `detail` names both."},
    {"conflict", 422, "Conflict", "Two fields contradict each other."},
    {"rate_limited", 429, "Too many requests", "The caller sent more requests than its share; see `Retry-After`."},
    {"headers_too_large", 431, "Headers too large", "The request's headers are larger than the server reads."},
    {"internal", 500, "Internal error", "The server failed; the request may be fine."},
    {"not_implemented", 501, "Not implemented", "The server does not know this method or transfer coding."},
    {"busy", 503, "Busy", "The queue of waiting requests is full; see `Retry-After`."},
    {"memory_budget", 503, "Memory in use",
     "Requests in flight hold the memory that this one needs; see `Retry-After`."},
    {"out_of_memory", 503, "Out of memory", "The system refused memory; see `Retry-After`."},
    {"shutting_down", 503, "Shutting down", "The server is about to stop; another replica may answer."},
    {"deadline", 503, "Deadline passed", "The answer was not ready within the time allowed."},
    {"too_many_connections", 503, "Too many connections",
     "The server, or this address, has too many connections open."},
    {"stopped", 503, "Stopped", "The computation was stopped before it was done."},
    {"http_version", 505, "HTTP version not supported", "The server speaks HTTP/1.1 and HTTP/1.0."},
};

enum { PROBLEMS = sizeof problems / sizeof *problems };

const struct api_problem_type *api_problem_at(size_t index) {
    return index < PROBLEMS ? &problems[index] : NULL;
}

const struct api_problem_type *api_problem_find(const char *code) {
    for (size_t i = 0; i < PROBLEMS; i++)
        if (strcmp(problems[i].code, code) == 0)
            return &problems[i];
    return NULL;
}

static void write_optional(struct api_writer *w, const char *key, const char *text) {
    if (text)
        api_write_string(w, key, text);
}

static char *document(const struct api_problem *problem, const struct api_problem_type *type, size_t *size) {
    char link[64] = "/problems#";
    strncat(link, type->code, sizeof link - strlen(link) - 1);
    const char *detail = problem->detail ? problem->detail : type->meaning;
    struct api_writer w;
    api_write_init(&w, PROBLEM_LIMIT, problem->pretty, -1);
    api_write_object(&w, NULL);
    api_write_string(&w, "type", link);
    api_write_string(&w, "title", type->title);
    api_write_integer(&w, "status", type->status);
    api_write_string(&w, "detail", detail);
    api_write_string(&w, "error", detail);
    api_write_string(&w, "code", type->code);
    if (problem->pointer && strlen(problem->pointer) <= POINTER_MAX) /* one to a name of megabytes helps nobody */
        api_write_string(&w, "pointer", problem->pointer);
    write_optional(&w, "expected", problem->expected);
    write_optional(&w, "got", problem->got);
    write_optional(&w, "hint", problem->hint);
    if (problem->line) {
        api_write_integer(&w, "line", (int64_t)problem->line);
        api_write_integer(&w, "column", (int64_t)problem->column);
    }
    api_write_object_end(&w);
    return api_write_finish(&w, size);
}

/* What is sent when even a problem document finds no memory. */
static void last_words(struct api_response *response) {
    static const char text[] = "{\"type\":\"/problems#out_of_memory\",\"title\":\"Out of memory\",\"status\":503,"
                               "\"detail\":\"The system refused memory.\",\"error\":\"The system refused memory.\","
                               "\"code\":\"out_of_memory\"}\n";
    response->status = 503;
    response->code = "out_of_memory";
    response->body = malloc(sizeof text);
    response->body_size = response->body ? sizeof text - 1 : 0;
    if (response->body)
        memcpy(response->body, text, sizeof text);
}

void api_problem_write(const struct api_problem *problem, struct api_response *response) {
    const struct api_problem_type *type = api_problem_find(problem->code);
    if (!type)
        type = api_problem_find("internal");
    response->status = type->status;
    response->code = type->code;
    response->content_type = "application/problem+json";
    response->body = document(problem, type, &response->body_size);
    if (!response->body)
        last_words(response);
    if (response->status == 429 || response->status == 503)
        response->retry_after_s = RETRY_AFTER_S;
}

void api_problem_response(struct api_response *response, const char *code, const char *detail, const char *hint) {
    memset(response, 0, sizeof *response);
    response->route = "unknown";
    api_problem_write(&(struct api_problem){.code = code, .detail = detail, .hint = hint}, response);
}
