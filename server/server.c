/* server.c - builds the service from its parts, and keeps house: one thread accepts connections, ends those that are
 * over their time, hears of clients that leave, and obeys signals.
 *
 * Stopping. SIGTERM or SIGINT: readiness fails and every answer closes its connection, but all are served for the
 * shutdown delay. Then no new connection is begun, those already being made are accepted, and the listening socket is
 * closed. Requests in flight finish; connections without one are closed after a short silence. When all are gone, or
 * the drain timeout has passed, the library is stopped.
 */
#include "server/server.h"

#include "server/accept.h"
#include "server/http.h"
#include "server/listener.h"
#include "server/machine.h"
#include "server/parts.h"

#include <errno.h>
#include <microhttpd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum {
    TICK_MS = 50,
    HANDSHAKE_MS = 100, /* for connections that are being made when no more are begun */
    CLOSING_MS = 1000,  /* most, where the system cannot be told to begin no more */
    SILENCE_MS = 300,   /* of a connection that is then closed while draining */
    ABANDON_MS = 2000
};

enum stage { SERVING, DELAYING, CLOSING, DRAINING, STOPPED };

struct house {
    struct srv_server *server;
    int epoll, signals, listener;
    enum stage stage;
    uint64_t until;
    bool exhausted, more;
    size_t open;
};

/* --- signals ----------------------------------------------------------------------------------------------------- */

static void begin_stop(struct house *house, const char *signal_name) {
    struct srv_server *server = house->server;
    if (house->stage != SERVING) {
        house->until = 0; /* asked twice: wait no longer */
        return;
    }
    srv_log_event(server->log, "info", "stopping", signal_name, NULL, 0);
    atomic_store(&server->draining, true);
    house->stage = DELAYING;
    house->until = srv_now_ms() + server->options.shutdown_delay_ms;
}

static void reload(struct srv_server *server) {
    char message[SRV_MESSAGE_MAX] = "Nothing to read again.";
    if (!server->keys)
        srv_log_event(server->log, "info", "reload", message, NULL, 0);
    else if (srv_keys_reload(server->keys, message))
        srv_log_event(server->log, "info", "reload", "Keys read again.", NULL, 0);
    else
        srv_log_event(server->log, "error", "reload_failed", message, NULL, 0);
}

static void obey(struct house *house) {
    struct signalfd_siginfo signal;
    while (read(house->signals, &signal, sizeof signal) == sizeof signal) {
        if (signal.ssi_signo == SIGHUP)
            reload(house->server);
        else
            begin_stop(house, signal.ssi_signo == SIGTERM ? "Stopping on SIGTERM." : "Stopping on SIGINT.");
    }
}

/* --- stages of stopping ------------------------------------------------------------------------------------------ */

static void next_stage(struct house *house) {
    struct srv_server *server = house->server;
    uint64_t now = srv_now_ms();
    bool over = now >= house->until;
    if (house->stage == DELAYING && over) {
        srv_listen_no_more(house->listener);
        house->stage = CLOSING;
        house->until = now + HANDSHAKE_MS;
    } else if (house->stage == CLOSING && over && (!house->more || now >= house->until + CLOSING_MS)) {
        close(house->listener);
        house->listener = -1;
        house->stage = DRAINING;
        house->until = now + server->options.drain_timeout_ms;
    } else if (house->stage == DRAINING && (over || (house->open == 0 && atomic_load(&server->in_flight) == 0))) {
        house->stage = STOPPED;
    }
}

/* Nothing may be suspended when the library is stopped. Computing stops within milliseconds of `abandon`. */
static void abandon(struct srv_server *server) {
    atomic_store(&server->abandon, true);
    for (uint64_t end = srv_now_ms() + ABANDON_MS; atomic_load(&server->suspended) > 0 && srv_now_ms() < end;) {
        srv_work_sweep(server->work);
        usleep(1000);
    }
}

/* --- the loop ---------------------------------------------------------------------------------------------------- */

static void take_connections(struct house *house) {
    if (house->listener < 0)
        return;
    enum srv_accept result = srv_accept(house->server, house->listener);
    house->more = result == SRV_ACCEPT_MORE;
    house->exhausted = result == SRV_ACCEPT_EXHAUSTED;
}

static void keep_house(struct house *house) {
    struct srv_server *server = house->server;
    while (house->stage != STOPPED) {
        struct epoll_event events[4];
        bool quiet = house->stage == SERVING && house->open == 0 && !house->exhausted;
        int n = epoll_wait(house->epoll, events, 4, house->more ? 0 : quiet ? -1 : TICK_MS);
        bool incoming = house->more || house->exhausted, gone = false;
        for (int i = 0; i < n; i++) {
            if (events[i].data.fd == house->signals)
                obey(house);
            else if (events[i].data.fd == house->listener)
                incoming = true;
            else
                gone |= srv_connections_serve(server->connections);
        }
        uint64_t silence = house->stage == DRAINING ? SILENCE_MS : 0;
        house->open = srv_connections_look(server->connections, srv_now_ms(), silence);
        if (gone || srv_work_waiting(server->work))
            srv_work_sweep(server->work);
        if (incoming) {
            take_connections(house);
            house->open += house->listener >= 0;
        }
        next_stage(house);
    }
}

static bool listen_to(struct house *house, int fd) {
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    return epoll_ctl(house->epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

static bool furnish(struct house *house, const sigset_t *set) {
    house->epoll = epoll_create1(EPOLL_CLOEXEC);
    house->signals = signalfd(-1, set, SFD_NONBLOCK | SFD_CLOEXEC);
    return house->epoll >= 0 && house->signals >= 0 && listen_to(house, house->signals) &&
           listen_to(house, house->listener) && listen_to(house, srv_connections_fd(house->server->connections));
}

static void close_house(struct house *house) {
    int *fds[] = {&house->listener, &house->signals, &house->epoll};
    for (size_t i = 0; i < 3; i++)
        if (*fds[i] >= 0)
            close(*fds[i]);
}

/* --- start and stop ---------------------------------------------------------------------------------------------- */

/* For people, so on stderr: stdout is the log's. */
static void greet(const struct srv_server *server, uint16_t port) {
    const char *host = server->options.host;
    bool v6 = strchr(host, ':') != NULL, all = strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0 || !*host;
    char address[128];
    snprintf(address, sizeof address, "%s://%s%.80s%s:%u", server->tls_cert ? "https" : "http", v6 && !all ? "[" : "",
             all ? "127.0.0.1" : host, v6 && !all ? "]" : "", (unsigned)port);
    fprintf(stderr,
            "dikkat serves %s - try: curl %s/attention -d '{\"x\": [[1, 0], [0, 1], [1, 1]], \"causal\": true}'\n",
            address, address);
    struct srv_log_field fields[] = {{"address", address, 0},
                                     {"port", NULL, port},
                                     {"workers", NULL, (double)server->options.workers},
                                     {"io_threads", NULL, (double)server->options.io_threads}};
    srv_log_event(server->log, "info", "start", "Serving.", fields, sizeof fields / sizeof *fields);
}

static int fail(const char *message) {
    fprintf(stderr, "dikkat: %s\n", message);
    return 1;
}

static int run(struct srv_server *server, const sigset_t *signals) {
    char message[SRV_MESSAGE_MAX];
    uint16_t port = (uint16_t)server->options.port;
    struct house house = {.server = server, .epoll = -1, .signals = -1};
    house.listener = srv_listen(server->options.host, &port, message);
    if (house.listener < 0)
        return fail(message);
    if (!furnish(&house, signals) || !srv_http_start(server)) {
        close_house(&house);
        return fail(server->tls_cert ? "cannot start serving; are the TLS certificate and key valid?"
                                     : "cannot start serving: out of threads, descriptors or memory");
    }
    greet(server, port);
    keep_house(&house);
    abandon(server);
    MHD_stop_daemon(server->daemon);
    close_house(&house);
    srv_log_event(server->log, "info", "stopped", "All requests were finished.", NULL, 0);
    return 0;
}

int srv_serve(const struct srv_options *options) {
    /* Before the first thread, so that all of them leave the signals to the housekeeping thread. */
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGHUP);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    signal(SIGPIPE, SIG_IGN);

    static struct srv_server server;
    char message[SRV_MESSAGE_MAX];
    server.options = *options;
    int code = srv_parts_open(&server, message) ? run(&server, &signals) : fail(message);
    srv_parts_close(&server);
    return code;
}
