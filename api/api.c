/* api.c - the route table, and a request's way from bytes to bytes. */
#include "api/api.h"

#include "api/attend_fields.h"
#include "api/bind.h"
#include "api/draws.h"
#include "api/endpoints.h"
#include "api/envelope.h"

#include <stdlib.h>
#include <string.h>

enum { ROUND_MAX = 15, BYTES_A_NUMBER = 20, COST_A_NUMBER = 16 };

static const char allow_get[] = "GET, HEAD, OPTIONS", allow_post[] = "POST, OPTIONS";

static const struct api_endpoint endpoints[] = {
    {"POST", "/embed", &api_embed_table, API_TOKENS_SELF, api_embed},
    {"POST", "/attention", &api_attention_table, API_AT_TOKENS, api_attention},
    {"POST", "/mha", &api_mha_table, API_AT_TOKENS, api_mha},
    {"POST", "/lookup", &api_lookup_table, API_TOKENS_NONE, api_lookup},
    {"POST", "/check", &api_check_table, API_TOKENS_NONE, api_check},
    {"GET", "/examples", NULL, API_TOKENS_NONE, api_examples},
    {"GET", "/examples/", NULL, API_TOKENS_NONE, api_example},
    {"GET", "/version", NULL, API_TOKENS_NONE, api_version},
};

enum { ENDPOINTS = sizeof endpoints / sizeof *endpoints };

const struct api_endpoint *api_endpoint_at(size_t index) {
    return index < ENDPOINTS ? &endpoints[index] : NULL;
}

struct api_route_info api_route(size_t index) {
    if (index >= ENDPOINTS)
        return (struct api_route_info){0};
    return (struct api_route_info){endpoints[index].method, endpoints[index].path};
}

struct api_limits api_limits_default(void) {
    return (struct api_limits){
        .body_bytes = (size_t)64 << 20, .memory_bytes = (size_t)512 << 20, .multiply_adds = 2e11, .numbers = 20000000};
}

void api_response_free(struct api_response *response) {
    free(response->body);
    response->body = NULL;
    response->body_size = 0;
}

bool api_version(struct api_job *job) {
    const char *json = job->env->version_json;
    api_write_raw(job->writer, NULL, json ? json : "{}");
    return true;
}

/* The row whose path this is; *rest is what follows a path that ends in '/'. */
static const struct api_endpoint *find_endpoint(const char *path, const char **rest) {
    *rest = "";
    for (size_t i = 0; i < ENDPOINTS; i++) {
        size_t size = strlen(endpoints[i].path);
        if (strcmp(path, endpoints[i].path) == 0)
            return &endpoints[i];
        if (endpoints[i].path[size - 1] == '/' && strncmp(path, endpoints[i].path, size) == 0) {
            *rest = path + size;
            return &endpoints[i];
        }
    }
    return NULL;
}

static bool refuse_path(struct api_job *job, const char *path) {
    const char *paths[ENDPOINTS + 1] = {0};
    for (size_t i = 0; i < ENDPOINTS; i++)
        paths[i] = endpoints[i].path;
    const char *hint = api_guess_text(job, api_guess_word(paths, path));
    api_refuse(job, "not_found", NULL, "There is nothing under this path.%s%s", hint ? " " : "", hint ? hint : "");
    job->problem->hint = hint;
    return false;
}

/* Absent, anything with "json", and what curl sends for --data are read as JSON. */
static bool check_content_type(struct api_job *job, const char *type) {
    if (!type || !*type || strcasestr(type, "json") || strcasestr(type, "application/x-www-form-urlencoded"))
        return true;
    api_refuse(job, "unsupported_media_type", NULL, "The body must be JSON: send Content-Type: application/json.");
    job->problem->expected = "application/json";
    if (strcasestr(type, "text/plain"))
        job->problem->hint = "JavaScript's fetch sends text unless its headers say otherwise.";
    if (strcasestr(type, "multipart/"))
        job->problem->hint = "curl sends JSON with --data and not with -F.";
    return false;
}

static bool check_size(struct api_job *job, size_t size) {
    size_t limit = job->env->limits.body_bytes;
    if (!limit || size <= limit)
        return true;
    api_refuse(job, "body_too_large", NULL, "The body has %zu bytes; the limit is %zu.", size, limit);
    job->problem->expected = api_arena_printf(job->arena, "%zu", limit);
    job->problem->got = api_arena_printf(job->arena, "%zu", size);
    return false;
}

/* "pretty" alone or with any value but 0 and false. */
static bool wants_pretty(const char *query) {
    const char *word = query ? strstr(query, "pretty") : NULL;
    if (!word || (word != query && word[-1] != '&'))
        return false;
    word += strlen("pretty");
    return !*word || *word == '&' || (*word == '=' && strncmp(word, "=0", 2) != 0 && strncmp(word, "=false", 6) != 0);
}

static const struct api_value *find_value(const struct api_job *job, const char *name) {
    size_t row = api_field_find(job->table, name);
    return row < job->table->count ? &job->values[row] : NULL;
}

static bool read_round(struct api_job *job) {
    const struct api_value *round = find_value(job, "round");
    if (!round || round->form != API_INT)
        return true;
    if (round->integer < 0 || round->integer > ROUND_MAX)
        return api_refuse(job, "bad_value", "/round", "`round` is a number of decimals from 0 to %d.", ROUND_MAX);
    job->writer->round = (int)round->integer;
    return true;
}

static bool prepare_tokens(struct api_job *job, int field) {
    if (field == API_TOKENS_NONE)
        return true;
    if (field == API_TOKENS_SELF)
        return api_tokens_prepare(job, job->values, "");
    struct api_value *tokens = &job->values[field];
    return tokens->form != API_OBJECT || api_tokens_prepare(job, tokens->inner, "/tokens");
}

/* Binds all fields, so that the endpoint finds every shape known. */
static bool prepare(struct api_job *job, const struct api_endpoint *endpoint, json_t *root) {
    if (!api_bind(job, endpoint->table, root, "", &job->values) || !read_round(job) ||
        !prepare_tokens(job, endpoint->tokens))
        return false;
    const struct api_value *random = find_value(job, "random");
    if (random && random->form == API_OBJECT && !api_draws_plan(job, random, job->tokens.vocab))
        return false;
    return api_bind_drawn(job);
}

bool api_run_body(struct api_job *job, const struct api_endpoint *endpoint, json_t *root) {
    job->table = endpoint->table;
    return prepare(job, endpoint, root) && endpoint->handle(job);
}

static bool run_post(struct api_job *job, const struct api_endpoint *endpoint, const struct api_request *request) {
    if (!check_content_type(job, request->content_type) || !check_size(job, request->body_size))
        return false;
    /* A body that long holds enough numbers to be dear: no need to read it twice. */
    double cost = (double)request->body_size / BYTES_A_NUMBER * COST_A_NUMBER;
    if (job->env->inline_cost > 0 && cost > job->env->inline_cost) {
        job->deferred = true;
        job->response->estimate = cost;
        return false;
    }
    struct api_lift lift = {0};
    job->lift = &lift;
    json_t *root = api_envelope_read(job, request->body, request->body_size, &lift);
    job->response->numbers_in = lift.numbers;
    if (root && job->env->body_read)
        job->env->body_read(job->env->body_read_ctx);
    bool done = root && api_run_body(job, endpoint, root);
    job->lift = NULL;
    return done;
}

static bool run_endpoint(struct api_job *job, const struct api_endpoint *endpoint, const struct api_request *request) {
    api_write_init(job->writer, job->env->limits.memory_bytes, wants_pretty(request->query), -1);
    job->writer->exec = job->env->exec;
    if (!endpoint->table)
        return endpoint->handle(job);
    api_write_object(job->writer, NULL);
    if (!run_post(job, endpoint, request))
        return false;
    api_write_object_end(job->writer);
    return true;
}

static bool is_method(const struct api_endpoint *endpoint, const char *method) {
    return strcmp(method, endpoint->method) == 0 ||
           (strcmp(method, "HEAD") == 0 && strcmp(endpoint->method, "GET") == 0);
}

/* Routes the request. Returns false after reporting, or with `deferred` or a bodiless answer. */
static bool route(struct api_job *job, const struct api_request *request) {
    const struct api_endpoint *endpoint = find_endpoint(request->path, &job->rest);
    struct api_response *response = job->response;
    if (!endpoint)
        return refuse_path(job, request->path);
    response->route = endpoint->path;
    const char *allow = strcmp(endpoint->method, "GET") == 0 ? allow_get : allow_post;
    if (strcmp(request->method, "OPTIONS") == 0) {
        response->allow = allow;
        response->status = 204;
        return false;
    }
    if (is_method(endpoint, request->method))
        return run_endpoint(job, endpoint, request);
    response->allow = allow;
    return api_refuse(job, "method_not_allowed", NULL, "%s takes %s.", endpoint->path, allow);
}

/* The finished document, or what stands in its way. */
static void finish(struct api_job *job) {
    struct api_response *response = job->response;
    bool over_limit = job->writer->over_limit;
    response->numbers_out = job->writer->numbers;
    response->body = api_write_finish(job->writer, &response->body_size);
    if (response->body) {
        response->status = 200;
        response->content_type = "application/json";
        return;
    }
    response->numbers_out = 0;
    api_refuse_unwritten(job, over_limit);
}

void api_handle(const struct api_env *env, const struct api_request *request, struct api_response *response) {
    struct api_arena arena;
    struct api_problem problem = {.pretty = wants_pretty(request->query)};
    struct api_writer writer = {0};
    struct api_job job = {
        .env = env, .response = response, .arena = &arena, .problem = &problem, .writer = &writer, .rest = ""};
    memset(response, 0, sizeof *response);
    response->route = "unknown";
    api_arena_init(&arena, env->limits.memory_bytes);
    api_envelope_begin(&arena);
    if (route(&job, request))
        finish(&job);
    response->deferred = job.deferred && !problem.code;
    if (problem.code)
        api_problem_write(&problem, response);
    api_envelope_end();
    api_write_free(&writer);
    api_arena_free(&arena);
}
