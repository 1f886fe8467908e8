/* ratelimit.h - so many requests a second for each key or address, in bounded memory.
 *
 * A token bucket in the form that needs one time per client: the moment at which the bucket would be full again
 * (the generic cell rate algorithm of ATM Forum TM 4.1, virtual scheduling). The table never grows: when it has no room
 * the client that has been quiet the longest is forgotten, and starts with a full bucket when it comes back.
 */
#ifndef SRV_RATELIMIT_H
#define SRV_RATELIMIT_H

#include "server/keys.h"

struct srv_ratelimit;

/* srv_ratelimit_new - `per_second` > 0 on average; `burst` >= 1 at once (0: the larger of 1 and per_second); `clients`
 * that are remembered (rounded up to a power of two). Returns NULL out of memory. */
struct srv_ratelimit *srv_ratelimit_new(double per_second, double burst, size_t clients);

/* srv_ratelimit_take - may `who` (srv_key.identity, or the bytes of an srv_address_group) be served at now_ns
 * (CLOCK_MONOTONIC; a value that runs backwards does no harm)?
 * Returns 0 for yes, else the seconds to wait, rounded up, for Retry-After. NULL allows everything. Threads: any. */
unsigned srv_ratelimit_take(struct srv_ratelimit *limit, const uint8_t who[SRV_IDENTITY_SIZE], uint64_t now_ns);

void srv_ratelimit_free(struct srv_ratelimit *limit);

#endif
