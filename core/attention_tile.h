/* attention_tile.h - inside attention: one tile, some query rows of one head, is one task. Private to
 * core/attention*.c.
 *
 * A tile walks over blocks of keys. For each it makes the scores (attention_score), turns them into exp(s - top) with
 * the largest score so far as `top`, and adds their product with v to the output, which is rescaled whenever `top`
 * rises; at the end each row is divided by its sum. When the weights are wanted the blocks are written straight to
 * their place in `weights` and rescaled there at the end: there is one way through, and storing is an option of it.
 *
 * What is not finite costs nothing until it shows: a row whose sum is not a number, or an output that is not finite, is
 * settled afterwards (attention_settle), where masked keys are left out by selection.
 */
#ifndef ATTN_ATTENTION_TILE_H
#define ATTN_ATTENTION_TILE_H

#include "core/mask.h"
#include "core/real.h"
#include "core/softmax.h"

/* Tiles of long sequences are higher: the library repacks a block of keys for each tile. */
enum { ATTN_TILE_ROWS = 128, ATTN_SHORT_TILE_ROWS = 64, ATTN_LONG = 2048, ATTN_BLOCK_KEYS = 512 };

/* struct attn_plan - how a call is cut, and where the pieces of a slot's work memory lie (bytes from its start). */
struct attn_plan {
    size_t rows, keys;         /* of a tile, of a block of keys */
    size_t q_blocks, k_blocks; /* per head */
    size_t clean, tops, slot_bytes;
};

/* struct attn_tile - one task's state.
 *
 *     p           scores, then exp(s - top), of the block at hand: in `weights` when wanted, else in work memory
 *     block_top   [k_blocks, rows] the `top` that each stored block was made with; weights only
 *     lo, hi      keys that some row of the tile may see
 *     fill        masked scores are `hidden` instead of absent: every key counts
 *     shown       what masked_scores shows at a masked position
 *     top, sum    running maximum and denominator per row
 */
struct attn_tile {
    const struct attn_call *call;
    const struct attn_exec *exec;
    const struct attn_plan *plan;
    size_t b, h, i0, rows;
    const real *q, *k, *v;
    real *out, *scratch, *clean, *block_top;
    size_t lo, hi;
    bool fill;
    real hidden, shown;
    struct attn_sight sight[ATTN_TILE_ROWS];
    real top[ATTN_TILE_ROWS];
    double sum[ATTN_TILE_ROWS];
};

/* attn_tile_f64, _f32 - computes tile number `index` of a call with the work memory of one slot. */
void attn_tile_f64(const struct attn_call *call, const struct attn_plan *plan, const struct attn_exec *exec,
                   size_t index, void *work);
void attn_tile_f32(const struct attn_call *call, const struct attn_plan *plan, const struct attn_exec *exec,
                   size_t index, void *work);

/* struct attn_block - keys j0 <= j < j1 of a tile, and where its p lies. */
struct attn_block {
    size_t index, j0, j1;
    real *p;
    size_t p_row;
};

/* attn_tile_score - fills p with the scores of a block as they enter the softmax, and writes scores, capped and masked
 * where they are wanted. */
void ATTN_REAL(attn_tile_score)(const struct attn_tile *t, const struct attn_block *block);

/* attn_tile_sees - may row i of the tile see key j? A bias of -inf forbids as a mask does. */
bool ATTN_REAL(attn_tile_sees)(const struct attn_tile *t, size_t i, size_t j);

/* attn_tile_next - the block behind `*block` (the first for index (size_t)-1); false after the last. */
bool ATTN_REAL(attn_tile_next)(const struct attn_tile *t, struct attn_block *block);

/* attn_tile_spans - for each row the columns of a block outside of which it has no weight; p is 0 there afterwards. */
void ATTN_REAL(attn_tile_spans)(const struct attn_tile *t, const struct attn_block *block, struct attn_span *spans);

/* attn_tile_empty_row - has row i no key at all, or is it poisoned? Only when its sum is 0 or NaN. */
bool ATTN_REAL(attn_tile_empty_row)(const struct attn_tile *t, size_t i);

/* attn_tile_settle - computes the output again from normalised weights, where it came out not finite. */
bool ATTN_REAL(attn_tile_settle)(const struct attn_tile *t);

#endif
