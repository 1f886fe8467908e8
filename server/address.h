/* address.h - the peer of a connection, reduced to what limits are counted by. */
#ifndef SRV_ADDRESS_H
#define SRV_ADDRESS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

enum { SRV_ADDRESS_TEXT = 46 };

/* struct srv_address - 16 bytes in network order; IPv4 is kept as ::ffff:a.b.c.d. Other families are all zero. */
struct srv_address {
    uint8_t bytes[16];
};

/* srv_address_from - the address of a peer (NULL: zero). */
struct srv_address srv_address_from(const struct sockaddr *peer);

/* srv_address_group - the part that one customer holds: all of an IPv4 address, the /64 of an IPv6 one. Limits count
 * groups, since whoever has one IPv6 address has 2^64 of them. */
struct srv_address srv_address_group(const struct srv_address *address);

/* srv_address_text - for logs: "192.0.2.1", "2001:db8::1", "-" for zero. Returns out. */
const char *srv_address_text(const struct srv_address *address, char out[SRV_ADDRESS_TEXT]);

/* srv_hash - a hash of `size` bytes, keyed at random for each process, so that nobody can aim at one bucket.
 * Source    Aumasson and Bernstein 2012, SipHash (the 1-3 variant). */
uint64_t srv_hash(const void *data, size_t size);

#endif
