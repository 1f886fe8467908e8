/* address.c - see address.h. */
#include "server/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

static const uint8_t mapped[12] = {[10] = 0xFF, [11] = 0xFF};

struct srv_address srv_address_from(const struct sockaddr *peer) {
    struct srv_address address = {{0}};
    if (peer && peer->sa_family == AF_INET) {
        struct sockaddr_in in;
        memcpy(&in, peer, sizeof in);
        memcpy(address.bytes, mapped, sizeof mapped);
        memcpy(address.bytes + sizeof mapped, &in.sin_addr, 4);
    } else if (peer && peer->sa_family == AF_INET6) {
        struct sockaddr_in6 in6;
        memcpy(&in6, peer, sizeof in6);
        memcpy(address.bytes, &in6.sin6_addr, 16);
    }
    return address;
}

static bool is_ipv4(const struct srv_address *address) {
    return memcmp(address->bytes, mapped, sizeof mapped) == 0;
}

struct srv_address srv_address_group(const struct srv_address *address) {
    struct srv_address group = *address;
    if (!is_ipv4(address)) {
        memset(group.bytes + 8, 0, 8);
    }
    return group;
}

const char *srv_address_text(const struct srv_address *address, char out[SRV_ADDRESS_TEXT]) {
    static const struct srv_address zero;
    if (memcmp(address, &zero, sizeof zero) == 0) {
        return memcpy(out, "-", 2);
    }
    bool v4 = is_ipv4(address);
    const void *bytes = v4 ? address->bytes + sizeof mapped : address->bytes;
    return inet_ntop(v4 ? AF_INET : AF_INET6, bytes, out, SRV_ADDRESS_TEXT) ? out : memcpy(out, "-", 2);
}

/* --- SipHash-1-3 ------------------------------------------------------------------------------------------------- */

static uint64_t secret[2];

static void choose_secret(void) {
    if (getrandom(secret, sizeof secret, GRND_NONBLOCK) != (ssize_t)sizeof secret) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        secret[0] = (uint64_t)now.tv_nsec * 0x9E3779B97F4A7C15u, secret[1] = ~secret[0] * 0xBF58476D1CE4E5B9u;
    }
}

static uint64_t left(uint64_t x, unsigned n) {
    return x << n | x >> (64 - n);
}

static void sip_round(uint64_t v[4]) {
    v[0] += v[1], v[1] = left(v[1], 13) ^ v[0], v[0] = left(v[0], 32);
    v[2] += v[3], v[3] = left(v[3], 16) ^ v[2];
    v[0] += v[3], v[3] = left(v[3], 21) ^ v[0];
    v[2] += v[1], v[1] = left(v[1], 17) ^ v[2], v[2] = left(v[2], 32);
}

uint64_t srv_hash(const void *data, size_t size) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, choose_secret);
    uint64_t v[4] = {secret[0] ^ 0x736f6d6570736575, secret[1] ^ 0x646f72616e646f6d, secret[0] ^ 0x6c7967656e657261,
                     secret[1] ^ 0x7465646279746573};
    const uint8_t *at = data;
    size_t rest = size;
    for (bool more = true; more;) {
        size_t n = rest < 8 ? rest : 8;
        uint64_t word = 0;
        for (size_t i = 0; i < n; i++) {
            word |= (uint64_t)at[i] << 8 * i;
        }
        more = n == 8;
        if (!more) {
            word |= (uint64_t)size << 56;
        }
        v[3] ^= word;
        sip_round(v);
        v[0] ^= word;
        at += n;
        rest -= n;
    }
    v[2] ^= 0xFF;
    for (int i = 0; i < 3; i++) {
        sip_round(v);
    }
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}
