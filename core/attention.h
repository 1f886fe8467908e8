/* attention.h - scaled dot-product attention with every option, in one description that all paths share.
 *
 * Legend    b batch, h query head, g = h * kv_heads / heads (grouped heads interleave), i query, j key
 *           p = i + offset, the query's position among the keys (attn_offset)
 */
#ifndef ATTN_ATTENTION_H
#define ATTN_ATTENTION_H

#include "core/err.h"
#include "core/exec.h"
#include "core/tensor.h"

#define ATTN_OPEN (-1) /* a window side without a bound */

struct attn_dims {
    size_t batch, heads, kv_heads, n_q, n_k, d, d_v;
};

/* struct attn_grid - an array broadcast over the scores [batch, heads, n_q, n_k]; stride 0 repeats.
 * `data` NULL: absent. Strides count elements. */
struct attn_grid {
    const void *data;
    size_t batch, head, row, col;
};

/* struct attn_rule - how scores are made and which keys may be seen. Applied in this order:
 *
 *     s = scale * q k^T;  s = softcap * tanh(s / softcap);  s += bias + alibi;
 *     s = allowed ? s : (fill ? fill_value : -inf);  w = softmax(s, sinks in the denominator)
 *
 *     scale        any finite number; may be negative or 0
 *     softcap      > 0, or 0 for none; a float's range bounds it, and the slopes, in single precision
 *     bias         elements of the call's dtype, added; -inf forbids the key as a mask does
 *     alibi        [heads] slopes: adds -slope_h * |j - p|; NULL for none
 *     mask         uint8_t, nonzero = may attend
 *     padding      [batch, n_k], nonzero = drop this key; NULL for none
 *     lengths      [batch], keys j >= lengths[b] are dropped; NULL for none
 *     causal       key j allowed iff j <= p
 *     past         number of cached keys in front (already part of n_k)
 *     bottom_right offset is n_k - n_q (lengths[b] - n_q with lengths, may be negative) instead of `past`
 *     left, right  window: keys p - left .. p + right; ATTN_OPEN = no bound
 *     sinks        [heads] logits that join the maximum and the denominator only; NULL for none
 *     fill         masked scores become fill_value (the textbook's -1e9) instead of disappearing; one below the range
 *                  of the dtype becomes its lowest number, -inf is no fill
 *
 * A key that is not allowed has no influence at all, whatever its k and v hold, unless `fill` gives it weight.
 * A row without an allowed key has weights 0, output 0 and logsumexp -inf (with sinks: logsumexp = the sink).
 * Nothing is hidden where a key is allowed: a row in which some allowed score is NaN or +inf, or every one is -inf and
 * there is no sink, has weight NaN at each allowed key (and still 0 at the others) and output NaN; an allowed value
 * that is not finite shows in its column, also where its weight rounds to 0.
 */
struct attn_rule {
    double scale, softcap;
    struct attn_grid bias;
    const double *alibi;
    struct attn_grid mask;
    const uint8_t *padding;
    const int64_t *lengths;
    bool causal, bottom_right;
    int64_t past, left, right;
    const double *sinks;
    bool fill;
    double fill_value;
};

/* struct attn_call - one attention: what goes in and where results go.
 *
 *     q        [batch, heads, n_q, d]        in
 *     k        [batch, kv_heads, n_k, d]     in
 *     v        [batch, kv_heads, n_k, d_v]   in
 *     output   [batch, heads, n_q, d_v]      out
 *     weights, scores (after scale), capped (after softcap), masked (before the softmax)
 *              [batch, heads, n_q, n_k] contiguous; out; NULL = not wanted
 *     lse      [batch, heads, n_q] contiguous; out; natural log of the denominator; NULL = not wanted
 *
 * Everything but the rule's own arrays is of `dtype` (ATTN_F64 or ATTN_F32).
 * With weights, scores, capped and masked all NULL nothing of size n_q * n_k is stored: blocks of keys with a running
 * maximum and sum. Both ways give the same numbers within rounding.
 */
struct attn_call {
    enum attn_dtype dtype;
    struct attn_dims dims;
    struct attn_rule rule;
    struct attn_view q, k, v, output;
    void *weights, *scores, *capped, *masked, *lse;
};

/* attn_offset - position of query 0 among the keys, for example b of the batch. */
int64_t attn_offset(const struct attn_rule *rule, const struct attn_dims *dims, size_t b);

/* attn_allowed - may query i of head h see key j? The definition that kernels, checks and oracles follow. */
bool attn_allowed(const struct attn_rule *rule, const struct attn_dims *dims, size_t b, size_t h, size_t i, size_t j);

/* attn_rule_check - refuses contradictions and values out of domain (softcap < 0, kv_heads not dividing heads, window
 * below ATTN_OPEN, lengths outside 0 .. n_k, past together with lengths, bottom_right together with past ...). Returns
 * code ATTN_OK when attn_attention may be called. */
struct attn_err attn_rule_check(const struct attn_rule *rule, const struct attn_dims *dims);

/* attn_attention_work - bytes of work memory that attn_attention needs for `slots` slots. Independent of n_q * n_k. */
size_t attn_attention_work(const struct attn_call *call, size_t slots);

/* attn_attention - computes one call.
 *
 * Requires  attn_rule_check passed; work: attn_attention_work(call, attn_exec_slots(exec)) bytes, 64-byte aligned;
 *           outputs do not overlap inputs.
 * Errors    returns false if exec was stopped: outputs are then partial.
 * Threads   safe for distinct outputs and work.
 * Accuracy  1e-12 (float64), 2e-6 (float32) of the row's largest magnitude against tests/ref.
 * Source    Vaswani et al. 2017, section 3.2.1; blocks: Milakov and Gimelshein 2018, algorithm 3.
 */
bool attn_attention(const struct attn_call *call, const struct attn_exec *exec, void *work);

#endif
