/* soak - full load with mixed requests for a long time, against a server of its own ($PROGRAM).
 *
 *   soak SECONDS [CLIENTS]
 *
 * CLIENTS threads (8), each on a connection that it keeps for fifty requests or so, ask for what `kinds` lists, by
 * chance. Every answer must have the status it should have, and the same bytes as the first one of its kind. Now and
 * then a client leaves in the middle of a computation. Prints percentiles for each kind, resident memory and
 * descriptors; exit code 1 when a request failed, memory grew, a descriptor was not given back, or the server did not
 * stop well. Memory is not judged under a sanitizer.
 */
#include "tests/server/client.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { CLIENTS_MAX = 64, BUCKETS = 1200, KEPT_FOR = 50, GROWTH_KB = 16384 };

static const double step = 1.02; /* of the histogram: percentiles are exact to 2 % */

/* struct kind - a request. `weight`: how often among all. `varies`: its answers differ from each other. `leaves`: the
 * client does not wait for the answer. `first` is a hash of the first answer. */
struct kind {
    const char *name, *method, *path, *headers;
    int status, weight;
    bool varies, leaves;
    char *body, *bytes;
    size_t size;
    atomic_ullong first, count, failed;
    atomic_uint buckets[BUCKETS];
};

static struct kind kinds[] = {
    {.name = "a layer in 1 kB", .method = "POST", .path = "/mha", .status = 200, .weight = 400},
    {.name = "embed", .method = "POST", .path = "/embed", .status = 200, .weight = 150},
    {.name = "lookup", .method = "POST", .path = "/lookup", .status = 200, .weight = 150},
    {.name = "check", .method = "POST", .path = "/check", .status = 200, .weight = 50},
    {.name = "100 x 64, 32 kB", .method = "POST", .path = "/attention", .status = 200, .weight = 60},
    {.name = "the same, packed answer",
     .method = "POST",
     .path = "/attention",
     .headers = "Accept-Encoding: gzip\r\n",
     .status = 200,
     .weight = 20},
    {.name = "600 x 256, 770 kB", .method = "POST", .path = "/attention", .status = 200, .weight = 6},
    {.name = "2000 x 256, 2.6 MB", .method = "POST", .path = "/attention", .status = 200, .weight = 2},
    {.name = "left while computing",
     .method = "POST",
     .path = "/attention",
     .status = 200,
     .weight = 1,
     .leaves = true},
    {.name = "ragged, refused", .method = "POST", .path = "/attention", .status = 422, .weight = 50},
    {.name = "not JSON, refused", .method = "POST", .path = "/mha", .status = 400, .weight = 50},
    {.name = "health", .method = "GET", .path = "/health/ready", .status = 200, .weight = 30},
    {.name = "metrics", .method = "GET", .path = "/metrics", .status = 200, .weight = 10, .varies = true},
    {.name = "the page", .method = "GET", .path = "/", .status = 200, .weight = 10},
};

enum { KINDS = sizeof kinds / sizeof *kinds };

static struct program server;
static atomic_bool over;
static atomic_ullong opened;
static char first_failure[1024];
static atomic_flag has_failed = ATOMIC_FLAG_INIT;

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* --- requests ---------------------------------------------------------------------------------------------------- */

static char *file_text(const char *path, size_t *size) {
    FILE *file = fopen(path, "re");
    char *text = calloc(1, 1 << 20);
    *size = file && text ? fread(text, 1, (1 << 20) - 1, file) : 0;
    if (file)
        fclose(file);
    if (*size == 0) {
        fprintf(stderr, "soak: cannot read %s\n", path);
        exit(2);
    }
    return text;
}

static char *literal(const char *text, size_t *size) {
    *size = strlen(text);
    return strdup(text);
}

static void make_bodies(void) {
    struct kind *kind = kinds;
    kind->body = file_text("tests/golden/lesson_causal_mha_sent/request.json", &kind->size), kind++;
    kind->body = file_text("api/examples/embed-reviews.json", &kind->size), kind++;
    kind->body = file_text("api/examples/lookup-sharpness.json", &kind->size), kind++;
    kind->body = file_text("api/examples/check-not-causal.json", &kind->size), kind++;
    kind->body = attention_body(100, 64, &kind->size), kind++;
    kind->body = attention_body(100, 64, &kind->size), kind++;
    kind->body = attention_body(600, 256, &kind->size), kind++;
    kind->body = attention_body(2000, 256, &kind->size), kind++;
    kind->body = attention_body(6000, 64, &kind->size), kind++;
    kind->body = literal("{\"q\": [[1, 2]], \"k\": [[1, 2], [3]], \"v\": [[1], [2]]}", &kind->size), kind++;
    kind->body = literal("{\"x\": [[1, 2], [3,, 4]]}", &kind->size);
    for (kind = kinds; kind < kinds + KINDS; kind++) {
        kind->bytes = malloc(kind->size + 512);
        int head = sprintf(kind->bytes, "%s %s HTTP/1.1\r\nHost: a\r\n%s", kind->method, kind->path,
                           kind->headers ? kind->headers : "");
        if (kind->body)
            head += sprintf(kind->bytes + head, "Content-Length: %zu\r\n", kind->size);
        head += sprintf(kind->bytes + head, "\r\n");
        if (kind->body)
            memcpy(kind->bytes + head, kind->body, kind->size);
        kind->size += (size_t)head;
        free(kind->body);
    }
}

static unsigned draw(unsigned *state, unsigned n) {
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % n;
}

static struct kind *choose(unsigned *state) {
    int all = 0;
    for (size_t i = 0; i < KINDS; i++)
        all += kinds[i].weight;
    int at = (int)draw(state, (unsigned)all);
    struct kind *kind = kinds;
    while ((at -= kind->weight) >= 0)
        kind++;
    return kind;
}

/* --- clients ----------------------------------------------------------------------------------------------------- */

/* FNV-1a; never 0, which stands for none. */
static unsigned long long hash(const struct answer *answer) {
    unsigned long long value = 14695981039346656037ull;
    for (size_t i = 0; i < answer->body_size; i++)
        value = (value ^ (unsigned char)answer->body[i]) * 1099511628211ull;
    return value | 1;
}

static bool is_right(struct kind *kind, const struct answer *answer) {
    if (answer->status != kind->status)
        return false;
    unsigned long long none = 0, own = kind->varies ? 0 : hash(answer);
    return kind->varies || atomic_compare_exchange_strong(&kind->first, &none, own) || none == own;
}

static void note_failure(struct kind *kind, const struct answer *answer) {
    atomic_fetch_add(&kind->failed, 1);
    if (!atomic_flag_test_and_set(&has_failed))
        snprintf(first_failure, sizeof first_failure,
                 "%s: status %d instead of %d, or another answer than before: %.600s", kind->name, answer->status,
                 kind->status, answer->body ? answer->body : "");
}

static void record(struct kind *kind, double took) {
    int bucket = (int)(log(took * 1e6 < 1 ? 1 : took * 1e6) / log(step));
    atomic_fetch_add(&kind->buckets[bucket < BUCKETS ? bucket : BUCKETS - 1], 1);
    atomic_fetch_add(&kind->count, 1);
}

static void ask(struct client *client, struct kind *kind, unsigned *state) {
    struct answer answer = {0};
    double began = seconds();
    bool sent = client_send(client, kind->bytes, kind->size);
    if (kind->leaves) {
        sleep_ms((int)draw(state, 60));
        client_close(client);
        record(kind, seconds() - began);
        return;
    }
    client_receive(client, &answer, 60000, false);
    record(kind, seconds() - began);
    if (!sent || !is_right(kind, &answer))
        note_failure(kind, &answer);
    answer_free(&answer);
}

static void *client_run(void *arg) {
    unsigned state = *(const unsigned *)arg;
    struct client client = {.fd = -1};
    while (!atomic_load(&over)) {
        if (client.fd < 0) {
            if (!client_open(&client, server.port)) {
                note_failure(kinds, &(struct answer){.body = (char[]){"cannot connect"}});
                break;
            }
            atomic_fetch_add(&opened, 1);
        }
        ask(&client, choose(&state), &state);
        if (client.fd >= 0 && draw(&state, KEPT_FOR) == 0)
            client_close(&client);
    }
    client_close(&client);
    return NULL;
}

/* --- figures ----------------------------------------------------------------------------------------------------- */

static double percentile_ms(const struct kind *kind, double part) {
    double left = part * (double)atomic_load(&kind->count);
    for (int i = 0; i < BUCKETS; i++)
        if ((left -= atomic_load(&kind->buckets[i])) <= 0)
            return pow(step, i + 0.5) / 1e3;
    return 0;
}

static void show_kinds(double duration) {
    unsigned long long all = 0, failed = 0;
    printf("%-26s %10s %8s %9s %9s %9s\n", "request", "count", "failed", "p50 ms", "p99 ms", "p99.9 ms");
    for (const struct kind *kind = kinds; kind < kinds + KINDS; kind++) {
        printf("%-26s %10llu %8llu", kind->name, atomic_load(&kind->count), atomic_load(&kind->failed));
        if (!kind->leaves) /* it is the client that ends these */
            printf(" %9.2f %9.2f %9.2f", percentile_ms(kind, 0.5), percentile_ms(kind, 0.99),
                   percentile_ms(kind, 0.999));
        printf("\n");
        all += atomic_load(&kind->count);
        failed += atomic_load(&kind->failed);
    }
    printf("soak: %llu requests in %.0f s (%.0f a second) on %llu connections, %llu failed\n", all, duration,
           (double)all / duration, atomic_load(&opened), failed);
}

/* struct memory - resident kB, one sample every 200 ms. */
struct memory {
    long *kb;
    size_t n, room;
};

static double mean(const struct memory *memory, double from, double to) {
    size_t a = (size_t)(from * (double)memory->n), b = (size_t)(to * (double)memory->n);
    double sum = 0;
    for (size_t i = a; i < b; i++)
        sum += (double)memory->kb[i];
    return b > a ? sum / (double)(b - a) : 0;
}

/* Meanwhile the log, which nobody reads here, is thrown away so that it fills no memory. */
static void watch(struct memory *memory, double until) {
    while (seconds() < until) {
        sleep_ms(200);
        if (ftruncate(server.output, 0) != 0)
            perror("soak");
        if (memory->n < memory->room)
            memory->kb[memory->n++] = program_status(&server, "VmRSS");
    }
}

static bool memory_is_flat(const struct memory *memory) {
    bool judged = !getenv("ASAN_OPTIONS") && !getenv("TSAN_OPTIONS");
    double warm = mean(memory, 0.15, 0.35), last = mean(memory, 0.8, 1);
    printf("soak: resident memory %.1f MB on average after the warm-up, %.1f MB at the end, at most %.1f MB\n",
           warm / 1e3, last / 1e3, (double)program_status(&server, "VmHWM") / 1e3);
    return !judged || last < warm + GROWTH_KB;
}

static bool files_came_back(int before) {
    int after = program_files(&server);
    for (int64_t until = now_ms() + 5000; now_ms() < until && after > before; sleep_ms(50))
        after = program_files(&server);
    printf("soak: %d descriptors before, %d after\n", before, after);
    return after <= before;
}

int main(int argc, char **argv) {
    double duration = argc > 1 ? atof(argv[1]) : 0;
    size_t clients = argc > 2 ? (size_t)atoi(argv[2]) : 8;
    struct answer answer;
    if (duration <= 0 || clients == 0 || clients > CLIENTS_MAX) {
        fprintf(stderr, "usage: soak SECONDS [CLIENTS]\n");
        return 2;
    }
    make_bodies();
    if (!program_start(&server, NULL) ||
        exchange(server.port, "GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n", &answer) != 200) {
        fprintf(stderr, "soak: the server does not start\n");
        return 1;
    }
    answer_free(&answer);
    sleep_ms(200);
    int files = program_files(&server);
    struct memory memory = {.room = (size_t)(duration * 5) + 10};
    memory.kb = calloc(memory.room, sizeof *memory.kb);
    pthread_t threads[CLIENTS_MAX];
    unsigned seeds[CLIENTS_MAX];
    double began = seconds();
    for (size_t i = 0; i < clients; i++) {
        seeds[i] = (unsigned)i + 1;
        if (pthread_create(&threads[i], NULL, client_run, &seeds[i]) != 0)
            clients = i; /* with those that there are */
    }
    watch(&memory, began + duration);
    atomic_store(&over, true);
    for (size_t i = 0; i < clients; i++)
        pthread_join(threads[i], NULL);
    show_kinds(seconds() - began);
    bool flat = memory_is_flat(&memory), files_back = files_came_back(files);
    int code = program_stop(&server);
    if (*first_failure)
        printf("soak: %s\n", first_failure);
    if (!flat || !files_back || code != 0)
        printf("soak: %s%s%s\n", flat ? "" : "memory grew; ", files_back ? "" : "descriptors were not given back; ",
               code ? "the server did not stop well" : "");
    free(memory.kb);
    for (size_t i = 0; i < KINDS; i++)
        free(kinds[i].bytes);
    return *first_failure || !flat || !files_back || code != 0;
}
