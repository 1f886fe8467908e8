/* replay - many threads answer the same requests through api_handle, each lending the others' threads for its work, and
 * every answer must equal the first one of its request.
 *
 *     replay [--threads N] [--rounds N] FOLDER ...
 *
 * Each golden folder has the files request.json and route ("POST /mha"). A plain program, for ThreadSanitizer and
 * Valgrind.
 */
#include "api/api.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct request {
    char method[8], path[64], *body, *answer;
    size_t size, answer_size;
    int status;
};

static struct request *requests;
static size_t request_count, rounds = 1;
static atomic_size_t failures, answered;

/* --- work spread over threads, as a server does it -------------------------------------------------------------- */

struct spread {
    attn_task *task;
    void *arg;
    size_t n;
    atomic_size_t next;
};

struct helper {
    struct spread *spread;
    size_t slot;
};

static void *help(void *arg) {
    const struct helper *h = arg;
    for (size_t i; (i = atomic_fetch_add(&h->spread->next, 1)) < h->spread->n;)
        h->spread->task(h->spread->arg, i, h->slot);
    return NULL;
}

static void run(void *ctx, size_t n, attn_task *task, void *arg) {
    enum { HELPERS = 2 };
    (void)ctx;
    struct spread spread = {.task = task, .arg = arg, .n = n};
    struct helper helpers[HELPERS] = {{&spread, 0}, {&spread, 1}};
    pthread_t thread;
    bool helped = pthread_create(&thread, NULL, help, &helpers[1]) == 0;
    help(&helpers[0]);
    if (helped)
        pthread_join(thread, NULL);
}

static bool never(void *ctx) {
    (void)ctx;
    return false;
}

static const struct attn_exec spreading = {.slots = 2, .run = run, .stop = never};

/* --- the replay -------------------------------------------------------------------------------------------------- */

static void handle(struct request *r, const struct attn_exec *exec, struct api_response *response) {
    struct api_env env = {.limits = api_limits_default(), .exec = exec};
    struct api_request request = {.method = r->method, .path = r->path, .body = r->body, .body_size = r->size};
    api_handle(&env, &request, response);
}

static void *replay(void *arg) {
    size_t first = *(size_t *)arg;
    for (size_t i = 0; i < rounds * request_count; i++) {
        struct request *r = &requests[(first + i) % request_count];
        struct api_response response;
        handle(r, &spreading, &response);
        atomic_fetch_add(&answered, 1);
        if (response.status != r->status || response.body_size != r->answer_size ||
            memcmp(response.body, r->answer, r->answer_size) != 0) {
            atomic_fetch_add(&failures, 1);
            fprintf(stderr, "replay: %s of %zu bytes: status %d, %zu bytes; first it was %d, %zu bytes\n", r->path,
                    r->size, response.status, response.body_size, r->status, r->answer_size);
        }
        api_response_free(&response);
    }
    return NULL;
}

static char *read_file(const char *folder, const char *name, size_t *size) {
    enum { MOST = 1 << 24 };
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    char *text = malloc(MOST + 1);
    *size = text ? fread(text, 1, MOST, file) : 0;
    fclose(file);
    if (text)
        text[*size] = 0;
    return text;
}

static bool load(struct request *r, const char *folder) {
    size_t size;
    char *route = read_file(folder, "route", &size);
    r->body = read_file(folder, "request.json", &r->size);
    bool known = route && r->body && sscanf(route, "%7s %63s", r->method, r->path) == 2;
    free(route);
    if (!known) {
        free(r->body);
        return false;
    }
    struct api_response response;
    handle(r, NULL, &response);
    r->status = response.status;
    r->answer_size = response.body_size;
    r->answer = response.body; /* taken over */
    return true;
}

int main(int argc, char **argv) {
    enum { MOST_THREADS = 64 };
    size_t threads = 4, numbers[MOST_THREADS];
    pthread_t ids[MOST_THREADS];
    requests = calloc((size_t)argc, sizeof *requests);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--threads") == 0 && i + 1 < argc)
            threads = strtoul(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--rounds") == 0 && i + 1 < argc)
            rounds = strtoul(argv[++i], NULL, 10);
        else if (load(&requests[request_count], argv[i]))
            request_count++;
        else
            fprintf(stderr, "replay: cannot read %s\n", argv[i]);
    }
    if (request_count == 0 || threads == 0 || threads > MOST_THREADS)
        return 2;
    size_t refused = 0;
    for (size_t i = 0; i < request_count; i++)
        refused += requests[i].status != 200;
    for (size_t t = 0; t < threads; t++) {
        numbers[t] = t * request_count / threads;
        if (pthread_create(&ids[t], NULL, replay, &numbers[t]) != 0)
            return 2;
    }
    for (size_t t = 0; t < threads; t++)
        pthread_join(ids[t], NULL);
    for (size_t i = 0; i < request_count; i++) {
        free(requests[i].body);
        free(requests[i].answer);
    }
    free(requests);
    printf("replay: %zu answers by %zu threads to %zu requests (%zu of them refused), %zu differ\n",
           atomic_load(&answered), threads, request_count, refused, atomic_load(&failures));
    return atomic_load(&failures) || refused ? 1 : 0;
}
