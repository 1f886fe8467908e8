/* keys.c - a set of digests that is replaced as a whole. */
#include "server/keys.h"

#include "server/sha256.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KEY_LEAST = 16, KEY_MOST = 256, KEYS_MOST = 10000 };

/* What RFC 6750 lets a bearer token consist of. */
static const char token_letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/=";
static const char blank[] = " \t\r\n";

struct entry {
    uint8_t digest[SRV_SHA256_SIZE];
    char name[SRV_KEY_NAME_MAX];
};

struct set {
    struct entry *entries;
    size_t count, capacity;
};

struct srv_keys {
    char *path;
    pthread_rwlock_t lock; /* held for the length of a comparison, or of exchanging the set */
    struct set set;
};

/* --- reading the file -------------------------------------------------------------------------------------------- */

static bool set_add(struct set *set, const char *key, size_t size, const char *name) {
    if (set->count == set->capacity) {
        size_t capacity = set->capacity ? 2 * set->capacity : 16;
        struct entry *grown = reallocarray(set->entries, capacity, sizeof *grown);
        if (!grown) {
            return false;
        }
        set->entries = grown;
        set->capacity = capacity;
    }
    struct entry *entry = &set->entries[set->count++];
    srv_sha256(key, size, entry->digest);
    if (*name) {
        snprintf(entry->name, sizeof entry->name, "%s", name);
    } else {
        snprintf(entry->name, sizeof entry->name, "key-%zu", set->count);
    }
    return true;
}

static bool set_has(const struct set *set, const uint8_t digest[SRV_SHA256_SIZE]) {
    for (size_t i = 0; i < set->count; i++) {
        if (memcmp(set->entries[i].digest, digest, SRV_SHA256_SIZE) == 0) {
            return true;
        }
    }
    return false;
}

/* Adds the key of one line, if there is one. Returns NULL or what is wrong. */
static const char *read_line(struct set *set, char *line) {
    char *key = line + strspn(line, blank);
    if (!*key || *key == '#') {
        return NULL;
    }
    size_t size = strcspn(key, blank);
    if (size < KEY_LEAST || size > KEY_MOST) {
        return "a key has 16 to 256 characters";
    }
    if (strspn(key, token_letters) < size) {
        return "a key consists of letters, digits and - . _ ~ + / =";
    }
    char *name = key + size + strspn(key + size, blank);
    size_t end = strlen(name);
    while (end > 0 && strchr(blank, name[end - 1])) {
        name[--end] = 0;
    }
    uint8_t digest[SRV_SHA256_SIZE];
    srv_sha256(key, size, digest);
    if (set_has(set, digest)) {
        return "this key stands there twice";
    }
    if (set->count == KEYS_MOST) {
        return "there are more than 10000 keys";
    }
    return set_add(set, key, size, name) ? NULL : "out of memory";
}

static bool read_lines(struct set *set, FILE *file, const char *path, char message[SRV_MESSAGE_MAX]) {
    char line[512];
    bool fine = true;
    for (unsigned number = 1; fine && fgets(line, sizeof line, file); number++) {
        bool whole = strchr(line, '\n') || feof(file);
        const char *wrong = whole ? read_line(set, line) : "the line is too long, or holds a NUL";
        if (wrong) {
            snprintf(message, SRV_MESSAGE_MAX, "keys file %.300s, line %u: %s", path, number, wrong);
            fine = false;
        }
    }
    explicit_bzero(line, sizeof line);
    if (fine && ferror(file)) {
        snprintf(message, SRV_MESSAGE_MAX, "cannot read the keys file %.300s: %s", path, strerror(errno));
        return false;
    }
    if (fine && set->count == 0) {
        snprintf(message, SRV_MESSAGE_MAX, "the keys file %.300s holds no key", path);
        return false;
    }
    return fine;
}

/* `now`: nobody may have to wait for it, as the reader of a pipe has to. */
static FILE *open_file(const char *path, bool now, char message[SRV_MESSAGE_MAX]) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | (now ? O_NONBLOCK : 0));
    struct stat status;
    FILE *file = NULL;
    if (fd >= 0 && now && fstat(fd, &status) == 0 && !S_ISREG(status.st_mode)) {
        snprintf(message, SRV_MESSAGE_MAX, "the keys file %.300s is no file that can be read again", path);
    } else if (fd < 0 || !(file = fdopen(fd, "r"))) {
        snprintf(message, SRV_MESSAGE_MAX, "cannot open the keys file %.300s: %s", path, strerror(errno));
    }
    if (fd >= 0 && !file) {
        close(fd);
    }
    return file;
}

static bool set_read(struct set *set, const char *path, bool now, char message[SRV_MESSAGE_MAX]) {
    *set = (struct set){0};
    FILE *file = open_file(path, now, message);
    if (!file) {
        return false;
    }
    bool fine = read_lines(set, file, path, message);
    fclose(file);
    if (!fine) {
        free(set->entries);
        *set = (struct set){0};
    }
    return fine;
}

/* --- the set in force -------------------------------------------------------------------------------------------- */

struct srv_keys *srv_keys_open(const char *path, char message[SRV_MESSAGE_MAX]) {
    struct srv_keys *keys = calloc(1, sizeof *keys);
    char *copy = strdup(path);
    if (!keys || !copy) {
        snprintf(message, SRV_MESSAGE_MAX, "out of memory for the keys file");
    } else if (set_read(&keys->set, path, false, message)) {
        keys->path = copy;
        pthread_rwlockattr_t fair; /* a stream of requests must not hold up a reload for ever */
        pthread_rwlockattr_init(&fair);
        pthread_rwlockattr_setkind_np(&fair, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
        pthread_rwlock_init(&keys->lock, &fair);
        pthread_rwlockattr_destroy(&fair);
        return keys;
    }
    free(copy);
    free(keys);
    return NULL;
}

bool srv_keys_reload(struct srv_keys *keys, char message[SRV_MESSAGE_MAX]) {
    struct set fresh;
    if (!set_read(&fresh, keys->path, true, message)) {
        return false;
    }
    pthread_rwlock_wrlock(&keys->lock);
    struct set old = keys->set;
    keys->set = fresh;
    pthread_rwlock_unlock(&keys->lock);
    free(old.entries);
    return true;
}

/* The token of "Bearer TOKEN", NULL for any other form. */
static const char *bearer(const char *authorization, size_t *size) {
    if (!authorization || strncasecmp(authorization, "Bearer ", 7) != 0) {
        return NULL;
    }
    const char *token = authorization + 7 + strspn(authorization + 7, " ");
    *size = strcspn(token, blank);
    return token[*size + strspn(token + *size, blank)] ? NULL : token;
}

bool srv_keys_match(struct srv_keys *keys, const char *authorization, struct srv_key *key) {
    size_t size = 0;
    const char *token = bearer(authorization, &size);
    if (!token || size > KEY_MOST) {
        return false;
    }
    uint8_t digest[SRV_SHA256_SIZE];
    srv_sha256(token, size, digest);
    pthread_rwlock_rdlock(&keys->lock);
    size_t found = keys->set.count;
    /* All entries, all bytes: the time says neither whether nor where one matched. */
    for (size_t i = 0; i < keys->set.count; i++) {
        unsigned differs = 0;
        for (size_t at = 0; at < SRV_SHA256_SIZE; at++) {
            differs |= (unsigned)(digest[at] ^ keys->set.entries[i].digest[at]);
        }
        size_t same = (size_t)0 - (size_t)((differs - 1) >> 8 & 1);
        found = (found & ~same) | (i & same);
    }
    bool matched = found < keys->set.count;
    if (matched && key) {
        memcpy(key->name, keys->set.entries[found].name, sizeof key->name);
        memcpy(key->identity, digest, sizeof key->identity);
    }
    pthread_rwlock_unlock(&keys->lock);
    return matched;
}

size_t srv_keys_count(struct srv_keys *keys) {
    pthread_rwlock_rdlock(&keys->lock);
    size_t count = keys->set.count;
    pthread_rwlock_unlock(&keys->lock);
    return count;
}

void srv_keys_free(struct srv_keys *keys) {
    if (keys) {
        pthread_rwlock_destroy(&keys->lock);
        free(keys->set.entries);
        free(keys->path);
        free(keys);
    }
}
