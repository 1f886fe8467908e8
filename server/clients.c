/* clients.c - chains of nodes. There is a node for each address with a connection, so `max` nodes always suffice. */
#include "server/clients.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { NONE = -1 };

struct node {
    struct srv_address address;
    size_t count;
    long next;
};

struct srv_clients {
    pthread_mutex_t lock;
    size_t max, max_per_address, count, mask;
    long unused; /* chain of nodes not in use */
    long *heads;
    struct node *nodes;
};

struct srv_clients *srv_clients_new(size_t max, size_t max_per_address) {
    size_t heads = 1;
    while (heads < max) {
        heads *= 2;
    }
    struct srv_clients *clients = calloc(1, sizeof *clients);
    if (!clients) {
        return NULL;
    }
    clients->heads = reallocarray(NULL, heads, sizeof *clients->heads);
    clients->nodes = reallocarray(NULL, max, sizeof *clients->nodes);
    if (!clients->heads || !clients->nodes) {
        free(clients->heads);
        free(clients->nodes);
        free(clients);
        return NULL;
    }
    for (size_t i = 0; i < heads; i++) {
        clients->heads[i] = NONE;
    }
    for (size_t i = 0; i < max; i++) {
        clients->nodes[i].next = i + 1 < max ? (long)i + 1 : NONE;
    }
    clients->mask = heads - 1;
    clients->max = max;
    clients->max_per_address = max_per_address;
    pthread_mutex_init(&clients->lock, NULL);
    return clients;
}

/* Where the index of the address's node is kept; it is NONE when it has no node. */
static long *find(struct srv_clients *clients, const struct srv_address *group) {
    long *at = &clients->heads[srv_hash(group, sizeof *group) & clients->mask];
    while (*at != NONE && memcmp(&clients->nodes[*at].address, group, sizeof *group) != 0) {
        at = &clients->nodes[*at].next;
    }
    return at;
}

enum srv_admission srv_clients_enter(struct srv_clients *clients, const struct srv_address *address) {
    struct srv_address group = srv_address_group(address);
    enum srv_admission answer = SRV_ADMITTED;
    pthread_mutex_lock(&clients->lock);
    long *at = find(clients, &group);
    if (clients->count == clients->max) {
        answer = SRV_TOO_MANY;
    } else if (*at == NONE) {
        long fresh = clients->unused;
        clients->unused = clients->nodes[fresh].next;
        clients->nodes[fresh] = (struct node){group, 1, NONE};
        *at = fresh;
    } else if (clients->max_per_address && clients->nodes[*at].count >= clients->max_per_address) {
        answer = SRV_TOO_MANY_OF_ADDRESS;
    } else {
        clients->nodes[*at].count++;
    }
    clients->count += answer == SRV_ADMITTED;
    pthread_mutex_unlock(&clients->lock);
    return answer;
}

void srv_clients_leave(struct srv_clients *clients, const struct srv_address *address) {
    struct srv_address group = srv_address_group(address);
    pthread_mutex_lock(&clients->lock);
    long *at = find(clients, &group), index = *at;
    if (index != NONE) { /* else our own mistake, which must not spoil the counts */
        clients->count--;
        if (--clients->nodes[index].count == 0) {
            *at = clients->nodes[index].next;
            clients->nodes[index].next = clients->unused;
            clients->unused = index;
        }
    }
    pthread_mutex_unlock(&clients->lock);
}

size_t srv_clients_count(struct srv_clients *clients) {
    pthread_mutex_lock(&clients->lock);
    size_t count = clients->count;
    pthread_mutex_unlock(&clients->lock);
    return count;
}

void srv_clients_free(struct srv_clients *clients) {
    if (clients) {
        pthread_mutex_destroy(&clients->lock);
        free(clients->heads);
        free(clients->nodes);
        free(clients);
    }
}
