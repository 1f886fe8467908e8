/* attend.h - one attention request on its way from fields to answer; shared by /attention and /mha.
 *
 *     plan (attend_plan.c, attend_rule.c)   which arrays there are, whether they fit; nothing is computed
 *     lay out (attend_layout.c)             what memory and how many multiply-adds; api_admit
 *     run (attend_run.c, attend_checks.c)   functions that cannot fail, only be stopped
 *     write (attend_write.c, attend_trace.c)
 *
 * Legend    groups: blocks of n rows in an input, batch or (rank 4) batch * heads
 */
#ifndef API_ATTEND_H
#define API_ATTEND_H

#include "api/attend_fields.h"
#include "api/job.h"
#include "core/attention.h"
#include "core/checks.h"
#include "core/project.h"
#include "core/rope.h"

/* struct api_side - q, k or v, from the input it comes from to the heads that attention reads.
 *
 *     input        x, context, the embedding of tokens, or q, k, v themselves; shape known, data after api_admit
 *     w, b         projection and what is added, or NULL
 *     d_in, d_out  columns before and after projection
 *     heads, d     d_out = heads * d, except in rank 4, where d_out = d
 *     rows         [groups, n, d_out]: the input itself when there is nothing to do
 *     copied       rows are memory of our own
 *     view         rows by heads
 *     plain        [batch, heads, n, d] contiguous before rotation, for the trace; NULL: not wanted
 *     split        the same after rotation, for the answer; NULL: not wanted, or rows are already so
 *     shifted, changed   last rows of the input + 2, and what they become; NULL: not checked
 */
struct api_side {
    const char *name, *input_name, *w_name, *b_name;
    struct attn_tensor *input;
    struct attn_tensor *w, *b;
    size_t groups, n, d_in, d_out, heads, d;
    void *rows;
    bool copied;
    struct attn_view view;
    void *plain, *split, *shifted, *changed;
};

/* struct api_attend
 *
 *     batched, headed   the caller's arrays have these axes
 *     joined            num_heads splits joined columns (never in rank 4)
 *     crossed           k and v come from `context`
 *     past_key, past_value   NULL without; n_past rows
 *     keys, values      past and new [batch, kv_heads, n_k, d]; NULL without a past
 *     call              dims, rule, views and results
 *     heads_changed     what the kernel gives when the last input row is changed
 *     split_heads       heads [batch, heads, n_q, d_v] for the answer
 *     output            after wo; in /attention the kernel's own
 *     d_out             columns of output
 *     wanted            set of enum api_attend_result
 */
struct api_attend {
    struct api_job *job;
    struct api_value *values;
    bool mha, batched, headed, joined, crossed, checked, traced, roped, out_in;
    enum attn_dtype dtype;
    size_t size;
    struct api_side q, k, v;
    struct attn_tensor *past_key, *past_value;
    size_t n_past;
    struct attn_rope rope;
    struct attn_tensor *positions;
    void *keys, *values_all;
    struct attn_call call;
    uint8_t *padding;
    double *slopes;
    struct attn_tensor *wo, *bo;
    size_t d_out;
    void *heads_changed, *split_heads, *output, *output_changed, *mean_weights, *work;
    size_t work_size;
    uint32_t wanted;
    struct attn_weight_report report;
    double past_change;
    bool finite;
};

static inline bool api_attend_wants(const struct api_attend *a, enum api_attend_result result) {
    return a->wanted >> result & 1;
}

/* The stages, in order. */
bool api_attend_plan(struct api_attend *a);
bool api_attend_rule(struct api_attend *a); /* shapes of all options, and values that need no drawing */
bool api_attend_layout(struct api_attend *a);
bool api_attend_rule_data(struct api_attend *a); /* after api_admit: numbers of all options */
bool api_attend_run(struct api_attend *a);
void api_attend_write(struct api_attend *a);

/* Parts of the run. */
bool api_attend_changed_rows(struct api_attend *a, struct api_side *side);
bool api_attend_changed_run(struct api_attend *a);
bool api_attend_measure(struct api_attend *a);
bool api_attend_project(const struct api_attend *a, size_t rows, const void *x, const struct attn_tensor *w,
                        const struct attn_tensor *b, void *y);
struct attn_view api_attend_view(const struct api_attend *a, size_t heads, size_t n, size_t d, void *rows);

/* Parts of the answer. */
void api_attend_write_checks(struct api_attend *a);
void api_attend_write_trace(struct api_attend *a);
double api_attend_trace_numbers(const struct api_attend *a);
struct attn_tensor api_attend_side(const struct api_attend *a, const struct api_side *side);
struct attn_tensor api_attend_output(const struct api_attend *a);
struct attn_tensor api_attend_split_heads(const struct api_attend *a);

/* Shapes as the caller sees them: (n, cols) or (batch, n, cols); and by heads, where axes he did not send are left
 * out. `cols` 0 leaves the last axis out. */
struct attn_tensor api_attend_rows_shape(const struct api_attend *a, size_t n, size_t cols, void *data);
struct attn_tensor api_attend_heads_shape(const struct api_attend *a, size_t heads, size_t n, size_t cols, void *data);

/* api_attend - all of it. */
bool api_attend(struct api_job *job, bool mha);

#endif
