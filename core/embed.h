/* embed.h - rows of an embedding table, selected by token id. */
#ifndef ATTN_EMBED_H
#define ATTN_EMBED_H

#include <stddef.h>
#include <stdint.h>

/* attn_embed - out[i] = scale * table[ids[i]].
 *
 *     ids     [n]          in;  0 <= id < rows of table (the caller's duty)
 *     table   [vocab, d]   in
 *     out     [n, d]       out
 *
 * Errors    none.
 * Threads   safe for distinct out.
 * Source    definition.
 */
void attn_embed_f64(double *out, const int64_t *ids, size_t n, const double *table, size_t d, double scale);
void attn_embed_f32(float *out, const int64_t *ids, size_t n, const float *table, size_t d, double scale);

#endif
