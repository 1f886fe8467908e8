/* client.h - the program under test, and a client that sends what it is told, byte for byte.
 *
 * The program is $PROGRAM, else build/release/dikkat. It runs on a free port and dies with the test.
 */
#ifndef TESTS_CLIENT_H
#define TESTS_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* struct program - a server that was started. `output` is the descriptor of a file with its stdout and stderr. */
struct program {
    pid_t pid;
    uint16_t port;
    int output;
};

/* OPTIONS - a list of options for one of the functions below. */
#define OPTIONS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* program_start - runs the server with these options (NULL-terminated list, may be NULL) and --port 0, or with a port
 * among the options. Returns when it serves; false when it did not within ten seconds. */
bool program_start(struct program *program, const char *const *options);

/* program_run - runs the program to its end with these options only. Returns its exit code, -1 when a signal ended it;
 * what it printed is in program->output. */
int program_run(struct program *program, const char *const *options);

/* program_wait - waits for the end. Returns the exit code, -1 when it was ended by a signal, -2 when it still runs
 * after `timeout_ms` (it is then killed). */
int program_wait(struct program *program, int timeout_ms);

/* program_stop - SIGTERM, then program_wait with ten seconds. */
int program_stop(struct program *program);

/* program_text - everything printed so far, malloc'd. */
char *program_text(const struct program *program);

/* program_status - a number from /proc/PID/status in kB ("VmRSS", "VmHWM") or as it stands ("Threads"); -1 if absent.
 */
long program_status(const struct program *program, const char *field);

/* program_files - descriptors open in the program. */
int program_files(const struct program *program);

/* struct answer - one HTTP answer; freed with answer_free.
 *
 *     status   0: none came before the connection was closed or the time was over
 *     head     status line and headers, NUL-terminated
 *     interim  number of 1xx answers before it
 */
struct answer {
    int status, interim;
    char *head, *body;
    size_t body_size;
};

void answer_free(struct answer *answer);

/* answer_header - value of a header in a buffer of the thread's, NULL if absent. */
const char *answer_header(const struct answer *answer, const char *name);

/* struct client - a connection; `text` holds bytes that were received and not read yet. */
struct client {
    int fd;
    char *text;
    size_t size, capacity;
    bool ended; /* the server has closed its side, or reset the connection (reset) */
    bool reset;
};

/* client_open - connects to the port on loopback. */
bool client_open(struct client *client, uint16_t port);
void client_close(struct client *client);

/* client_send - sends all bytes, as far as the server takes them within ten seconds. Returns false if not all. */
bool client_send(struct client *client, const void *bytes, size_t size);
bool client_say(struct client *client, const char *text);

/* client_receive - reads one answer. `head_only`: the request was HEAD. A message without Content-Length lasts until
 * the end of the connection. Returns answer->status. */
int client_receive(struct client *client, struct answer *answer, int timeout_ms, bool head_only);

/* client_is_closed - does the server close the connection within timeout_ms, without sending more? */
bool client_is_closed(struct client *client, int timeout_ms);

/* exchange - connects, sends the bytes, reads one answer within five seconds, closes. Returns its status. */
int exchange(uint16_t port, const char *request, struct answer *answer);

/* post - a whole POST exchange with a JSON body on a connection of its own; `headers` ("Name: value\r\n...") may be
 * NULL. */
int post(uint16_t port, const char *path, const char *headers, const void *body, size_t size, struct answer *answer);

/* attention_body - a request for /attention with n tokens of width d, made of short numbers, malloc'd; costs about
 * 4 n^2 d multiply-adds. */
char *attention_body(size_t n, size_t d, size_t *size);

/* now_ms - monotonic clock. sleep_ms - sleeps. */
int64_t now_ms(void);
void sleep_ms(int ms);

#endif
