/* keys.h - who may come in: bearer keys from a file.
 *
 * The file holds one key a line, optionally followed by white space and a name for the logs; empty lines and lines that
 * begin with # are passed over. A key has 16 to 256 characters of those RFC 6750 allows (letters, digits, - . _ ~ + /
 * =).
 *
 * Keys are kept as SHA-256 digests; a candidate is compared with all of them in constant time.
 */
#ifndef SRV_KEYS_H
#define SRV_KEYS_H

#include "server/options.h"

#include <stdbool.h>
#include <stdint.h>

enum { SRV_KEY_NAME_MAX = 64, SRV_IDENTITY_SIZE = 16 };

struct srv_keys;

/* struct srv_key - the key that matched: its name, and what to count its requests under (srv_ratelimit_take). */
struct srv_key {
    char name[SRV_KEY_NAME_MAX];
    uint8_t identity[SRV_IDENTITY_SIZE];
};

/* srv_keys_open - reads the file. Returns NULL, with a sentence in `message`, when it cannot be read, holds a malformed
 * or repeated key, or holds none. A message names the line but never a key. */
struct srv_keys *srv_keys_open(const char *path, char message[SRV_MESSAGE_MAX]);

/* srv_keys_reload - reads the file again. On failure the keys in force stay, with a sentence in `message`.
 * Threads   safe beside srv_keys_match. */
bool srv_keys_reload(struct srv_keys *keys, char message[SRV_MESSAGE_MAX]);

/* srv_keys_match - does the value of an Authorization header (NULL: none was sent) hold one of the keys?
 * `key` is filled when it does; may be NULL. Threads: any. */
bool srv_keys_match(struct srv_keys *keys, const char *authorization, struct srv_key *key);

/* srv_keys_count - number of keys in force. */
size_t srv_keys_count(struct srv_keys *keys);

void srv_keys_free(struct srv_keys *keys);

#endif
