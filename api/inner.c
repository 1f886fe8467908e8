/* inner.c - see inner.h. */
#include "api/inner.h"

#include "api/bind_tensor.h"
#include "api/envelope.h"

#include <stdlib.h>
#include <string.h>

/* The finished answer, moved into the arena. */
static char *take_text(struct api_job *job, struct api_writer *writer, size_t *size) {
    bool over_limit = writer->over_limit;
    char *whole = api_write_finish(writer, size);
    if (!whole) {
        api_refuse_unwritten(job, over_limit);
        return NULL;
    }
    char *text = api_take(job, *size, 1);
    if (text)
        memcpy(text, whole, *size);
    free(whole);
    return text;
}

static void move_pointer(struct api_job *job, const char *within) {
    struct api_problem *problem = job->problem;
    if (problem->code && problem->pointer)
        problem->pointer = api_arena_printf(job->arena, "%s%s", within, problem->pointer);
}

static char *run(struct api_job *job, const struct api_endpoint *endpoint, json_t *request, const char *within,
                 const struct api_claim *claim, size_t *size) {
    struct api_writer writer;
    struct api_job inner = *job;
    api_write_init(&writer, job->writer->limit, false, -1);
    writer.exec = job->env->exec;
    inner.writer = &writer;
    inner.claim = claim;
    inner.draws = NULL;
    inner.eyes = NULL;
    api_write_object(&writer, NULL);
    bool done = api_run_body(&inner, endpoint, request);
    api_write_object_end(&writer);
    job->deferred = inner.deferred;
    if (!done)
        move_pointer(job, within);
    char *text = done ? take_text(job, &writer, size) : NULL;
    api_write_free(&writer);
    return text;
}

bool api_inner_run(struct api_job *job, const struct api_endpoint *endpoint, json_t *request, const char *within,
                   const struct api_claim *claim, struct api_inner *inner) {
    size_t size = 0;
    const char *text = run(job, endpoint, request, within, claim, &size);
    if (!text)
        return false;
    if (!api_lift(job->arena, text, size, job->env->exec, &inner->lift))
        return api_refuse_unread(job);
    json_error_t error;
    inner->root = api_envelope_load(&inner->lift, job->env->exec, JSON_DECODE_INT_AS_REAL, &error);
    return inner->root || api_refuse_unread(job); /* our own text is JSON */
}

bool api_inner_array(struct api_job *job, const struct api_inner *inner, struct api_value *value) {
    struct api_job reader = *job;
    struct api_place place = {.name = value->field->name};
    json_t *json = json_object_get(inner->root, value->field->name);
    reader.lift = &inner->lift;
    return json && api_bind_tensor(&reader, json, &place, value);
}
