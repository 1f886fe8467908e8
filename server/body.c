#include "server/body.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    FIRST_ROOM = 65536,     /* of a body whose length is not announced */
    DISCARD_MOST = 1 << 20, /* read of a refused body before the connection is cut */
    LARGE_BODY = 8 << 20,
    STEP = 1 << 18 /* the budget is asked for pieces of this size, or for the whole of a smaller body */
};

bool srv_grant(void *ctx, size_t bytes) {
    struct srv_request *request = ctx;
    if (!srv_budget_take(&request->server->budget, bytes))
        return false;
    request->granted += bytes;
    return true;
}

/* --- memory for the body ----------------------------------------------------------------------------------------- */

static bool is_announced(const struct srv_request *request) {
    return request->head.framing.has_length && request->head.framing.length > STEP;
}

bool srv_body_reserve(struct srv_request *request) {
    size_t length = (size_t)request->head.framing.length;
    if (!is_announced(request))
        return true;
    if (!srv_budget_reserve(&request->server->budget, length)) {
        srv_refuse(request, "memory_budget", NULL, SRV_REJECT_MEMORY);
        return false;
    }
    atomic_store(&request->peer->reserved, length);
    return true;
}

/* Bytes that have arrived pass from what is reserved to what is granted. */
static size_t take_reserved(struct srv_request *request, size_t bytes) {
    size_t left = atomic_load(&request->peer->reserved), part;
    do
        part = bytes < left ? bytes : left;
    while (!atomic_compare_exchange_weak(&request->peer->reserved, &left, left - part));
    return part;
}

static bool grant_body(struct srv_request *request, size_t bytes) {
    struct srv_budget *budget = &request->server->budget;
    size_t missing = bytes - take_reserved(request, bytes);
    bool announced = is_announced(request);
    if (missing && !(announced ? srv_budget_reserve(budget, missing) : srv_budget_take(budget, missing))) {
        srv_budget_release(budget, bytes - missing);
        return false;
    }
    request->granted += bytes;
    request->body_granted += bytes;
    return true;
}

static void give_body_back(struct srv_request *request) {
    struct srv_budget *budget = &request->server->budget;
    if (is_announced(request))
        srv_budget_release(budget, request->body_granted + atomic_exchange(&request->peer->reserved, 0));
    else
        srv_budget_give(budget, request->body_granted);
    request->granted -= request->body_granted;
    request->body_granted = 0;
}

/* --- its bytes --------------------------------------------------------------------------------------------------- */

static enum srv_body refuse(struct srv_request *request, const char *code, const char *detail, enum srv_reject why) {
    srv_body_drop(request);
    srv_refuse(request, code, detail, why);
    return SRV_BODY_REFUSED;
}

/* Fewer page faults while a large body arrives. All of its mapping is named, so that it can still grow without a copy.
 */
static void use_large_pages(char *body, size_t size) {
    if (size < LARGE_BODY)
        return;
    size_t page = (size_t)sysconf(_SC_PAGESIZE), before = (uintptr_t)body % page;
#ifdef MADV_HUGEPAGE
    (void)madvise(body - before, (before + size + page - 1) / page * page, MADV_HUGEPAGE);
#endif
}

static bool make_room(struct srv_request *request, size_t needed) {
    const struct srv_framing *framing = &request->head.framing;
    if (needed <= request->capacity)
        return true;
    size_t capacity = framing->has_length   ? (size_t)framing->length
                      : needed > FIRST_ROOM ? needed + needed / 2
                                            : FIRST_ROOM;
    char *body = realloc(request->body, capacity);
    if (!body)
        return false;
    request->body = body;
    request->capacity = capacity;
    use_large_pages(body, capacity);
    return true;
}

/* Bytes counted for a body of this size: whole steps, but never more than was announced. */
static size_t counted(const struct srv_request *request, size_t size) {
    size_t steps = (size + STEP - 1) / STEP * STEP;
    return steps < request->capacity ? steps : request->capacity;
}

enum srv_body srv_body_add(struct srv_request *request, const char *data, size_t size) {
    if (request->stage == SRV_STAGE_DISCARD) {
        request->discarded += size;
        return request->discarded > DISCARD_MOST ? SRV_BODY_ENDLESS : SRV_BODY_REFUSED;
    }
    size_t limit = request->server->options.max_body_bytes, needed = request->size + size;
    if (limit && needed > limit) {
        char detail[128];
        snprintf(detail, sizeof detail, "The body is longer than %zu bytes.", limit);
        return refuse(request, "body_too_large", detail, SRV_REJECT_TOO_LARGE);
    }
    if (!make_room(request, needed))
        return refuse(request, "out_of_memory", NULL, SRV_REJECT_MEMORY);
    size_t total = counted(request, needed);
    if (total > request->body_granted && !grant_body(request, total - request->body_granted))
        return refuse(request, "memory_budget", NULL, SRV_REJECT_MEMORY);
    memcpy(request->body + request->size, data, size);
    request->size = needed;
    return SRV_BODY_TAKEN;
}

void srv_body_lend(struct srv_request *request, const char *data, size_t size) {
    request->body = (char *)data;
    request->size = size;
    request->lent = true;
}

void srv_body_drop(struct srv_request *request) {
    if (!request->lent)
        free(request->body);
    request->lent = false;
    request->body = NULL;
    request->size = request->capacity = 0;
    give_body_back(request);
}
