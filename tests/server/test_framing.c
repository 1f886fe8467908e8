/* test_framing - the forms of request smuggling, by table: whatever two servers could read in two ways is refused. */
#include "server/framing.h"

#include "api/problem.h"

#include <criterion/criterion.h>
#include <string.h>

enum { LINES = 5 };

/* struct row - header lines "Name: value"; "Host: h" is put in front unless the first begins with '!'. */
struct row {
    const char *lines[LINES];
    enum srv_framing_fault expected;
};

static struct srv_framing framing;

static enum srv_framing_fault check(const char *version, const struct row *row) {
    struct srv_field fields[LINES + 1] = {{"Host", "h", 4, 1}};
    bool alone = row->lines[0] && row->lines[0][0] == '!';
    size_t n = !alone;
    for (size_t i = 0; i < LINES && row->lines[i]; i++) {
        const char *line = row->lines[i] + (i == 0 && alone);
        if (!*line)
            continue;
        const char *colon = strchr(line, ':');
        fields[n++] = (struct srv_field){line, colon + 1, (size_t)(colon - line), strlen(colon + 1)};
    }
    return srv_framing_check(version, fields, n, &framing);
}

static void check_all(const char *version, const struct row *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        enum srv_framing_fault found = check(version, &rows[i]);
        cr_assert_eq(found, rows[i].expected, "row %zu (%s): %d, %s", i, rows[i].lines[0], found, framing.detail);
        cr_assert_eq(!framing.detail, found == SRV_FRAMING_OK);
    }
}

#define ROWS(rows) rows, sizeof rows / sizeof *rows

Test(framing, lengths_and_codings) {
    static const struct row rows[] = {
        {{"Content-Length: 0"}, SRV_FRAMING_OK},
        {{"content-LENGTH:\t 12 "}, SRV_FRAMING_OK},
        {{"Content-Length: 18446744073709551609"}, SRV_FRAMING_OK},
        {{"Content-Length: 18446744073709551616"}, SRV_FRAMING_BAD},
        {{"Content-Length: 99999999999999999999999"}, SRV_FRAMING_BAD},
        {{"Content-Length:"}, SRV_FRAMING_BAD},
        {{"Content-Length: +5"}, SRV_FRAMING_BAD},
        {{"Content-Length: -5"}, SRV_FRAMING_BAD},
        {{"Content-Length: 0x5"}, SRV_FRAMING_BAD},
        {{"Content-Length: 5 5"}, SRV_FRAMING_BAD},
        {{"Content-Length: 5, 5"}, SRV_FRAMING_BAD},
        {{"Content-Length: 5,6"}, SRV_FRAMING_BAD},
        {{"Content-Length: 5", "Content-Length: 5"}, SRV_FRAMING_BAD},
        {{"Content-Length: 5", "content-length: 6"}, SRV_FRAMING_BAD},
        {{"Content-Length: 5", "Transfer-Encoding: chunked"}, SRV_FRAMING_BAD},
        {{"Transfer-Encoding: chunked", "Content-Length: 5"}, SRV_FRAMING_BAD},
        {{"Transfer-Encoding: gzip", "Content-Length: 5"}, SRV_FRAMING_BAD},
        {{"Transfer-Encoding: chunked"}, SRV_FRAMING_OK},
        {{"Transfer-Encoding: , CHUNKED"}, SRV_FRAMING_OK},
        {{"Transfer-Encoding: chunked, chunked"}, SRV_FRAMING_BAD},
        {{"Transfer-Encoding: chunked, gzip"}, SRV_FRAMING_BAD},
        {{"Transfer-Encoding: chunked", "Transfer-Encoding: chunked"}, SRV_FRAMING_BAD},
        {{"Transfer-Encoding: chunked", "Transfer-Encoding: identity"}, SRV_FRAMING_BAD},
        {{"Transfer-Encoding:"}, SRV_FRAMING_BAD},
        {{"Transfer-Encoding: ,"}, SRV_FRAMING_BAD},
        {{"Transfer-Encoding: gzip, chunked"}, SRV_FRAMING_UNKNOWN_CODING},
        {{"Transfer-Encoding: gzip"}, SRV_FRAMING_UNKNOWN_CODING},
        {{"Transfer-Encoding: identity"}, SRV_FRAMING_UNKNOWN_CODING},
        {{"Transfer-Encoding: xchunked"}, SRV_FRAMING_UNKNOWN_CODING},
        {{"Transfer-Encoding: \"chunked\""}, SRV_FRAMING_UNKNOWN_CODING},
        {{"Transfer-Encoding: chunked;q=1"}, SRV_FRAMING_UNKNOWN_CODING},
        {{"Transfer-Encoding: \vchunked"}, SRV_FRAMING_BAD},
        {{"Transfer-Encoding : chunked", "Content-Length: 5"}, SRV_FRAMING_BAD},
        {{"Content-Length : 5"}, SRV_FRAMING_BAD},
        {{" Content-Length: 5"}, SRV_FRAMING_BAD},
        {{"Content-Length: 5", "X: a\rb"}, SRV_FRAMING_BAD},
        {{"Content-Length: 5", "X: a\nTransfer-Encoding: chunked"}, SRV_FRAMING_BAD},
        {{"Content-Length: 5", "X: \x7f"}, SRV_FRAMING_BAD},
        {{"Content-Length: 5", "X\x80: a"}, SRV_FRAMING_BAD},
        {{"Content-Length: 5", ": a"}, SRV_FRAMING_BAD},
        {{"Content-Length: 5", "X(y): a"}, SRV_FRAMING_BAD},
        {{"Content-Length: 5", "X-Y_z: caf\xe9\t ok"}, SRV_FRAMING_OK},
        {{NULL}, SRV_FRAMING_OK},
        {{"X: a"}, SRV_FRAMING_OK},
    };
    check_all("HTTP/1.1", ROWS(rows));
    struct srv_field nul[] = {{"Host", "h", 4, 1},
                              {"Content-Length",
                               "5\0"
                               "6",
                               14, 3}};
    cr_assert_eq(srv_framing_check("HTTP/1.1", nul, 2, &framing), SRV_FRAMING_BAD);
}

Test(framing, what_the_headers_say_is_reported) {
    check("HTTP/1.1", &(struct row){{"Content-Length: 1234", "Expect: 100-Continue"}, 0});
    cr_assert(framing.has_length && framing.length == 1234 && framing.expect_continue && !framing.chunked);
    check("HTTP/1.1", &(struct row){{"Transfer-Encoding: Chunked"}, 0});
    cr_assert(!framing.has_length && framing.chunked && !framing.expect_continue);
    check("HTTP/1.1", &(struct row){{NULL}, 0});
    cr_assert(!framing.has_length && !framing.chunked);
}

Test(framing, hosts) {
    static const struct row rows[] = {
        {{NULL}, SRV_FRAMING_OK},          {{"!"}, SRV_FRAMING_BAD},
        {{"!Host:"}, SRV_FRAMING_OK},      {{"!Host: a.example:8080"}, SRV_FRAMING_OK},
        {{"Host: h"}, SRV_FRAMING_BAD},    {{"hOST: evil"}, SRV_FRAMING_BAD},
        {{"!Host: a/b"}, SRV_FRAMING_BAD}, {{"!Host: a b"}, SRV_FRAMING_BAD},
        {{"!Host: u@a"}, SRV_FRAMING_BAD},
    };
    check_all("HTTP/1.1", ROWS(rows));
    static const struct {
        const char *host;
        bool valid;
    } hosts[] = {{"", true},        {"a", true},        {"a.b-c_d~e", true}, {"127.0.0.1:1", true},
                 {"[::1]", true},   {"[::1]:80", true}, {"a:", true},        {"[2001:db8::1]:65535", true},
                 {"%41", true},     {"a:65536", false}, {"a:99999", false},  {"a:100000", false},
                 {":80", false},    {"[::1", false},    {"[::1]x", false},   {"[]", false},
                 {"[g::1]", false}, {"a:b", false},     {"a:8:0", false},    {"a?b", false},
                 {"a#b", false},    {"\"a\"", false},   {"\xc3\xa4", false}, {"a\\b", false},
                 {"[::1]:", true},  {"[::1]:x", false}, {"[", false},        {"]", false},
                 {"::1", false}};
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++)
        cr_assert_eq(srv_host_valid(hosts[i].host, strlen(hosts[i].host)), hosts[i].valid, "%s", hosts[i].host);
    cr_assert(!srv_host_valid("a\0b", 3));
}

Test(framing, expectations) {
    static const struct row rows[] = {
        {{"Content-Length: 1", "Expect: 100-continue"}, SRV_FRAMING_OK},
        {{"Content-Length: 1", "Expect: 100-continue, 100-continue"}, SRV_FRAMING_OK},
        {{"Content-Length: 1", "Expect:"}, SRV_FRAMING_OK},
        {{"Content-Length: 1", "Expect: 200-ok"}, SRV_FRAMING_EXPECTATION},
        {{"Content-Length: 1", "Expect: 100-continue, x=y"}, SRV_FRAMING_EXPECTATION},
        {{"Expect: x"}, SRV_FRAMING_EXPECTATION},
        {{"Expect: x", "Content-Length: 1", "Content-Length: 1"},
         SRV_FRAMING_BAD}, /* doubt about the end comes first */
        {{"Expect: x", "Content-Length: 1", "Transfer-Encoding: chunked"}, SRV_FRAMING_BAD},
    };
    check_all("HTTP/1.1", ROWS(rows));
}

Test(framing, versions) {
    static const struct row old[] = {
        {{"!"}, SRV_FRAMING_OK},
        {{"!Content-Length: 5"}, SRV_FRAMING_OK},
        {{"Host: a"}, SRV_FRAMING_BAD},
        {{"!Transfer-Encoding: chunked"}, SRV_FRAMING_BAD},
        {{"Content-Length: 5", "Expect: x"}, SRV_FRAMING_OK},
    };
    check_all("HTTP/1.0", ROWS(old));
    const struct row plain = {{NULL}, SRV_FRAMING_OK};
    const char *versions[] = {"HTTP/2.0", "HTTP/1.", "HTTP/1.11", "HTTP/0.9", "http/1.1", "", "HTTP/1.x"};
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
        cr_assert_eq(check(versions[i], &plain), SRV_FRAMING_VERSION, "%s", versions[i]);
    cr_assert_eq(check("HTTP/1.2", &plain), SRV_FRAMING_OK);
}

Test(framing, every_fault_has_a_problem_of_its_status) {
    for (enum srv_framing_fault f = SRV_FRAMING_BAD; f <= SRV_FRAMING_VERSION; f++) {
        const struct api_problem_type *type = api_problem_find(srv_framing_code(f));
        cr_assert(type, "%s", srv_framing_code(f));
        cr_assert_eq(type->status, srv_framing_status(f));
    }
}
