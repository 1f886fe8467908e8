/* random.h - the random numbers of NumPy's default_rng, bit for bit. */
#ifndef ATTN_RANDOM_H
#define ATTN_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/* struct attn_rng - PCG64 (XSL-RR, 128-bit state and increment, each as high and low half). */
struct attn_rng {
    uint64_t state_high, state_low, inc_high, inc_low;
};

/* attn_rng_seed - state of default_rng(seed).
 *
 *     words   the seed in base 2^32, least significant word first, without leading zero words but at least one word; a
 *             list of integers is the concatenation of their words
 *
 * Source    O'Neill 2015, "Developing a seed_seq alternative"; the constants are those of NumPy's SeedSequence.
 */
void attn_rng_seed(struct attn_rng *rng, const uint32_t *words, size_t count);

/* attn_rng_next - the next 64 random bits. Source: O'Neill 2014, HMC-CS-2014-0905, PCG-XSL-RR. */
uint64_t attn_rng_next(struct attn_rng *rng);

/* attn_rng_uniform - out[i] = loc + scale * u, u in [0, 1) with 53 bits: rng.random(n) for loc 0 and scale 1. */
void attn_rng_uniform(struct attn_rng *rng, double *out, size_t n, double loc, double scale);

/* attn_rng_normal - out[i] = loc + scale * z: rng.normal(loc, scale, n).
 *
 * Source    Marsaglia and Tsang 2000, "The ziggurat method", with 256 layers and 52-bit abscissas as in Doornik 2005;
 *           the tables are core/random_tables.c.
 */
void attn_rng_normal(struct attn_rng *rng, double *out, size_t n, double loc, double scale);

/* struct attn_ziggurat - layer i reaches to abscissa x_i (x_0: the base strip's equivalent width), density exp(-x^2/2).
 *
 *     accept   below this abscissa (in units of width) a point lies under the curve for sure
 *     width    x_i / 2^52
 *     height   exp(-x_i^2 / 2)
 */
struct attn_ziggurat {
    uint64_t accept[256];
    double width[256], height[256];
};

extern const struct attn_ziggurat attn_ziggurat;
extern const double attn_ziggurat_end, attn_ziggurat_end_inverse; /* where the tail begins, and 1 / it */

#endif
