/* ratelimit.c - a table of sets of eight; a client lives in the set its hash names. */
#include "server/ratelimit.h"

#include "server/address.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { WAYS = 8, LOCKS = 64 };

/* struct bucket - `full_at` is the time at which all tokens will be back; 0 in a bucket never used. */
struct bucket {
    uint8_t who[SRV_IDENTITY_SIZE];
    uint64_t full_at;
};

struct srv_ratelimit {
    uint64_t interval_ns, burst_ns; /* one token; all tokens */
    size_t sets;
    pthread_mutex_t locks[LOCKS];
    struct bucket buckets[];
};

struct srv_ratelimit *srv_ratelimit_new(double per_second, double burst, size_t clients) {
    size_t sets = 1;
    while (sets * WAYS < clients) {
        sets *= 2;
    }
    struct srv_ratelimit *limit = calloc(1, sizeof *limit + sets * WAYS * sizeof(struct bucket));
    if (!limit) {
        return NULL;
    }
    if (burst < 1) {
        burst = per_second > 1 ? per_second : 1;
    }
    /* A year between two requests is slow enough, and keeps the sums below far from 2^64. */
    limit->interval_ns = (uint64_t)fmin(fmax(1e9 / per_second, 1), 3e16);
    limit->burst_ns = (uint64_t)fmin(burst * (double)limit->interval_ns, 3e16);
    limit->sets = sets;
    for (size_t i = 0; i < LOCKS; i++) {
        pthread_mutex_init(&limit->locks[i], NULL);
    }
    return limit;
}

/* The client's bucket in its set, or the one that would be full the soonest: the least is forgotten with it. */
static struct bucket *find(struct bucket *set, const uint8_t who[SRV_IDENTITY_SIZE]) {
    struct bucket *oldest = set;
    for (struct bucket *b = set; b < set + WAYS; b++) {
        if (memcmp(b->who, who, SRV_IDENTITY_SIZE) == 0) {
            return b;
        }
        oldest = b->full_at < oldest->full_at ? b : oldest;
    }
    memcpy(oldest->who, who, SRV_IDENTITY_SIZE);
    oldest->full_at = 0;
    return oldest;
}

unsigned srv_ratelimit_take(struct srv_ratelimit *limit, const uint8_t who[SRV_IDENTITY_SIZE], uint64_t now_ns) {
    if (!limit) {
        return 0;
    }
    uint64_t hash = srv_hash(who, SRV_IDENTITY_SIZE);
    size_t set = hash & (limit->sets - 1);
    pthread_mutex_t *lock = &limit->locks[set % LOCKS];
    uint64_t wait_ns = 0;
    pthread_mutex_lock(lock);
    struct bucket *bucket = find(&limit->buckets[set * WAYS], who);
    uint64_t full_at = bucket->full_at > now_ns ? bucket->full_at : now_ns;
    if (full_at - now_ns > limit->burst_ns) {
        full_at = now_ns + limit->burst_ns; /* time ran backwards: an empty bucket at worst */
    }
    if (full_at + limit->interval_ns > now_ns + limit->burst_ns) {
        wait_ns = full_at + limit->interval_ns - now_ns - limit->burst_ns;
    } else {
        full_at += limit->interval_ns;
    }
    bucket->full_at = full_at;
    pthread_mutex_unlock(lock);
    return wait_ns ? (unsigned)((wait_ns - 1) / 1000000000 + 1) : 0;
}

void srv_ratelimit_free(struct srv_ratelimit *limit) {
    for (size_t i = 0; limit && i < LOCKS; i++) {
        pthread_mutex_destroy(&limit->locks[i]);
    }
    free(limit);
}
