/* test_options - the option table: values, sources, refusals with the closest name, and what is printed.
 * Command lines and environments are plain arrays; nothing is read from the process itself. */
#include "server/options.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <string.h>

enum { ARGUMENTS = 8 };

static char message[SRV_MESSAGE_MAX];

static bool read_both(struct srv_options *options, const char *const *arguments, const char *const *variables) {
    char *argv[ARGUMENTS + 1] = {(char[]){"dikkat"}}, *envp[ARGUMENTS + 1] = {NULL};
    int argc = 1;
    for (; arguments && arguments[argc - 1]; argc++)
        argv[argc] = (char *)(uintptr_t)arguments[argc - 1];
    for (int i = 0; variables && variables[i]; i++)
        envp[i] = (char *)(uintptr_t)variables[i];
    return srv_options_read(options, argc, argv, envp, message);
}

#define ARGS(...) ((const char *const[ARGUMENTS]){__VA_ARGS__})

static enum srv_source source_of(const struct srv_options *options, const char *name) {
    size_t i = 0;
    while (strcmp(srv_option_name(i), name) != 0)
        i++;
    return options->source[i];
}

Test(options, defaults_are_safe_and_as_documented) {
    struct srv_options o;
    cr_assert(read_both(&o, NULL, NULL), "%s", message);
    cr_assert_str_eq(o.host, "127.0.0.1");
    cr_assert_eq(o.action, SRV_SERVE);
    cr_assert_eq(o.port, 8080);
    cr_assert_eq(o.workers, 0);
    cr_assert_eq(o.queue_depth, 64);
    cr_assert_eq(o.max_body_bytes, 64u << 20);
    cr_assert_eq(o.max_request_memory_bytes, 1u << 30);
    cr_assert_eq(o.max_memory_bytes, 0);
    cr_assert_float_eq(o.max_multiply_adds, 2e11, 0);
    cr_assert_eq(o.max_connections, 4096);
    cr_assert_eq(o.max_connections_per_address, 1024);
    cr_assert_eq(o.header_timeout_ms, 10000);
    cr_assert_eq(o.compute_timeout_ms, 30000);
    cr_assert_eq(o.drain_timeout_ms, 25000);
    cr_assert_eq(o.log_format, SRV_LOG_JSON);
    cr_assert_str_eq(o.keys_file, "");
    cr_assert_str_eq(o.cors_origins, "");
    cr_assert_str_eq(o.kernel, "auto");
    cr_assert_float_eq(o.rate_limit, 0, 0);
    for (size_t i = 0; srv_option_name(i); i++)
        cr_assert_eq(o.source[i], SRV_FROM_DEFAULT);
}

Test(options, both_spellings_and_both_places) {
    struct srv_options o;
    cr_assert(read_both(&o, ARGS("--port", "0", "--max-body-bytes=3KiB", "--rate-limit=2.5"),
                        ARGS("DIKKAT_PORT=99", "DIKKAT_LOG_FORMAT=text", "HOME=/root", "DIKKAT_HOST=::1")),
              "%s", message);
    cr_assert_eq(o.port, 0);
    cr_assert_eq(o.max_body_bytes, 3072);
    cr_assert_float_eq(o.rate_limit, 2.5, 0);
    cr_assert_eq(o.log_format, SRV_LOG_TEXT);
    cr_assert_str_eq(o.host, "::1");
    cr_assert_eq(source_of(&o, "port"), SRV_FROM_COMMAND_LINE);
    cr_assert_eq(source_of(&o, "host"), SRV_FROM_ENVIRONMENT);
    cr_assert_eq(source_of(&o, "workers"), SRV_FROM_DEFAULT);
}

Test(options, actions) {
    struct srv_options o;
    static const struct {
        const char *argument;
        enum srv_action action;
    } rows[] = {{"--help", SRV_HELP},
                {"--version", SRV_VERSION},
                {"--print-config", SRV_PRINT_CONFIG},
                {"--healthcheck", SRV_HEALTHCHECK}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cr_assert(read_both(&o, ARGS("--port=1", rows[i].argument), NULL));
        cr_assert_eq(o.action, rows[i].action);
        cr_assert_eq(o.port, 1);
    }
}

Test(options, refusals_are_one_sentence_that_helps) {
    static const struct {
        const char *arguments[3], *variable, *says;
    } rows[] = {
        {{"--prot", "80"}, NULL, "unknown option --prot; did you mean --port"},
        {{"--max_body_bytes=1"}, NULL, "did you mean --max-body-bytes"},
        {{"--qwertyuiop=1"}, NULL, "dikkat --help lists them"},
        {{"8080"}, NULL, "unexpected argument \"8080\""},
        {{"-p"}, NULL, "unexpected argument \"-p\""},
        {{"--"}, NULL, "unexpected argument \"--\""},
        {{""}, NULL, "unexpected argument \"\""},
        {{"--port"}, NULL, "--port needs a value: an integer from 0 to 65535"},
        {{"--port=65536"}, NULL, "--port takes an integer from 0 to 65535, not \"65536\""},
        {{"--port=-1"}, NULL, "--port takes"},
        {{"--port", " 1"}, NULL, "--port takes"},
        {{"--port=1x"}, NULL, "--port takes"},
        {{"--port="}, NULL, "--port takes"},
        {{"--port=0x10"}, NULL, "--port takes"},
        {{"--port=18446744073709551617"}, NULL, "--port takes"},
        {{"--workers=99999999999999999999"}, NULL, "--workers takes"},
        {{"--max-body-bytes=1TB"}, NULL, "1048576, 64KiB, 64MiB or 1GiB, not \"1TB\""},
        {{"--max-body-bytes=18446744073709551615GiB"}, NULL, "--max-body-bytes takes"},
        {{"--rate-limit=nan"}, NULL, "--rate-limit takes"},
        {{"--rate-limit=1e400"}, NULL, "--rate-limit takes"},
        {{"--rate-limit=0x1p3"}, NULL, "--rate-limit takes"},
        {{"--rate-limit=-1"}, NULL, "--rate-limit takes"},
        {{"--log-format=xml"}, NULL, "--log-format takes json, text or off, not \"xml\""},
        {{"--help=yes"}, NULL, "--help takes no value"},
        {{"--tls-cert=a.pem"}, NULL, "--tls-cert and --tls-key must be given together"},
        {{"--max-connections=0"}, NULL, "--max-connections takes an integer from 1"},
        {{"--queue-depth=0"}, NULL, "--queue-depth takes an integer from 1"},
        {{"--rate-burst=3"}, NULL, "--rate-burst has no meaning without --rate-limit"},
        {{"--host="}, NULL, "--host takes an address"},
        {{NULL}, "DIKKAT_PRT=1", "unknown environment variable DIKKAT_PRT; did you mean DIKKAT_PORT"},
        {{NULL}, "DIKKAT_PORT=abc", "DIKKAT_PORT takes an integer from 0 to 65535, not \"abc\""},
        {{NULL}, "DIKKAT_HELP=1", "unknown environment variable DIKKAT_HELP"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct srv_options o;
        bool fine = read_both(&o, ARGS(rows[i].arguments[0], rows[i].arguments[1]), ARGS(rows[i].variable));
        cr_assert(!fine, "row %zu was accepted", i);
        cr_assert(strstr(message, rows[i].says), "row %zu says: %s", i, message);
        cr_assert(!strchr(message, '\n'));
    }
}

Test(options, variables_of_kubernetes_and_docker_links_are_passed_over) {
    struct srv_options o;
    cr_assert(read_both(&o, NULL,
                        ARGS("DIKKAT_SERVICE_HOST=10.0.0.7", "DIKKAT_SERVICE_PORT=80", "DIKKAT_SERVICE_PORT_HTTP=80",
                             "DIKKAT_PORT=tcp://10.0.0.7:80", "DIKKAT_PORT_80_TCP=tcp://10.0.0.7:80",
                             "DIKKAT_PORT_80_TCP_PROTO=tcp")),
              "%s", message);
    cr_assert_eq(o.port, 8080);
}

/* What fn prints, malloc'd. */
static char *printed(const struct srv_options *options) {
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (options)
        srv_options_print(options, out);
    else
        srv_options_help(out);
    fclose(out);
    return text;
}

Test(options, help_names_every_option) {
    char *text = printed(NULL), name[64];
    for (size_t i = 0; srv_option_name(i); i++) {
        snprintf(name, sizeof name, "--%s ", srv_option_name(i));
        cr_assert(strstr(text, name), "%s is missing", name);
    }
    cr_assert(strstr(text, "(default 64MiB)"));
    free(text);
}

Test(options, config_is_json_with_value_source_and_variable) {
    struct srv_options o;
    cr_assert(read_both(&o, ARGS("--keys-file", "a\"b\\\n\xff"), ARGS("DIKKAT_MAX_MULTIPLY_ADDS=1e9")));
    char *text = printed(&o);
    json_error_t error = {0};
    json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    cr_assert(json, "%s in %s", error.text, text);
    for (size_t i = 0; srv_option_name(i); i++) {
        bool action = strcmp(srv_option_name(i), "help") == 0 || strcmp(srv_option_name(i), "version") == 0 ||
                      strcmp(srv_option_name(i), "print-config") == 0 || strcmp(srv_option_name(i), "healthcheck") == 0;
        cr_assert_eq(!json_object_get(json, srv_option_name(i)), action, "%s", srv_option_name(i));
    }
    const json_t *row = json_object_get(json, "keys-file");
    cr_assert_str_eq(json_string_value(json_object_get(row, "value")), "a\"b\\\n\xEF\xBF\xBD");
    cr_assert_str_eq(json_string_value(json_object_get(row, "source")), "command line");
    row = json_object_get(json, "max-multiply-adds");
    cr_assert_float_eq(json_number_value(json_object_get(row, "value")), 1e9, 0);
    cr_assert_str_eq(json_string_value(json_object_get(row, "source")), "environment");
    cr_assert_str_eq(json_string_value(json_object_get(row, "variable")), "DIKKAT_MAX_MULTIPLY_ADDS");
    row = json_object_get(json, "port");
    cr_assert_eq(json_integer_value(json_object_get(row, "value")), 8080);
    cr_assert_str_eq(json_string_value(json_object_get(row, "source")), "default");
    json_decref(json);
    free(text);
}
