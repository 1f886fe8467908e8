/* sha256.h - the digest of FIPS 180-4, for comparing keys and naming fixed documents. */
#ifndef SRV_SHA256_H
#define SRV_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { SRV_SHA256_SIZE = 32 };

/* srv_sha256 - digest of `size` bytes at `data` (may be NULL when size is 0). */
void srv_sha256(const void *data, size_t size, uint8_t digest[SRV_SHA256_SIZE]);

#endif
