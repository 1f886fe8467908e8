/* test_sha256 - the examples of FIPS 180-4, and every length around the block boundaries against a second way. */
#include "server/sha256.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static const char *hex(const void *data, size_t size) {
    static char text[2 * SRV_SHA256_SIZE + 1];
    uint8_t digest[SRV_SHA256_SIZE];
    srv_sha256(data, size, digest);
    for (int i = 0; i < SRV_SHA256_SIZE; i++)
        sprintf(text + 2 * i, "%02x", digest[i]);
    return text;
}

Test(sha256, examples_of_the_standard) {
    cr_assert_str_eq(hex(NULL, 0), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    cr_assert_str_eq(hex("abc", 3), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    cr_assert_str_eq(hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56),
                     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    static char many[1000000];
    memset(many, 'a', sizeof many);
    cr_assert_str_eq(hex(many, sizeof many), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/* coreutils' sha256sum of 'x' repeated n times */
Test(sha256, lengths_around_a_block) {
    char text[200];
    memset(text, 'x', sizeof text);
    for (size_t n = 50; n < 135; n++) {
        char command[300], expected[65] = "";
        snprintf(command, sizeof command, "printf '%%s' '%.*s' | sha256sum", (int)n, text);
        FILE *sum = popen(command, "r");
        cr_assert(sum && fgets(expected, sizeof expected, sum));
        pclose(sum);
        cr_assert_str_eq(hex(text, n), expected, "length %zu", n);
    }
}
