/* options.h - what an operator can set. One table (options.c) drives the command line, the environment, --help,
 * --print-config and the documentation; adding an option is one member here and one row there.
 *
 * Order of precedence: command line, environment (DIKKAT_MAX_BODY_BYTES for --max-body-bytes), default.
 */
#ifndef SRV_OPTIONS_H
#define SRV_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum srv_action { SRV_SERVE, SRV_HELP, SRV_VERSION, SRV_PRINT_CONFIG, SRV_HEALTHCHECK };

enum srv_log_format { SRV_LOG_JSON, SRV_LOG_TEXT, SRV_LOG_OFF };

enum srv_source { SRV_FROM_DEFAULT, SRV_FROM_ENVIRONMENT, SRV_FROM_COMMAND_LINE };

enum { SRV_OPTIONS_MAX = 40, SRV_MESSAGE_MAX = 512 };

/* struct srv_options - every value in force. Meanings, units and defaults stand in the table of options.c and in
 * `dikkat --help`. Strings belong to argv or the environment (or are static); "" means not set.
 * `source` is indexed as the table is. */
struct srv_options {
    enum srv_action action;
    const char *host;
    uint64_t port;
    uint64_t workers, io_threads, queue_depth;
    uint64_t max_body_bytes, max_request_memory_bytes, max_memory_bytes;
    double max_multiply_adds;
    uint64_t max_connections, max_connections_per_address;
    uint64_t header_timeout_ms, body_timeout_ms, queue_timeout_ms, compute_timeout_ms, response_timeout_ms;
    uint64_t idle_timeout_ms, drain_timeout_ms, shutdown_delay_ms;
    enum srv_log_format log_format;
    const char *keys_file, *cors_origins;
    double rate_limit, rate_burst;
    const char *tls_cert, *tls_key, *kernel;
    enum srv_source source[SRV_OPTIONS_MAX];
};

/* srv_options_read - fills `options` from argv[1 ..] and from the DIKKAT_ variables of envp (NULL: none).
 * Takes --name value and --name=value. With several actions the first one wins.
 * Returns false on an unknown or malformed option or variable, with one sentence (no newline) in `message`; the program
 * then prints it and exits with status 2.
 *
 * Variables that Kubernetes and Docker make up for a service named dikkat (DIKKAT_SERVICE_HOST,
 * DIKKAT_PORT=tcp://10.0.0.1:80 ...) are not ours and are passed over.
 */
bool srv_options_read(struct srv_options *options, int argc, char *const *argv, char *const *envp,
                      char message[SRV_MESSAGE_MAX]);

/* srv_options_help - the text of --help. */
void srv_options_help(FILE *out);

/* srv_options_print - the text of --print-config: a JSON object, for each option its value, source ("default",
 * "environment", "command line") and environment variable. */
void srv_options_print(const struct srv_options *options, FILE *out);

/* srv_option_name - name of option `index` ("max-body-bytes"), NULL behind the last. */
const char *srv_option_name(size_t index);

#endif
