/* clients.h - how many connections are open, altogether and for each address. Memory is bounded by the limit itself. */
#ifndef SRV_CLIENTS_H
#define SRV_CLIENTS_H

#include "server/address.h"

#include <stdbool.h>

struct srv_clients;

enum srv_admission { SRV_ADMITTED, SRV_TOO_MANY, SRV_TOO_MANY_OF_ADDRESS };

/* srv_clients_new - at most `max` connections (>= 1), `max_per_address` of one address group (0: no limit).
 * Returns NULL out of memory. */
struct srv_clients *srv_clients_new(size_t max, size_t max_per_address);

/* srv_clients_enter - counts a connection in. Only after SRV_ADMITTED must it be counted out again with the same
 * address. Threads: any. */
enum srv_admission srv_clients_enter(struct srv_clients *clients, const struct srv_address *address);
void srv_clients_leave(struct srv_clients *clients, const struct srv_address *address);

/* srv_clients_count - connections open now. */
size_t srv_clients_count(struct srv_clients *clients);

void srv_clients_free(struct srv_clients *clients);

#endif
