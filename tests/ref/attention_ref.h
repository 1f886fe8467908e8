/* attention_ref.h - attention straight from its definition, in long double, one score at a time: the oracle.
 *
 * Shares nothing with core/ but the description of a call: not the masks, not exp, no BLAS. Slow and plain.
 */
#ifndef TESTS_REF_ATTENTION_REF_H
#define TESTS_REF_ATTENTION_REF_H

#include "core/attention.h"

/* struct ref_attention - everything a call could want. Arrays are contiguous, rows = batch * heads * n_q, row
 * (b * heads + h) * n_q + i.
 *
 *     output                           [rows, d_v]
 *     weights, scores, capped, masked  [rows, n_k]
 *     lse                              [rows]
 *     slack    [rows]  how far a weight of this row may be off, relative to 1, when computed in the call's dtype: from
 *                      the rounding of a score (a dot product of d terms) and of n_k additions
 *     reach    [rows]  largest sum_j w_j |v_j| over the columns: an output may be off by slack * reach
 *     size     [rows]  largest magnitude that a score of this row passes through: scores may be off by slack * size
 */
struct ref_attention {
    size_t rows, n_k, d_v;
    long double *output, *weights, *scores, *capped, *masked, *lse;
    long double *slack, *reach, *size;
};

/* ref_attention - computes all of it; ref_attention_free gives the memory back. Aborts when there is none. */
struct ref_attention ref_attention(const struct attn_call *call);
void ref_attention_free(struct ref_attention *ref);

/* ref_allowed - SEMANTICS of sight, written out once more. */
bool ref_allowed(const struct attn_rule *rule, const struct attn_dims *dims, size_t b, size_t h, size_t i, size_t j);

/* ref_close - is `got` within `slack` of `want`? Two NaN are close, and infinities of one sign. */
bool ref_close(long double got, long double want, long double slack);

#endif
