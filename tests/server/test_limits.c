/* test_limits - addresses, connections for each of them, and rates. Time is an argument, so nothing here waits. */
#include "server/clients.h"
#include "server/ratelimit.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <pthread.h>
#include <string.h>

static const uint64_t second = 1000000000;

static struct srv_address address(const char *text) {
    if (strchr(text, ':')) {
        struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
        cr_assert_eq(inet_pton(AF_INET6, text, &in6.sin6_addr), 1);
        return srv_address_from((const struct sockaddr *)&in6);
    }
    struct sockaddr_in in = {.sin_family = AF_INET};
    cr_assert_eq(inet_pton(AF_INET, text, &in.sin_addr), 1);
    return srv_address_from((const struct sockaddr *)&in);
}

Test(address, text_and_group) {
    static const struct {
        const char *text, *shown, *group;
    } rows[] = {{"192.0.2.7", "192.0.2.7", "192.0.2.7"},
                {"::ffff:192.0.2.7", "192.0.2.7", "192.0.2.7"}, /* a dual-stack socket sees IPv4 so */
                {"2001:db8:1:2:3:4:5:6", "2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"},
                {"::1", "::1", "-"}};
    char out[SRV_ADDRESS_TEXT];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct srv_address a = address(rows[i].text), group = srv_address_group(&a);
        cr_assert_str_eq(srv_address_text(&a, out), rows[i].shown);
        cr_assert_str_eq(srv_address_text(&group, out), rows[i].group);
    }
    struct srv_address none = srv_address_from(NULL);
    cr_assert_str_eq(srv_address_text(&none, out), "-");
    struct sockaddr local = {.sa_family = AF_UNIX};
    none = srv_address_from(&local);
    cr_assert_str_eq(srv_address_text(&none, out), "-");
}

Test(address, hash_depends_on_every_byte_and_on_the_length) {
    uint8_t data[24] = {0};
    for (size_t n = 0; n < 24; n++)
        cr_assert_neq(srv_hash(data, n), srv_hash(data, n + 1));
    uint64_t zero = srv_hash(data, 24);
    for (size_t i = 0; i < 24; i++) {
        data[i] = 1;
        cr_assert_neq(srv_hash(data, 24), zero);
        data[i] = 0;
    }
    cr_assert_eq(srv_hash(data, 24), zero);
}

Test(clients, limits_altogether_and_for_each_address) {
    struct srv_clients *clients = srv_clients_new(5, 2);
    struct srv_address a = address("192.0.2.1"), b = address("2001:db8::1"), b2 = address("2001:db8::2"),
                       c = address("192.0.2.3"), d = address("192.0.2.4");
    cr_assert_eq(srv_clients_enter(clients, &a), SRV_ADMITTED);
    cr_assert_eq(srv_clients_enter(clients, &a), SRV_ADMITTED);
    cr_assert_eq(srv_clients_enter(clients, &a), SRV_TOO_MANY_OF_ADDRESS);
    cr_assert_eq(srv_clients_enter(clients, &b), SRV_ADMITTED);
    cr_assert_eq(srv_clients_enter(clients, &b2), SRV_ADMITTED);
    cr_assert_eq(srv_clients_enter(clients, &b), SRV_TOO_MANY_OF_ADDRESS, "one /64 is one client");
    cr_assert_eq(srv_clients_enter(clients, &c), SRV_ADMITTED);
    cr_assert_eq(srv_clients_enter(clients, &d), SRV_TOO_MANY);
    cr_assert_eq(srv_clients_count(clients), 5);
    srv_clients_leave(clients, &a);
    cr_assert_eq(srv_clients_enter(clients, &d), SRV_ADMITTED);
    srv_clients_leave(clients, &d);
    cr_assert_eq(srv_clients_enter(clients, &a), SRV_ADMITTED);
    struct srv_address stranger = address("198.51.100.1");
    srv_clients_leave(clients, &stranger);
    cr_assert_eq(srv_clients_count(clients), 5, "a stranger cannot leave");
    srv_clients_free(clients);
}

Test(clients, no_limit_for_each_address) {
    struct srv_clients *clients = srv_clients_new(100, 0);
    struct srv_address a = address("192.0.2.1");
    for (int i = 0; i < 100; i++)
        cr_assert_eq(srv_clients_enter(clients, &a), SRV_ADMITTED);
    cr_assert_eq(srv_clients_enter(clients, &a), SRV_TOO_MANY);
    srv_clients_free(clients);
}

/* Random comings and goings against plain counting; ends with nobody there. */
Test(clients, counts_agree_with_a_plain_count) {
    enum { ADDRESSES = 40, MAX = 64, EACH = 4, STEPS = 200000 };
    struct srv_clients *clients = srv_clients_new(MAX, EACH);
    int counts[ADDRESSES] = {0}, total = 0;
    unsigned random = 1;
    for (int step = 0; step < STEPS; step++) {
        random = random * 1664525u + 1013904223u;
        int who = (int)(random >> 8) % ADDRESSES;
        char text[32];
        snprintf(text, sizeof text, "10.0.%d.%d", who % 7, who);
        struct srv_address a = address(text);
        if (random >> 31 && counts[who] > 0) {
            srv_clients_leave(clients, &a);
            counts[who]--, total--;
        } else {
            enum srv_admission expected = total == MAX          ? SRV_TOO_MANY
                                          : counts[who] == EACH ? SRV_TOO_MANY_OF_ADDRESS
                                                                : SRV_ADMITTED;
            cr_assert_eq(srv_clients_enter(clients, &a), expected, "step %d", step);
            counts[who] += expected == SRV_ADMITTED, total += expected == SRV_ADMITTED;
        }
        cr_assert_eq(srv_clients_count(clients), (size_t)total);
    }
    srv_clients_free(clients);
}

static const uint8_t alice[SRV_IDENTITY_SIZE] = {1}, bob[SRV_IDENTITY_SIZE] = {2};

Test(ratelimit, burst_then_the_rate) {
    struct srv_ratelimit *limit = srv_ratelimit_new(2, 3, 100);
    uint64_t t = 1000 * second;
    for (int i = 0; i < 3; i++)
        cr_assert_eq(srv_ratelimit_take(limit, alice, t), 0);
    cr_assert_eq(srv_ratelimit_take(limit, alice, t), 1, "half a second, rounded up");
    cr_assert_eq(srv_ratelimit_take(limit, bob, t), 0, "others are not concerned");
    cr_assert_eq(srv_ratelimit_take(limit, alice, t + second / 2 - 1), 1);
    cr_assert_eq(srv_ratelimit_take(limit, alice, t + second / 2), 0);
    cr_assert_eq(srv_ratelimit_take(limit, alice, t + second / 2), 1);
    for (int i = 0; i < 3; i++)
        cr_assert_eq(srv_ratelimit_take(limit, alice, t + 100 * second), 0, "no more than the burst is saved up");
    cr_assert_eq(srv_ratelimit_take(limit, alice, t + 100 * second), 1);
    srv_ratelimit_free(limit);
}

Test(ratelimit, retry_after_is_enough_and_not_too_much) {
    struct srv_ratelimit *limit = srv_ratelimit_new(0.1, 1, 100);
    uint64_t t = 5;
    cr_assert_eq(srv_ratelimit_take(limit, alice, t), 0);
    cr_assert_eq(srv_ratelimit_take(limit, alice, t), 10);
    cr_assert_eq(srv_ratelimit_take(limit, alice, t + 9 * second), 1);
    cr_assert_eq(srv_ratelimit_take(limit, alice, t + 10 * second), 0);
    srv_ratelimit_free(limit);
}

Test(ratelimit, over_time_exactly_the_rate) {
    struct srv_ratelimit *limit = srv_ratelimit_new(50, 5, 100);
    int allowed = 0;
    for (uint64_t t = 0; t < 10 * second; t += second / 1000)
        allowed += srv_ratelimit_take(limit, alice, t) == 0;
    cr_assert(allowed >= 500 && allowed <= 506, "%d", allowed);
    srv_ratelimit_free(limit);
}

Test(ratelimit, a_clock_that_jumps_does_no_harm) {
    struct srv_ratelimit *limit = srv_ratelimit_new(1, 2, 100);
    cr_assert_eq(srv_ratelimit_take(limit, alice, 1000000 * second), 0);
    cr_assert_eq(srv_ratelimit_take(limit, alice, 5 * second), 1, "at worst as if all tokens were spent");
    cr_assert_eq(srv_ratelimit_take(limit, alice, 6 * second), 0);
    cr_assert_eq(srv_ratelimit_take(limit, alice, 2000000 * second), 0);
    cr_assert_eq(srv_ratelimit_take(limit, alice, 2000000 * second), 0);
    cr_assert_eq(srv_ratelimit_take(limit, alice, 2000000 * second), 1);
    srv_ratelimit_free(limit);
}

Test(ratelimit, extremes) {
    struct srv_ratelimit *fast = srv_ratelimit_new(1e9, 1e9, 8), *slow = srv_ratelimit_new(1e-9, 0, 8);
    for (uint64_t t = 0; t < 1000; t++)
        cr_assert_eq(srv_ratelimit_take(fast, alice, t), 0);
    cr_assert_eq(srv_ratelimit_take(slow, alice, 0), 0);
    cr_assert(srv_ratelimit_take(slow, alice, 3600 * second) > 86400);
    cr_assert_eq(srv_ratelimit_take(NULL, alice, 0), 0);
    srv_ratelimit_free(fast);
    srv_ratelimit_free(slow);
    srv_ratelimit_free(NULL);
}

/* A flood of strangers through a small table: the one who comes all the time is not forgotten for longer than it takes
 * eight strangers of the same set to push out a bucket that is fuller than theirs. */
Test(ratelimit, strangers_do_not_free_a_busy_client) {
    struct srv_ratelimit *limit = srv_ratelimit_new(1, 10, 64);
    int allowed = 0;
    for (uint32_t i = 0; i < 100000; i++) {
        uint8_t stranger[SRV_IDENTITY_SIZE] = {3};
        memcpy(stranger + 4, &i, sizeof i);
        cr_assert_eq(srv_ratelimit_take(limit, stranger, second), 0);
        allowed += srv_ratelimit_take(limit, alice, second) == 0;
    }
    cr_assert_eq(allowed, 10, "%d", allowed);
    srv_ratelimit_free(limit);
}

static void *count_taken(void *limit) {
    intptr_t allowed = 0;
    for (int i = 0; i < 200000; i++)
        allowed += srv_ratelimit_take(limit, alice, second) == 0;
    return (void *)allowed;
}

Test(ratelimit, threads_share_one_bucket) {
    struct srv_ratelimit *limit = srv_ratelimit_new(1, 700000, 64);
    pthread_t threads[4];
    intptr_t total = 0;
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, count_taken, limit);
    for (int i = 0; i < 4; i++) {
        void *allowed;
        pthread_join(threads[i], &allowed);
        total += (intptr_t)allowed;
    }
    cr_assert_eq(total, 700000);
    srv_ratelimit_free(limit);
}
