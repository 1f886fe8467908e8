/* options.c - the table of options, and what it drives. */
#include "server/options.h"

#include "api/fields.h"
#include "server/escape.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum kind { ACTION, TEXT, COUNT, BYTES, MILLISECONDS, REAL, FORMAT };

/* struct option - one row.
 *
 *     place     where the value lives in struct srv_options
 *     initial   the default, read as if the operator had written it
 *     most      largest value accepted (smallest is 0); for an action its enum srv_action
 */
struct option {
    const char *name;
    enum kind kind;
    size_t place;
    const char *initial;
    double most;
    const char *help;
};

#define IN(member) offsetof(struct srv_options, member)
#define A_DAY 86400e3
#define EXBI 1152921504606846976.0

static const struct option table[] = {
    {"host", TEXT, IN(host), "127.0.0.1", 0, "address to listen on; 0.0.0.0 or :: for all"},
    {"port", COUNT, IN(port), "8080", 65535, "TCP port; 0 takes any free one and prints it"},
    {"workers", COUNT, IN(workers), "0", 1024, "threads that compute; 0: one for each core of the cgroup"},
    {"io-threads", COUNT, IN(io_threads), "0", 1024, "threads that serve connections; 0: by the number of cores"},
    {"queue-depth", COUNT, IN(queue_depth), "64", 1e6,
     "requests that may wait for a worker, the shortest in front; beyond it 503"},
    {"max-body-bytes", BYTES, IN(max_body_bytes), "64MiB", EXBI, "longest request body, packed or not; beyond it 413"},
    {"max-request-memory-bytes", BYTES, IN(max_request_memory_bytes), "1GiB", EXBI,
     "most memory for one request and its answer; beyond it 413"},
    {"max-memory-bytes", BYTES, IN(max_memory_bytes), "0", EXBI,
     "most memory for all requests in flight, beyond it 503; 0: a share of the cgroup's or the machine's"},
    {"max-multiply-adds", REAL, IN(max_multiply_adds), "2e11", 1e18, "dearest request, by its estimate; beyond it 413"},
    {"max-connections", COUNT, IN(max_connections), "4096", 1e6, "connections open at once; beyond it 503"},
    {"max-connections-per-address", COUNT, IN(max_connections_per_address), "1024", 1e6,
     "of these from one IPv4 address or IPv6 /64; beyond it 503; 0: no such limit"},
    {"header-timeout-ms", MILLISECONDS, IN(header_timeout_ms), "10000", A_DAY, "for all headers to arrive, then 408"},
    {"body-timeout-ms", MILLISECONDS, IN(body_timeout_ms), "60000", A_DAY, "for the whole body to arrive, then 408"},
    {"queue-timeout-ms", MILLISECONDS, IN(queue_timeout_ms), "10000", A_DAY, "waiting for a worker, then 503"},
    {"compute-timeout-ms", MILLISECONDS, IN(compute_timeout_ms), "30000", A_DAY, "computing, then 503"},
    {"response-timeout-ms", MILLISECONDS, IN(response_timeout_ms), "60000", A_DAY,
     "for the client to take the answer, then the connection is closed"},
    {"idle-timeout-ms", MILLISECONDS, IN(idle_timeout_ms), "60000", A_DAY, "between two requests of one connection"},
    {"drain-timeout-ms", MILLISECONDS, IN(drain_timeout_ms), "25000", A_DAY,
     "after SIGTERM, for requests in flight to finish"},
    {"shutdown-delay-ms", MILLISECONDS, IN(shutdown_delay_ms), "0", A_DAY,
     "after SIGTERM, serve on for so long with readiness failing, while load balancers look away"},
    {"log-format", FORMAT, IN(log_format), "json", 0, "json, text (for people) or off; one line a request on stdout"},
    {"keys-file", TEXT, IN(keys_file), "", 0, "file of bearer keys, one a line; then every computation needs one"},
    {"cors-origins", TEXT, IN(cors_origins), "", 0, "web origins that may call, with commas between, or *"},
    {"rate-limit", REAL, IN(rate_limit), "0", 1e9, "requests a second for each key or address, then 429; 0: no limit"},
    {"rate-burst", REAL, IN(rate_burst), "0", 1e9, "requests at once within the rate limit; 0: one second's worth"},
    {"tls-cert", TEXT, IN(tls_cert), "", 0, "certificate chain (PEM); with --tls-key serves HTTPS"},
    {"tls-key", TEXT, IN(tls_key), "", 0, "private key (PEM)"},
    {"kernel", TEXT, IN(kernel), "auto", 0, "OpenBLAS kernel, e.g. Haswell; auto: by the processor"},
    {"help", ACTION, 0, NULL, SRV_HELP, "this text"},
    {"version", ACTION, 0, NULL, SRV_VERSION, "version, commit and kernel"},
    {"print-config", ACTION, 0, NULL, SRV_PRINT_CONFIG, "every option's value and where it comes from, as JSON"},
    {"healthcheck", ACTION, 0, NULL, SRV_HEALTHCHECK,
     "ask the service on --host and --port whether it lives; exit 0 or 1"},
};

enum { ROWS = sizeof table / sizeof *table, ENV_MAX = 64 };
_Static_assert((int)ROWS <= (int)SRV_OPTIONS_MAX, "struct srv_options.source is too short");

static const char prefix[] = "DIKKAT_";
static const char *const formats[] = {"json", "text", "off"};
static const char *const sources[] = {"default", "environment", "command line"};

const char *srv_option_name(size_t index) {
    return index < ROWS ? table[index].name : NULL;
}

/* "max-body-bytes" -> "DIKKAT_MAX_BODY_BYTES" */
static const char *variable(const struct option *row, char out[ENV_MAX]) {
    size_t n = (size_t)snprintf(out, ENV_MAX, "%s%s", prefix, row->name);
    for (size_t i = 0; i < n; i++) {
        out[i] = out[i] == '-' ? '_' : (char)toupper((unsigned char)out[i]);
    }
    return out;
}

static const struct option *find(const char *name, size_t size) {
    for (size_t i = 0; i < ROWS; i++) {
        if (strlen(table[i].name) == size && memcmp(table[i].name, name, size) == 0) {
            return &table[i];
        }
    }
    return NULL;
}

/* --- values ------------------------------------------------------------------------------------------------------ */

static const char *expectation(const struct option *row, char *out, size_t size) {
    switch (row->kind) {
    case COUNT:
        snprintf(out, size, "an integer from 0 to %.0f", row->most);
        break;
    case BYTES:
        snprintf(out, size, "a number of bytes such as 1048576, 64KiB, 64MiB or 1GiB");
        break;
    case MILLISECONDS:
        snprintf(out, size, "an integer of milliseconds from 0 to %.0f", row->most);
        break;
    case REAL:
        snprintf(out, size, "a number from 0 to %g", row->most);
        break;
    case FORMAT:
        snprintf(out, size, "json, text or off");
        break;
    default:
        snprintf(out, size, "a text");
    }
    return out;
}

static bool read_integer(const struct option *row, const char *text, uint64_t *value) {
    if (!isdigit((unsigned char)*text)) {
        return false;
    }
    char *end;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    unsigned shift = 0;
    if (row->kind == BYTES && *end) {
        static const char *const units[] = {"B", "KiB", "MiB", "GiB"};
        size_t unit = 0;
        while (unit < 4 && strcmp(end, units[unit]) != 0) {
            unit++;
        }
        if (unit == 4) {
            return false;
        }
        shift = 10 * (unsigned)unit;
        end += strlen(end);
    }
    double real = ldexp((double)number, (int)shift);
    *value = number << shift;
    return errno == 0 && *end == 0 && real <= row->most;
}

static bool read_real(const struct option *row, const char *text, double *value) {
    if (!isdigit((unsigned char)*text)) {
        return false;
    }
    if (text[strspn(text, "0123456789.eE+-")]) {
        return false; /* strtod would also take 0x10 and 1inf */
    }
    char *end;
    *value = strtod(text, &end);
    return *end == 0 && isfinite(*value) && *value <= row->most;
}

static bool store(struct srv_options *options, const struct option *row, const char *text) {
    void *place = (char *)options + row->place;
    switch (row->kind) {
    case TEXT:
        *(const char **)place = text;
        return true;
    case REAL:
        return read_real(row, text, place);
    case FORMAT:
        for (int i = 0; i < 3; i++) {
            if (strcmp(text, formats[i]) == 0) {
                *(enum srv_log_format *)place = (enum srv_log_format)i;
                return true;
            }
        }
        return false;
    case COUNT:
    case BYTES:
    case MILLISECONDS:
        return read_integer(row, text, place);
    case ACTION:
        break;
    }
    return false;
}

static bool set(struct srv_options *options, const struct option *row, const char *called, const char *text,
                enum srv_source source, char message[SRV_MESSAGE_MAX]) {
    if (store(options, row, text)) {
        options->source[row - table] = source;
        return true;
    }
    char expected[96];
    snprintf(message, SRV_MESSAGE_MAX, "%s takes %s, not \"%.80s\"", called,
             expectation(row, expected, sizeof expected), text);
    return false;
}

/* --- environment ------------------------------------------------------------------------------------------------- */

/* Kubernetes and Docker links describe a service named dikkat or dikkat-x in variables of these forms. */
static bool made_by_service_link(const char *name, const char *value) {
    const char *port = strstr(name, "_PORT");
    return strstr(name, "_SERVICE_HOST") || strstr(name, "_SERVICE_PORT") ||
           (port && (strstr(value, "://") || (port[5] == '_' && isdigit((unsigned char)port[6]))));
}

static bool refuse_variable(const char *name, char message[SRV_MESSAGE_MAX]) {
    char names[ROWS][ENV_MAX];
    const char *list[ROWS + 1];
    size_t n = 0;
    for (size_t i = 0; i < ROWS; i++) {
        if (table[i].kind != ACTION) {
            list[n] = variable(&table[i], names[n]);
            n++;
        }
    }
    list[n] = NULL;
    const char *closest = api_closest(list, name);
    snprintf(message, SRV_MESSAGE_MAX, "unknown environment variable %.80s; %s%s", name,
             closest ? "did you mean " : "dikkat --help lists them", closest ? closest : "");
    return false;
}

static bool read_variable(struct srv_options *options, const char *entry, char message[SRV_MESSAGE_MAX]) {
    const char *equals = strchr(entry, '=');
    if (!equals || strncmp(entry, prefix, sizeof prefix - 1) != 0) {
        return true;
    }
    char name[128], known[ENV_MAX];
    snprintf(name, sizeof name, "%.*s", (int)(equals - entry), entry);
    if (made_by_service_link(name, equals + 1)) {
        return true;
    }
    for (size_t i = 0; i < ROWS; i++) {
        if (table[i].kind != ACTION && strcmp(variable(&table[i], known), name) == 0) {
            return set(options, &table[i], name, equals + 1, SRV_FROM_ENVIRONMENT, message);
        }
    }
    return refuse_variable(name, message);
}

/* --- command line ------------------------------------------------------------------------------------------------ */

static bool refuse_argument(const char *argument, char message[SRV_MESSAGE_MAX]) {
    if (strncmp(argument, "--", 2) != 0 || !argument[2]) {
        snprintf(message, SRV_MESSAGE_MAX, "unexpected argument \"%.80s\"; dikkat --help lists the options", argument);
        return false;
    }
    const char *list[ROWS + 1] = {NULL};
    for (size_t i = 0; i < ROWS; i++) {
        list[i] = table[i].name;
    }
    char name[128];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(argument + 2, "="), argument + 2);
    const char *closest = api_closest(list, name);
    snprintf(message, SRV_MESSAGE_MAX, "unknown option --%.80s; %s%s", name,
             closest ? "did you mean --" : "dikkat --help lists them", closest ? closest : "");
    return false;
}

static bool act(struct srv_options *options, const struct option *row, bool has_value, char message[SRV_MESSAGE_MAX]) {
    if (has_value) {
        snprintf(message, SRV_MESSAGE_MAX, "--%s takes no value", row->name);
        return false;
    }
    if (options->action == SRV_SERVE) {
        options->action = (enum srv_action)row->most;
    }
    return true;
}

/* Reads argv[*at] and, for `--name value`, the one behind it. */
static bool read_argument(struct srv_options *options, char *const *argv, int argc, int *at,
                          char message[SRV_MESSAGE_MAX]) {
    const char *argument = argv[*at];
    const char *name = argument + 2;
    size_t size = strcspn(argument, "=");
    const struct option *row = strncmp(argument, "--", 2) == 0 && size > 2 ? find(name, size - 2) : NULL;
    if (!row) {
        return refuse_argument(argument, message);
    }
    bool has_value = argument[size] == '=';
    if (row->kind == ACTION) {
        return act(options, row, has_value, message);
    }
    const char *value = argument + size + 1;
    if (!has_value) {
        if (*at + 1 >= argc) {
            char expected[96];
            snprintf(message, SRV_MESSAGE_MAX, "--%s needs a value: %s", row->name,
                     expectation(row, expected, sizeof expected));
            return false;
        }
        value = argv[++*at];
    }
    char called[ENV_MAX];
    snprintf(called, sizeof called, "--%s", row->name);
    return set(options, row, called, value, SRV_FROM_COMMAND_LINE, message);
}

static bool fits_together(const struct srv_options *options, char message[SRV_MESSAGE_MAX]) {
    const char *wrong = NULL;
    if (!*options->tls_cert != !*options->tls_key) {
        wrong = "--tls-cert and --tls-key must be given together";
    } else if (options->max_connections == 0) {
        wrong = "--max-connections takes an integer from 1 to 1000000, not \"0\"";
    } else if (options->queue_depth == 0) {
        wrong = "--queue-depth takes an integer from 1 to 1000000, not \"0\"";
    } else if (options->rate_burst > 0 && options->rate_limit == 0) {
        wrong = "--rate-burst has no meaning without --rate-limit";
    } else if (!*options->host) {
        wrong = "--host takes an address, not an empty text";
    }
    if (wrong) {
        snprintf(message, SRV_MESSAGE_MAX, "%s", wrong);
    }
    return !wrong;
}

bool srv_options_read(struct srv_options *options, int argc, char *const *argv, char *const *envp,
                      char message[SRV_MESSAGE_MAX]) {
    *options = (struct srv_options){.action = SRV_SERVE};
    message[0] = 0;
    for (size_t i = 0; i < ROWS; i++) {
        if (table[i].initial && !set(options, &table[i], table[i].name, table[i].initial, SRV_FROM_DEFAULT, message)) {
            return false;
        }
    }
    for (; envp && *envp; envp++) {
        if (!read_variable(options, *envp, message)) {
            return false;
        }
    }
    for (int at = 1; at < argc; at++) {
        if (!read_argument(options, argv, argc, &at, message)) {
            return false;
        }
    }
    return fits_together(options, message);
}

/* --- showing ------------------------------------------------------------------------------------------------------ */

void srv_options_help(FILE *out) {
    static const char *const takes[] = {"", " TEXT", " N", " BYTES", " MS", " NUMBER", " FORMAT"};
    fputs(
        "dikkat - attention computations over HTTP\n\n"
        "usage: dikkat [--option value | --option=value]...\n\n"
        "Each option can also be set in the environment: --max-body-bytes as DIKKAT_MAX_BODY_BYTES. The command line\n"
        "wins over the environment. BYTES takes KiB, MiB and GiB; MS is milliseconds, 0 for none.\n\n",
        out);
    for (size_t i = 0; i < ROWS; i++) {
        char left[64];
        snprintf(left, sizeof left, "--%s%s", table[i].name, takes[table[i].kind]);
        fprintf(out, "  %-36s%s", left, table[i].help);
        if (table[i].initial && *table[i].initial) {
            fprintf(out, " (default %s)", table[i].initial);
        }
        fputc('\n', out);
    }
}

static void print_value(const struct srv_options *options, const struct option *row, FILE *out) {
    const void *place = (const char *)options + row->place;
    if (row->kind == REAL) {
        fprintf(out, "%.17g", *(const double *)place);
    } else if (row->kind == TEXT || row->kind == FORMAT) {
        const char *text =
            row->kind == TEXT ? *(const char *const *)place : formats[*(const enum srv_log_format *)place];
        char escaped[4096];
        char *end = srv_escape_json(escaped, escaped + sizeof escaped, text);
        fprintf(out, "\"%.*s\"", (int)(end - escaped), escaped);
    } else {
        fprintf(out, "%llu", (unsigned long long)*(const uint64_t *)place);
    }
}

void srv_options_print(const struct srv_options *options, FILE *out) {
    const char *before = "{\n";
    for (size_t i = 0; i < ROWS; i++) {
        if (table[i].kind == ACTION) {
            continue;
        }
        char name[ENV_MAX];
        fprintf(out, "%s  \"%s\": {\"value\": ", before, table[i].name);
        print_value(options, &table[i], out);
        fprintf(out, ", \"source\": \"%s\", \"variable\": \"%s\"}", sources[options->source[i]],
                variable(&table[i], name));
        before = ",\n";
    }
    fputs("\n}\n", out);
}
