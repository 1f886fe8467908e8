/* client.c - plain sockets and poll; no HTTP library, since half of what is sent here is not HTTP. */
#include "tests/server/client.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { START_MS = 10000, SEND_MS = 10000, EXCHANGE_MS = 5000, OPTIONS_MAX = 48 };

int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void sleep_ms(int ms) {
    nanosleep(&(struct timespec){ms / 1000, (long)(ms % 1000) * 1000000}, NULL);
}

/* --- the program ------------------------------------------------------------------------------------------------- */

static const char *binary(void) {
    const char *path = getenv("PROGRAM");
    return path ? path : "build/release/dikkat";
}

static bool launch(struct program *program, const char *const *options, bool serve) {
    const char *argv[OPTIONS_MAX] = {binary()};
    size_t n = 1;
    bool has_port = !serve;
    for (; options && *options && n < OPTIONS_MAX - 3; options++) {
        has_port |= strcmp(*options, "--port") == 0;
        argv[n++] = *options;
    }
    if (!has_port) {
        argv[n++] = "--port";
        argv[n++] = "0";
    }
    program->port = 0;
    program->output = memfd_create("output", MFD_CLOEXEC);
    program->pid = fork();
    if (program->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(program->output, STDOUT_FILENO);
        dup2(program->output, STDERR_FILENO);
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        execv(argv[0], (char *const *)argv);
        perror(argv[0]);
        _exit(127);
    }
    return program->pid > 0;
}

char *program_text(const struct program *program) {
    off_t size = lseek(program->output, 0, SEEK_END);
    char *text = calloc(1, (size_t)size + 1);
    if (text && pread(program->output, text, (size_t)size, 0) < 0)
        text[0] = 0;
    return text;
}

bool program_start(struct program *program, const char *const *options) {
    if (!launch(program, options, true))
        return false;
    for (int64_t end = now_ms() + START_MS; now_ms() < end; sleep_ms(5)) {
        char *text = program_text(program);
        const char *line = text ? strstr(text, "dikkat serves ") : NULL;
        const char *stop = line ? strstr(line, " - try") : NULL;
        if (stop) {
            while (stop[-1] >= '0' && stop[-1] <= '9')
                stop--;
            program->port = (uint16_t)atoi(stop);
        }
        free(text);
        if (program->port)
            return true;
        if (waitpid(program->pid, NULL, WNOHANG) != 0)
            return false;
    }
    kill(program->pid, SIGKILL);
    return false;
}

int program_wait(struct program *program, int timeout_ms) {
    int status;
    for (int64_t end = now_ms() + timeout_ms;; sleep_ms(2)) {
        if (waitpid(program->pid, &status, WNOHANG) == program->pid)
            return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        if (now_ms() >= end)
            break;
    }
    kill(program->pid, SIGKILL);
    waitpid(program->pid, &status, 0);
    return -2;
}

int program_run(struct program *program, const char *const *options) {
    return launch(program, options, false) ? program_wait(program, START_MS) : -1;
}

int program_stop(struct program *program) {
    kill(program->pid, SIGTERM);
    return program_wait(program, 10000);
}

long program_status(const struct program *program, const char *field) {
    char path[64], line[256];
    snprintf(path, sizeof path, "/proc/%d/status", (int)program->pid);
    FILE *file = fopen(path, "re");
    long value = -1;
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, field, strlen(field)) == 0 && line[strlen(field)] == ':')
            value = atol(line + strlen(field) + 1);
    if (file)
        fclose(file);
    return value;
}

int program_files(const struct program *program) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd", (int)program->pid);
    DIR *directory = opendir(path);
    int count = 0;
    while (directory && readdir(directory))
        count++;
    if (directory)
        closedir(directory);
    return count - 2;
}

/* --- the connection ---------------------------------------------------------------------------------------------- */

bool client_open(struct client *client, uint16_t port) {
    *client = (struct client){.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    return client->fd >= 0 && connect(client->fd, (struct sockaddr *)&address, sizeof address) == 0;
}

void client_close(struct client *client) {
    if (client->fd >= 0)
        close(client->fd);
    free(client->text);
    *client = (struct client){.fd = -1};
}

bool client_send(struct client *client, const void *bytes, size_t size) {
    const char *at = bytes;
    int64_t end = now_ms() + SEND_MS;
    while (size) {
        ssize_t n = send(client->fd, at, size, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n > 0) {
            at += n;
            size -= (size_t)n;
        } else if (errno == EAGAIN && now_ms() < end) {
            poll(&(struct pollfd){client->fd, POLLOUT, 0}, 1, 100);
        } else {
            return false;
        }
    }
    return true;
}

bool client_say(struct client *client, const char *text) {
    return client_send(client, text, strlen(text));
}

/* Receives more; false at the end of the connection or of the time. */
static bool more(struct client *client, int64_t end) {
    if (client->ended)
        return false;
    if (client->capacity < client->size + 65536) {
        client->capacity = client->capacity * 2 + 131072;
        client->text = realloc(client->text, client->capacity);
    }
    for (;;) {
        int64_t left = end - now_ms();
        if (poll(&(struct pollfd){client->fd, POLLIN, 0}, 1, left > 0 ? (int)left : 0) <= 0)
            return false;
        ssize_t n = recv(client->fd, client->text + client->size, client->capacity - client->size - 1, MSG_DONTWAIT);
        if (n > 0) {
            client->size += (size_t)n;
            client->text[client->size] = 0;
            return true;
        }
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            continue;
        client->ended = true;
        client->reset = n < 0;
        return false;
    }
}

static void consume(struct client *client, size_t size) {
    client->size -= size;
    memmove(client->text, client->text + size, client->size + 1);
}

static char *copy(const char *text, size_t size) {
    char *result = malloc(size + 1);
    memcpy(result, text, size);
    result[size] = 0;
    return result;
}

void answer_free(struct answer *answer) {
    free(answer->head);
    free(answer->body);
    *answer = (struct answer){0};
}

const char *answer_header(const struct answer *answer, const char *name) {
    static _Thread_local char value[4096];
    size_t n = strlen(name);
    for (const char *line = answer->head ? strstr(answer->head, "\r\n") : NULL; line; line = strstr(line + 2, "\r\n")) {
        if (strncasecmp(line + 2, name, n) == 0 && line[2 + n] == ':') {
            const char *at = line + 2 + n + 1;
            at += strspn(at, " ");
            snprintf(value, sizeof value, "%.*s", (int)strcspn(at, "\r"), at);
            return value;
        }
    }
    return NULL;
}

static bool read_head(struct client *client, struct answer *answer, int64_t end) {
    char *stop;
    while (!client->size || !(stop = strstr(client->text, "\r\n\r\n")))
        if (!more(client, end))
            return false;
    size_t size = (size_t)(stop + 4 - client->text);
    answer->head = copy(client->text, size);
    consume(client, size);
    return sscanf(answer->head, "HTTP/1.%*d %d", &answer->status) == 1;
}

int client_receive(struct client *client, struct answer *answer, int timeout_ms, bool head_only) {
    int64_t end = now_ms() + timeout_ms;
    *answer = (struct answer){0};
    while (read_head(client, answer, end) && answer->status / 100 == 1) {
        answer->interim++;
        free(answer->head);
        answer->head = NULL;
        answer->status = 0;
    }
    if (answer->status == 0)
        return 0;
    const char *length = answer_header(answer, "Content-Length");
    if (head_only || answer->status == 204 || answer->status == 304)
        return answer->status;
    size_t size = length ? (size_t)strtoull(length, NULL, 10) : SIZE_MAX;
    while (client->size < size && more(client, end))
        ;
    if (client->size < size && length)
        return answer->status = 0;
    if (!length)
        size = client->size;
    answer->body = copy(client->text ? client->text : "", size);
    answer->body_size = size;
    if (size)
        consume(client, size);
    return answer->status;
}

bool client_is_closed(struct client *client, int timeout_ms) {
    int64_t end = now_ms() + timeout_ms;
    if (client->size)
        return false;
    more(client, end);
    return client->ended;
}

int exchange(uint16_t port, const char *request, struct answer *answer) {
    struct client client;
    *answer = (struct answer){0};
    if (client_open(&client, port) && client_say(&client, request))
        client_receive(&client, answer, EXCHANGE_MS, strncmp(request, "HEAD ", 5) == 0);
    client_close(&client);
    return answer->status;
}

int post(uint16_t port, const char *path, const char *headers, const void *body, size_t size, struct answer *answer) {
    struct client client;
    char head[2048];
    *answer = (struct answer){0};
    snprintf(head, sizeof head, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %zu\r\n%s\r\n", path, size,
             headers ? headers : "");
    if (client_open(&client, port) && client_say(&client, head)) {
        client_send(&client, body, size); /* an early refusal may cut it short */
        client_receive(&client, answer, 60000, false);
    }
    client_close(&client);
    return answer->status;
}

char *attention_body(size_t n, size_t d, size_t *size) {
    char *text = malloc(64 + n * (d * 5 + 4)), *out = text;
    out += sprintf(out, "{\"return\": [\"output\"], \"checks\": false, \"x\": [");
    unsigned seed = 1;
    for (size_t i = 0; i < n; i++) {
        *out++ = i ? ',' : ' ';
        for (size_t j = 0; j < d; j++) {
            seed = seed * 1103515245u + 12345u;
            out += sprintf(out, "%c0.%02u", j ? ',' : '[', seed >> 16 & 63);
        }
        *out++ = ']';
    }
    out += sprintf(out, "]}");
    *size = (size_t)(out - text);
    return text;
}
