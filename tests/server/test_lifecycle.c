/* test_lifecycle - from start to stop: options and exit codes, what SIGTERM does to requests in flight, a rolling
 * restart under load that loses nothing, keys read again on SIGHUP, a log that nobody reads. */
#include "tests/server/client.h"
#include "tests/server/serving.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

TestSuite(lifecycle, .timeout = 60);

#define READY "GET /health/ready HTTP/1.1\r\nHost: a\r\n\r\n"

static void with_port(char text[8], uint16_t port) {
    snprintf(text, 8, "%u", (unsigned)port);
}

Test(lifecycle, actions_and_exit_codes) {
    struct program p;
    cr_expect_eq(program_run(&p, OPTIONS("--help")), 0);
    cr_expect_eq(program_run(&p, OPTIONS("--version")), 0);
    cr_expect_eq(program_run(&p, OPTIONS("--print-config")), 0);
    cr_expect_eq(program_run(&p, OPTIONS("--colour")), 2);
    cr_expect_eq(program_run(&p, OPTIONS("--port", "70000")), 2);
    cr_expect_eq(program_run(&p, OPTIONS("--port", "0", "--host", "no.such.host.invalid")), 1);
    cr_expect_eq(program_run(&p, OPTIONS("--port", "0", "--keys-file", "/nonexistent")), 1);
    cr_expect_eq(program_run(&p, OPTIONS("--port", "0", "--tls-cert", "/nonexistent")), 2);
    cr_expect_eq(program_run(&p, OPTIONS("--port", "0", "--tls-cert", "/nonexistent", "--tls-key", "/nonexistent")), 1);
}

Test(lifecycle, healthcheck_tells_alive_from_not) {
    struct program p, check;
    char port[8];
    cr_assert(program_start(&p, NULL));
    with_port(port, p.port);
    cr_expect_eq(program_run(&check, OPTIONS("--healthcheck", "--port", port)), 0);
    cr_expect_eq(program_stop(&p), 0);
    cr_expect_eq(program_run(&check, OPTIONS("--healthcheck", "--port", port)), 1);
}

Test(lifecycle, idle_stop_is_quick) {
    static const int signals[] = {SIGTERM, SIGINT};
    for (int i = 0; i < 2; i++) {
        struct program p;
        struct client idle, fresh;
        struct answer answer;
        cr_assert(program_start(&p, NULL));
        cr_assert(client_open(&idle, p.port) && client_open(&fresh, p.port));
        client_say(&idle, LIVE);
        cr_expect_eq(client_receive(&idle, &answer, 5000, false), 200);
        answer_free(&answer);
        int64_t began = now_ms();
        kill(p.pid, signals[i]);
        cr_expect_eq(program_wait(&p, 10000), 0);
        cr_expect_lt(now_ms() - began, 1500);
        client_close(&idle);
        client_close(&fresh);
    }
}

/* A request that a worker computes when the signal comes is answered, and so is one whose body is still arriving. */
Test(lifecycle, sigterm_finishes_what_is_in_flight) {
    struct program p;
    struct client computing, uploading, idle;
    struct answer answer;
    size_t size;
    char head[256], *body = attention_body(3000, 64, &size);
    cr_assert(program_start(&p, OPTIONS("--workers", "1")));
    cr_assert(client_open(&computing, p.port) && client_open(&uploading, p.port) && client_open(&idle, p.port));
    client_say(&idle, LIVE);
    cr_expect_eq(client_receive(&idle, &answer, 5000, false), 200);
    answer_free(&answer);
    snprintf(head, sizeof head, "POST /attention HTTP/1.1\r\nHost: a\r\nContent-Length: %zu\r\n\r\n", size);
    client_say(&computing, head);
    client_send(&computing, body, size);
    client_say(&uploading, head);
    client_send(&uploading, body, size / 2);
    sleep_ms(50);
    kill(p.pid, SIGTERM);
    sleep_ms(50);
    client_say(&idle, READY); /* a connection that is open is served until it has been told to close */
    cr_expect_eq(client_receive(&idle, &answer, 5000, false), 503);
    cr_expect_str_eq(answer_header(&answer, "Connection"), "close");
    answer_free(&answer);
    sleep_ms(500);
    client_send(&uploading, body + size / 2, size - size / 2);
    cr_expect_eq(client_receive(&computing, &answer, 20000, false), 200);
    answer_free(&answer);
    cr_expect_eq(client_receive(&uploading, &answer, 20000, false), 200);
    cr_expect_str_eq(answer_header(&answer, "Connection"), "close");
    answer_free(&answer);
    cr_expect_eq(program_wait(&p, 5000), 0);
    client_close(&computing);
    client_close(&uploading);
    client_close(&idle);
    free(body);
}

/* Who never finishes does not hold up the end for longer than the drain timeout. */
Test(lifecycle, the_drain_has_an_end) {
    struct program p;
    struct client stuck;
    cr_assert(program_start(&p, OPTIONS("--drain-timeout-ms", "700")));
    cr_assert(client_open(&stuck, p.port));
    client_say(&stuck, "POST /mha HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n{");
    sleep_ms(50);
    int64_t began = now_ms();
    cr_expect_eq(program_stop(&p), 0);
    cr_expect_geq(now_ms() - began, 600);
    cr_expect_lt(now_ms() - began, 2500);
    client_close(&stuck);
}

Test(lifecycle, the_delay_serves_on) {
    struct program p;
    struct answer answer;
    cr_assert(program_start(&p, OPTIONS("--shutdown-delay-ms", "600")));
    kill(p.pid, SIGTERM);
    sleep_ms(200);
    cr_expect_eq(exchange(p.port, READY, &answer), 503);
    cr_expect_not_null(answer_header(&answer, "Retry-After"));
    answer_free(&answer);
    cr_expect_eq(exchange(p.port, LIVE, &answer), 200);
    answer_free(&answer);
    cr_expect_eq(program_wait(&p, 5000), 0);
}

/* --- a rolling restart ------------------------------------------------------------------------------------------- */

struct load {
    uint16_t port;
    bool keep_alive;
    atomic_bool stop;
    atomic_int served, failed;
};

/* One request after the other. With keep-alive the connection is renewed when the server says close; a connection that
 * was closed before it was used again is renewed as well, as any HTTP client does. */
static void *ask(void *arg) {
    struct load *load = arg;
    struct client client = {.fd = -1};
    while (!atomic_load(&load->stop)) {
        struct answer answer = {0};
        bool fresh = client.fd < 0;
        bool open = !fresh || client_open(&client, load->port);
        bool said = open && client_say(&client, load->keep_alive ? LIVE
                                                                 : "GET /health/live HTTP/1.1\r\nHost: a\r\n"
                                                                   "Connection: close\r\n\r\n");
        int status = said ? client_receive(&client, &answer, 10000, false) : 0;
        bool close_it = !load->keep_alive || status != 200 || answer_header(&answer, "Connection");
        if (status == 200)
            atomic_fetch_add(&load->served, 1);
        else if (fresh)
            atomic_fetch_add(&load->failed, 1);
        if (close_it)
            client_close(&client);
        answer_free(&answer);
    }
    client_close(&client);
    return NULL;
}

Test(lifecycle, a_rolling_restart_loses_no_request) {
    enum { CLIENTS = 8, RESTARTS = 4 };
    struct program p, next;
    struct load loads[CLIENTS];
    pthread_t threads[CLIENTS];
    char port[8];
    int served = 0, failed = 0;
    cr_assert(program_start(&p, NULL));
    with_port(port, p.port);
    for (int i = 0; i < CLIENTS; i++) {
        loads[i] = (struct load){.port = p.port, .keep_alive = i % 2};
        pthread_create(&threads[i], NULL, ask, &loads[i]);
    }
    for (int i = 0; i < RESTARTS; i++) {
        sleep_ms(100);
        cr_assert(program_start(&next, OPTIONS("--port", port)));
        sleep_ms(50);
        cr_expect_eq(program_stop(&p), 0);
        close(p.output);
        p = next;
    }
    sleep_ms(100);
    for (int i = 0; i < CLIENTS; i++)
        atomic_store(&loads[i].stop, true);
    for (int i = 0; i < CLIENTS; i++) {
        pthread_join(threads[i], NULL);
        served += atomic_load(&loads[i].served);
        failed += atomic_load(&loads[i].failed);
    }
    cr_expect_eq(failed, 0, "%d of %d requests lost", failed, served + failed);
    cr_expect_gt(served, 1000);
    cr_expect_eq(program_stop(&p), 0);
}

/* --- keys -------------------------------------------------------------------------------------------------------- */

static void write_file(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    fputs(text, file);
    fclose(file);
}

Test(lifecycle, sighup_reads_the_keys_again) {
    char path[] = "/tmp/dikkat-keys-XXXXXX";
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    close(fd);
    write_file(path, "first-key-0123456789 one\n");
    struct program p;
    struct answer answer;
    static const char body[] = "{\"x\": [[1]]}", first[] = "Authorization: Bearer first-key-0123456789\r\n",
                      second[] = "Authorization: Bearer second-key-0123456789\r\n";
    cr_assert(program_start(&p, OPTIONS("--keys-file", path)));
    cr_expect_eq(post(p.port, "/attention", NULL, body, sizeof body - 1, &answer), 401);
    cr_expect(strncmp(answer_header(&answer, "WWW-Authenticate"), "Bearer", 6) == 0);
    answer_free(&answer);
    cr_expect_eq(post(p.port, "/attention", first, body, sizeof body - 1, &answer), 200);
    answer_free(&answer);
    cr_expect_eq(exchange(p.port, LIVE, &answer), 200);
    answer_free(&answer);
    write_file(path, "second-key-0123456789 two\n");
    kill(p.pid, SIGHUP);
    sleep_ms(100);
    cr_expect_eq(post(p.port, "/attention", first, body, sizeof body - 1, &answer), 401);
    answer_free(&answer);
    cr_expect_eq(post(p.port, "/attention", second, body, sizeof body - 1, &answer), 200);
    answer_free(&answer);
    write_file(path, "short\n"); /* malformed: the keys in force stay */
    kill(p.pid, SIGHUP);
    sleep_ms(100);
    cr_expect_eq(post(p.port, "/attention", second, body, sizeof body - 1, &answer), 200);
    answer_free(&answer);
    cr_expect_eq(program_stop(&p), 0);
    char *text = program_text(&p);
    cr_expect_not_null(strstr(text, "reload_failed"));
    cr_expect_null(strstr(text, "second-key-0123456789"));
    free(text);
    unlink(path);
}

/* --- logs that nobody takes -------------------------------------------------------------------------------------- */

enum sink { CLOSED, FULL, NO_READER };

static void spoil_stdout(enum sink sink) {
    int ends[2];
    close(STDOUT_FILENO);
    if (sink == FULL && open("/dev/full", O_WRONLY) < 0)
        _exit(127);
    if (sink == NO_READER && pipe(ends) == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        if (ends[1] != STDOUT_FILENO)
            close(ends[1]);
    }
}

static void serves_with(enum sink sink) {
    const char *program = getenv("PROGRAM") ? getenv("PROGRAM") : "build/release/dikkat";
    int errors[2];
    cr_assert_eq(pipe2(errors, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(errors[1], STDERR_FILENO);
        spoil_stdout(sink);
        execl(program, program, "--port", "0", (char *)NULL);
        _exit(127);
    }
    char line[512] = "";
    cr_assert_gt(read(errors[0], line, sizeof line - 1), 0);
    const char *at = strstr(line, "127.0.0.1:");
    cr_assert_not_null(at, "%s", line);
    uint16_t port = (uint16_t)atoi(at + 10);
    struct answer answer;
    for (int i = 0; i < 200; i++) {
        cr_assert_eq(exchange(port, LIVE, &answer), 200);
        answer_free(&answer);
    }
    kill(pid, SIGTERM);
    int status;
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "sink %d", (int)sink);
}

Test(lifecycle, a_log_nobody_reads_does_no_harm) {
    serves_with(CLOSED);
    serves_with(FULL);
    serves_with(NO_READER);
}
