/* test_keys - which files and headers are accepted, and that a bad file never replaces a good one. */
#include "server/keys.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ALICE "alice-0123456789-0123456789"
#define BOB "bob.secret~0123456789+/=="

static char message[SRV_MESSAGE_MAX];
static char path[64];

static void write_file(const char *text) {
    FILE *file = fopen(path, "w");
    cr_assert(file);
    fputs(text, file);
    fclose(file);
}

static void make_path(void) {
    strcpy(path, "/tmp/dikkat-keys-XXXXXX");
    int fd = mkstemp(path);
    cr_assert(fd >= 0);
    close(fd);
}

static void remove_path(void) {
    unlink(path);
}

TestSuite(keys, .init = make_path, .fini = remove_path);

Test(keys, names_comments_blank_lines_and_crlf) {
    write_file("# keys\n\n  " ALICE "  Alice in the course \r\n\t# none\r\n" BOB);
    struct srv_keys *keys = srv_keys_open(path, message);
    cr_assert(keys, "%s", message);
    cr_assert_eq(srv_keys_count(keys), 2);
    struct srv_key alice, bob;
    cr_assert(srv_keys_match(keys, "Bearer " ALICE, &alice));
    cr_assert_str_eq(alice.name, "Alice in the course");
    cr_assert(srv_keys_match(keys, "bearer   " BOB " ", &bob));
    cr_assert_str_eq(bob.name, "key-2");
    cr_assert(memcmp(alice.identity, bob.identity, SRV_IDENTITY_SIZE) != 0);
    cr_assert(srv_keys_match(keys, "BEARER " BOB, NULL));
    srv_keys_free(keys);
}

Test(keys, headers_that_let_nobody_in) {
    write_file(ALICE "\n" BOB "\n");
    struct srv_keys *keys = srv_keys_open(path, message);
    char loud[9000] = "Bearer ";
    memset(loud + 7, 'a', sizeof loud - 8);
    const char *headers[] = {NULL,
                             "",
                             "Bearer",
                             "Bearer ",
                             ALICE,
                             "Basic " ALICE,
                             loud,
                             "Bearer " ALICE "x",
                             "Bearer " ALICE " x",
                             "Bearer\t" ALICE,
                             "Bearer alice-0123456789-012345678",
                             "Bearer Alice-0123456789-0123456789",
                             "Bearer " ALICE "," BOB,
                             "Bearer #"};
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        cr_assert(!srv_keys_match(keys, headers[i], NULL), "%s", headers[i]);
    srv_keys_free(keys);
}

Test(keys, bad_files_are_refused_without_showing_a_key) {
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"", "holds no key"},
        {"# only a comment\n", "holds no key"},
        {ALICE "\nshort\n", "line 2: a key has 16 to 256 characters"},
        {"secret-word-with-\xc3\xa4-in-it\n", "line 1: a key consists of"},
        {"secret-word-with-\"quotes\"\n", "line 1: a key consists of"},
        {ALICE "\n" BOB "\n" ALICE " again\n", "line 3: this key stands there twice"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        write_file(rows[i].text);
        cr_assert_null(srv_keys_open(path, message), "row %zu", i);
        cr_assert(strstr(message, rows[i].says), "row %zu: %s", i, message);
        cr_assert(!strstr(message, "secret-word") && !strstr(message, "alice"), "%s", message);
    }
    char loud[600];
    memset(loud, 'a', sizeof loud - 1);
    loud[sizeof loud - 1] = 0;
    write_file(loud);
    cr_assert_null(srv_keys_open(path, message));
    cr_assert(strstr(message, "line 1: the line is too long"), "%s", message);
    cr_assert_null(srv_keys_open("/nonexistent/keys", message));
    cr_assert(strstr(message, "No such file"), "%s", message);
    cr_assert_null(srv_keys_open("/tmp", message));
    cr_assert(strstr(message, "Is a directory"), "%s", message);
}

Test(keys, a_reload_replaces_all_or_nothing) {
    write_file(ALICE "\n");
    struct srv_keys *keys = srv_keys_open(path, message);
    write_file(BOB "\nbad\n");
    cr_assert(!srv_keys_reload(keys, message));
    cr_assert(strstr(message, "line 2"), "%s", message);
    cr_assert(srv_keys_match(keys, "Bearer " ALICE, NULL));
    cr_assert(!srv_keys_match(keys, "Bearer " BOB, NULL));
    unlink(path);
    cr_assert(!srv_keys_reload(keys, message));
    cr_assert(srv_keys_match(keys, "Bearer " ALICE, NULL));
    cr_assert_eq(mkfifo(path, 0600), 0);
    cr_assert(!srv_keys_reload(keys, message)); /* and does not wait for a writer */
    cr_assert(srv_keys_match(keys, "Bearer " ALICE, NULL));
    unlink(path);
    write_file(BOB "\n");
    cr_assert(srv_keys_reload(keys, message), "%s", message);
    cr_assert(!srv_keys_match(keys, "Bearer " ALICE, NULL));
    cr_assert(srv_keys_match(keys, "Bearer " BOB, NULL));
    srv_keys_free(keys);
}

static atomic_bool stop;

static void *match_on(void *keys) {
    while (!atomic_load(&stop))
        cr_assert(srv_keys_match(keys, "Bearer " ALICE, NULL));
    return NULL;
}

Test(keys, reloads_beside_requests) {
    write_file(ALICE "\n");
    struct srv_keys *keys = srv_keys_open(path, message);
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, match_on, keys);
    for (int i = 0; i < 100; i++)
        cr_assert(srv_keys_reload(keys, message));
    atomic_store(&stop, true);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    srv_keys_free(keys);
}
