/* bench_server - the whole service beside what bounds it, in one run: a small request beside an empty libmicrohttpd
 * handler, a large one beside reading, multiplying and writing its numbers alone, a health check beside full load, and
 * memory beside the size of a request.
 *
 * The empty handler takes the same body and sends an answer of the same size, with the same settings of the library, in
 * a process of its own. Both are driven by the same clients (load.c) in turns.
 */
#include "api/decimal.h"
#include "api/json_write.h"
#include "tests/bench/bench.h"
#include "tests/bench/load.h"
#include "tests/server/client.h"

#include <arpa/inet.h>
#include <cblas.h>
#include <microhttpd.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 7, TURNS = 9, CLIENTS = 32, N = 512, D = 512, HEADS = 8, PROBES = 400, REQUESTS = 100000 };

#define TURN_SECONDS 0.4

static const char small_path[] = "tests/golden/lesson_causal_mha_sent/request.json";

/* --- requests ---------------------------------------------------------------------------------------------------- */

struct text {
    char *bytes;
    size_t size, body;
};

static struct text with_head(const char *path, const char *body, size_t size) {
    struct text request = {.bytes = malloc(size + 256), .body = size};
    int n =
        sprintf(request.bytes,
                "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
                path, size);
    memcpy(request.bytes + n, body, size);
    request.size = (size_t)n + size;
    return request;
}

static struct text small_request(void) {
    char *body = malloc(1 << 20);
    FILE *file = fopen(small_path, "re");
    size_t size = file ? fread(body, 1, 1 << 20, file) : 0;
    if (file)
        fclose(file);
    struct text request = with_head("/mha", body, size);
    free(body);
    return request;
}

static double *random_numbers(size_t count) {
    double *numbers = malloc(count * sizeof *numbers);
    unsigned long long state = 88172645463325252ull;
    for (size_t i = 0; i < count; i++) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        numbers[i] = ((double)(state >> 11) / 9007199254740992.0 - 0.5) * 0.2;
    }
    return numbers;
}

static char *matrix(char *out, const char *name, const double *numbers) {
    out += sprintf(out, "\"%s\":[", name);
    for (size_t i = 0; i < N; i++) {
        *out++ = i ? ',' : ' ';
        *out++ = '[';
        for (size_t j = 0; j < D; j++) {
            if (j)
                *out++ = ',';
            out = api_decimal_write_f64(out, numbers[i * D + j]);
        }
        *out++ = ']';
    }
    *out++ = ']';
    return out;
}

static struct text large_request(const double *numbers) {
    static const char *const names[] = {"x", "wq", "wk", "wv", "wo"};
    char *body = malloc((size_t)5 * N * D * API_DECIMAL_MAX), *out = body;
    out += sprintf(out, "{\"num_heads\": %d", HEADS);
    for (size_t i = 0; i < 5; i++) {
        *out++ = ',';
        out = matrix(out, names[i], numbers + i * N * D);
    }
    *out++ = '}';
    struct text request = with_head("/mha", body, (size_t)(out - body));
    free(body);
    return request;
}

/* --- the empty handler ------------------------------------------------------------------------------------------- */

static char *blank;
static size_t blank_size;

static enum MHD_Result empty_handler(void *ctx, struct MHD_Connection *connection, const char *url, const char *method,
                                     const char *version, const char *data, size_t *size, void **state) {
    (void)ctx, (void)url, (void)method, (void)version, (void)data;
    if (!*state) {
        *state = blank;
        return MHD_YES;
    }
    if (*size) {
        *size = 0;
        return MHD_YES;
    }
    struct MHD_Response *answer = MHD_create_response_from_buffer(blank_size, blank, MHD_RESPMEM_PERSISTENT);
    MHD_add_response_header(answer, "Content-Type", "application/json");
    enum MHD_Result result = MHD_queue_response(connection, 200, answer);
    MHD_destroy_response(answer);
    return result;
}

/* Serves in a child until it is killed; the port comes through a pipe. */
static pid_t empty_server(size_t answer_size, uint16_t *port) {
    int ends[2];
    if (pipe(ends) != 0)
        return -1;
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        blank_size = answer_size;
        blank = calloc(1, answer_size + 1);
        struct MHD_Daemon *daemon = MHD_start_daemon(
            MHD_USE_EPOLL_INTERNAL_THREAD, 0, NULL, NULL, empty_handler, NULL, MHD_OPTION_THREAD_POOL_SIZE,
            (unsigned)(sysconf(_SC_NPROCESSORS_ONLN) > 1 ? sysconf(_SC_NPROCESSORS_ONLN) : 0),
            MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)65536, MHD_OPTION_CONNECTION_MEMORY_INCREMENT, (size_t)8192,
            MHD_OPTION_END);
        const union MHD_DaemonInfo *info = daemon ? MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT) : NULL;
        uint16_t bound = info ? info->port : 0;
        if (write(ends[1], &bound, sizeof bound) != sizeof bound || !bound)
            _exit(1);
        for (;;)
            pause();
    }
    close(ends[1]);
    if (read(ends[0], port, sizeof *port) != sizeof *port)
        *port = 0;
    close(ends[0]);
    return pid;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, size_t count) {
    qsort(values, count, sizeof *values, by_value);
    return values[count / 2];
}

/* What else runs on the machine only ever adds to a time, and more to one that needs both cores. */
static double least(const double *values, size_t count) {
    double best = values[0];
    for (size_t i = 1; i < count; i++)
        best = values[i] < best ? values[i] : best;
    return best;
}

/* Seconds of processor time that a process has used. */
static double processor_time(pid_t pid) {
    char path[64], line[1024] = "";
    unsigned long user = 0, system = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    if (file && fgets(line, sizeof line, file) && strrchr(line, ')'))
        sscanf(strrchr(line, ')') + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system);
    if (file)
        fclose(file);
    return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

/* struct side - one of the two servers that are compared. */
struct side {
    pid_t pid;
    uint16_t port;
    double rates[TURNS], processor, served;
};

static bool turn(struct side *side, const struct text *request, int i) {
    double before = processor_time(side->pid);
    struct load_result result = load_run(side->port, CLIENTS, request->bytes, request->size, TURN_SECONDS, 0);
    side->processor += processor_time(side->pid) - before;
    side->served += (double)result.served;
    side->rates[i] = (double)result.served / result.seconds;
    return result.served && !result.failed;
}

/* Short turns, one after the other, since the machine is never quiet for long. The clients take their share of the
 * processors on both sides; the processor time of the servers alone is printed too. */
static bool small(const struct program *server) {
    struct text request = small_request();
    struct load_result once = load_run(server->port, 1, request.bytes, request.size, 5, 1);
    struct side ours = {.pid = server->pid, .port = server->port}, empty = {0};
    empty.pid = once.served ? empty_server(once.body_size, &empty.port) : -1;
    double ratios[TURNS];
    bool fine = empty.pid > 0 && empty.port;
    for (int i = 0; fine && i < TURNS; i++) {
        fine = turn(&empty, &request, i) && turn(&ours, &request, i);
        ratios[i] = empty.rates[i] / ours.rates[i];
    }
    if (fine) {
        bench_figure("small /mha, 14 KB in, requests", median(ours.rates, TURNS), "/s");
        bench_figure("empty libmicrohttpd handler, same sizes", median(empty.rates, TURNS), "/s");
        bench_goal("empty handler's rate over ours", median(ratios, TURNS), "x", 1 / 0.45, true);
        bench_figure("processor time of a small /mha", 1e6 * ours.processor / ours.served, "us");
        bench_figure("over that of the empty handler", ours.processor / ours.served * empty.served / empty.processor,
                     "x");
    }
    if (empty.pid > 0) {
        kill(empty.pid, SIGKILL);
        waitpid(empty.pid, NULL, 0);
    }
    free(request.bytes);
    return fine;
}

/* --- a large request --------------------------------------------------------------------------------------------- */

static double reading_alone(const struct text *request) {
    double began = bench_now(), sum = 0;
    const char *at = request->bytes + (request->size - request->body), *end = request->bytes + request->size;
    while (at < end) {
        double value;
        if (*at == '-' || (*at >= '0' && *at <= '9')) {
            api_decimal_read(at, end, &value, &at);
            sum += value;
        } else {
            at++;
        }
    }
    volatile double keep = sum;
    (void)keep;
    return bench_now() - began;
}

static double products_alone(const double *numbers) {
    double *out = calloc((size_t)2 * N * N, sizeof *out);
    double began = bench_now();
    for (int i = 0; i < 4; i++)
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, N, D, D, 1, numbers, D, numbers + (i + 1) * N * D, D, 0,
                    out, D);
    for (int h = 0; h < HEADS; h++) {
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, N, N, D / HEADS, 1, numbers, D, numbers, D, 0, out, N);
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, N, D / HEADS, N, 1, out, N, numbers, D, 0, out + N * N,
                    D);
    }
    double seconds = bench_now() - began;
    free(out);
    return seconds;
}

static double writing_alone(const double *numbers, size_t count) {
    char *text = malloc(count * 24 + API_DECIMAL_MAX), *out = text;
    double began = bench_now();
    for (size_t i = 0; i < count; i++) {
        out = api_decimal_write_f64(out, numbers[i % (5 * N * D)]);
        *out++ = ',';
    }
    double seconds = bench_now() - began;
    free(text);
    return seconds;
}

static bool large(const struct text *request, const double *numbers) {
    struct program fresh;
    if (!program_start(&fresh, NULL))
        return false;
    size_t count = (size_t)HEADS * N * N + (size_t)N * D;
    double seconds[ROUNDS], alone[ROUNDS];
    struct load_result result = {0};
    long peak_kb = 0;
    for (int i = 0; i < ROUNDS; i++) {
        result = load_run(fresh.port, 1, request->bytes, request->size, 60, 1);
        seconds[i] = result.seconds;
        if (i == 0)
            peak_kb = program_status(&fresh, "VmHWM");
        alone[i] = reading_alone(request) + products_alone(numbers) + writing_alone(numbers, count);
    }
    bool fine = result.served == 1;
    if (fine) {
        bench_figure("large /mha, body", (double)request->body / 1e6, "MB");
        bench_figure("large /mha, answer", (double)result.body_size / 1e6, "MB");
        bench_figure("large /mha, by the client's clock", 1e3 * least(seconds, ROUNDS), "ms");
        bench_figure("its numbers read, multiplied and written alone", 1e3 * least(alone, ROUNDS), "ms");
        bench_goal("large /mha over that", least(seconds, ROUNDS) / least(alone, ROUNDS), "x", 1.3, true);
        double allowed = 3.0 * (double)request->body + (double)result.body_size;
        bench_goal("peak memory over 3 x body + answer", 1024.0 * (double)peak_kb / allowed, "x", 1, true);
    }
    program_stop(&fresh);
    close(fresh.output);
    return fine;
}

/* --- a health check under load ----------------------------------------------------------------------------------- */

struct pressure {
    uint16_t port;
    const struct text *request;
    struct load_result result;
    double seconds;
};

static void *press(void *arg) {
    struct pressure *p = arg;
    p->result = load_run(p->port, 4, p->request->bytes, p->request->size, p->seconds, 0);
    return NULL;
}

static bool health(const struct program *server, const struct text *request) {
    struct pressure pressure = {.port = server->port, .request = request, .seconds = 6};
    pthread_t thread;
    struct client client;
    double times[PROBES];
    int got = 0;
    if (!client_open(&client, server->port) || pthread_create(&thread, NULL, press, &pressure) != 0)
        return false;
    sleep_ms(500);
    for (; got < PROBES; got++) {
        struct answer answer;
        double began = bench_now();
        client_say(&client, "GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n");
        int status = client_receive(&client, &answer, 5000, false);
        times[got] = bench_now() - began;
        answer_free(&answer);
        if (status != 200)
            break;
        sleep_ms(10);
    }
    pthread_join(thread, NULL);
    client_close(&client);
    if (got < PROBES)
        return false;
    qsort(times, PROBES, sizeof *times, by_value);
    bench_figure("large requests served meanwhile", (double)pressure.result.served, "");
    bench_figure("/health/live under them, median", 1e3 * times[PROBES / 2], "ms");
    bench_goal("/health/live under them, p99", 1e3 * times[PROBES * 99 / 100], "ms", 20, false);
    return pressure.result.served > 0;
}

/* --- memory over many requests ----------------------------------------------------------------------------------- */

static bool flat(void) {
    struct program fresh;
    if (!program_start(&fresh, NULL))
        return false;
    struct text request = small_request();
    struct load_result warm = load_run(fresh.port, CLIENTS, request.bytes, request.size, 10, REQUESTS / 10);
    long before = program_status(&fresh, "VmRSS");
    struct load_result all = load_run(fresh.port, CLIENTS, request.bytes, request.size, 20, REQUESTS);
    long after = program_status(&fresh, "VmRSS");
    bench_figure("requests for the next figure", (double)all.served, "");
    bench_goal("resident memory gained over them", (double)(after - before) / 1024, "MiB", 2, true);
    program_stop(&fresh);
    close(fresh.output);
    free(request.bytes);
    return warm.served && all.served && !all.failed;
}

int main(void) {
    struct program server;
    signal(SIGPIPE, SIG_IGN);
    if (!program_start(&server, NULL)) {
        fprintf(stderr, "bench_server: the program does not start\n");
        return 1;
    }
    double *numbers = random_numbers((size_t)5 * N * D);
    struct text request = large_request(numbers);
    const struct {
        const char *name;
        bool fine;
    } parts[] = {{"small", small(&server)},
                 {"large", large(&request, numbers)},
                 {"health", health(&server, &request)},
                 {"stop", program_stop(&server) == 0},
                 {"flat", flat()}};
    bool fine = true;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (!parts[i].fine)
            fprintf(stderr, "bench_server: %s: a request failed\n", parts[i].name);
        fine &= parts[i].fine;
    }
    free(request.bytes);
    free(numbers);
    return bench_exit() || !fine;
}
