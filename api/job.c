/* job.c - what all endpoints do with a request: refuse it, admit its cost, take memory for it. */
#include "api/job.h"

#include "api/bind_tensor.h"
#include "api/draws.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MOST_BYTES 0x1p62

enum { NUMBER_COST = 16, NUMBER_TEXT_F64 = 20 };

static const char *arena_text(struct api_job *job, const char *format, va_list args) {
    va_list again;
    va_copy(again, args);
    int size = vsnprintf(NULL, 0, format, again);
    va_end(again);
    char *text = size < 0 ? NULL : api_arena_take(job->arena, (size_t)size + 1);
    if (text)
        vsnprintf(text, (size_t)size + 1, format, args);
    return text;
}

bool api_refuse(struct api_job *job, const char *code, const char *pointer, const char *detail, ...) {
    struct api_problem *problem = job->problem;
    if (problem->code)
        return false;
    problem->code = code;
    problem->pointer = pointer ? api_arena_printf(job->arena, "%s", pointer) : NULL;
    if (detail) {
        va_list args;
        va_start(args, detail);
        problem->detail = arena_text(job, detail, args);
        va_end(args);
    }
    return false;
}

bool api_refuse_err(struct api_job *job, struct attn_err err) {
    static const char *const codes[] = {"internal", "shape_mismatch", "bad_value", "conflict"};
    char pointer[128];
    snprintf(pointer, sizeof pointer, "/%s", err.arg ? err.arg : "");
    for (char *p = pointer; *p; p++)
        if (*p == '.')
            *p = '/';
    return api_refuse(job, codes[err.code], pointer, "`%s` %s.", err.arg ? err.arg : "The request", err.why);
}

bool api_refuse_stopped(struct api_job *job) {
    return api_refuse(job, "stopped", NULL, NULL);
}

bool api_refuse_unwritten(struct api_job *job, bool over_limit) {
    if (!over_limit && attn_exec_stopped(job->env->exec))
        return api_refuse_stopped(job);
    return api_refuse(job, over_limit ? "answer_too_large" : "out_of_memory", NULL, NULL);
}

bool api_refuse_memory(struct api_job *job) {
    if (!job->arena->over_limit)
        return api_refuse(job, "out_of_memory", NULL, NULL);
    /* The sentence itself needs a little memory, which the full arena would refuse. */
    job->arena->limit = 0;
    return api_refuse(job, "memory_limit", NULL, "The request needs more than the %zu bytes of memory it may take.",
                      job->env->limits.memory_bytes);
}

bool api_refuse_unread(struct api_job *job) {
    return job->arena->failed ? api_refuse_memory(job) : api_refuse_stopped(job);
}

void *api_take(struct api_job *job, size_t count, size_t size) {
    void *memory = api_arena_array(job->arena, count, size);
    if (!memory)
        api_refuse_memory(job);
    return memory;
}

bool api_tensor_take(struct api_job *job, enum attn_dtype dtype, unsigned rank, const size_t *shape,
                     struct attn_tensor *tensor) {
    *tensor = (struct attn_tensor){.dtype = dtype, .rank = rank};
    for (unsigned i = 0; i < rank; i++)
        tensor->shape[i] = shape[i];
    tensor->data = api_take(job, attn_tensor_count(tensor), attn_dtype_size(dtype));
    return tensor->data != NULL;
}

const char *api_shape_text(struct api_job *job, const struct attn_tensor *tensor) {
    char text[128] = "(";
    size_t used = 1;
    for (unsigned i = 0; i < tensor->rank && used < sizeof text - 24; i++)
        used += (size_t)sprintf(text + used, "%s%zu", i ? ", " : "", tensor->shape[i]);
    sprintf(text + used, tensor->rank == 1 ? ",)" : ")");
    const char *kept = api_arena_printf(job->arena, "%s", text);
    return kept ? kept : "";
}

void api_cast(struct attn_tensor *tensor, enum attn_dtype dtype) {
    if (dtype != ATTN_F32 || tensor->dtype != ATTN_F64)
        return;
    tensor->dtype = ATTN_F32;
    char *data = tensor->data;
    size_t count = data ? attn_tensor_count(tensor) : 0;
    for (size_t i = 0; i < count; i++) {
        double wide;
        memcpy(&wide, data + i * sizeof wide, sizeof wide);
        float narrow = (float)wide;
        memcpy(data + i * sizeof narrow, &narrow, sizeof narrow);
    }
}

/* Every limit that a cost can break, dearest information first. */
static bool within_limits(struct api_job *job, const struct api_cost *cost, double bytes) {
    const struct api_limits *limits = &job->env->limits;
    if (limits->multiply_adds > 0 && cost->multiply_adds > limits->multiply_adds)
        return api_refuse(job, "too_costly", NULL,
                          "The request would take about %.3g multiply-adds; the limit is %.3g. Send smaller shapes.",
                          cost->multiply_adds, limits->multiply_adds);
    if (limits->numbers && cost->numbers > (double)limits->numbers)
        return api_refuse(job, "answer_too_large", "/return",
                          "The answer would hold %.0f numbers; the limit is %zu. Ask for fewer results.", cost->numbers,
                          limits->numbers);
    if (bytes > MOST_BYTES)
        return api_refuse(job, "memory_limit", NULL, "The request would take more memory than there are addresses.");
    if (limits->memory_bytes && bytes > (double)limits->memory_bytes)
        return api_refuse(job, "memory_limit", NULL,
                          "The request would take about %.0f bytes of memory; the limit is %zu. Send smaller shapes or "
                          "ask for fewer results.",
                          bytes, limits->memory_bytes);
    return true;
}

static double eye_numbers(const struct api_job *job) {
    double numbers = 0;
    for (const struct api_eye *eye = job->eyes; eye; eye = eye->next)
        numbers += (double)attn_tensor_count(eye->tensor);
    return numbers;
}

static bool fill_eyes(struct api_job *job) {
    for (const struct api_eye *eye = job->eyes; eye; eye = eye->next) {
        if (!(eye->tensor->data = api_take(job, attn_tensor_count(eye->tensor), sizeof(double))))
            return false;
        api_eye_fill(eye->tensor);
    }
    return true;
}

bool api_admit(struct api_job *job, const struct api_cost *cost) {
    job->response->multiply_adds = cost->multiply_adds;
    double made = api_draws_numbers(job->draws) + eye_numbers(job);
    double held = (double)job->arena->used + cost->bytes + made * sizeof(double);
    double bytes = held + cost->numbers * NUMBER_TEXT_F64;
    if (!within_limits(job, cost, bytes))
        return false;
    double read = (double)job->lift->numbers + made;
    double estimate = cost->multiply_adds + NUMBER_COST * (read + cost->numbers);
    if (job->env->inline_cost > 0 && estimate > job->env->inline_cost) {
        job->deferred = true;
        job->response->estimate = estimate;
        return false;
    }
    if (job->env->reserve && !job->env->reserve(job->env->reserve_ctx, (size_t)bytes))
        return api_refuse(job, "memory_budget", NULL,
                          "Requests in flight leave less than the %.0f bytes that this one needs.", bytes);
    /* What the arena will hold is not there for the answer's text. */
    if (job->env->limits.memory_bytes)
        job->writer->limit = job->env->limits.memory_bytes - (size_t)held + 1;
    return api_draws_fill(job) && fill_eyes(job);
}
