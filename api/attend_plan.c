/* attend_plan.c - where q, k and v come from, how heads split them, and whether everything fits. */
#include "api/attend.h"

#include "api/result.h"

#include <assert.h>
#include <string.h>

static struct api_value *value_at(struct api_attend *a, size_t field) {
    return &a->values[field];
}

static struct attn_tensor *given_tensor(struct api_attend *a, size_t field) {
    return value_at(a, field)->form == API_TENSOR ? &value_at(a, field)->tensor : NULL;
}

/* A refusal that shows what was expected and what came; always false. */
static bool misfit(struct api_attend *a, const char *name, const char *expected, const char *got, const char *hint) {
    char pointer[64] = "/";
    strncat(pointer, name, sizeof pointer - 2);
    api_refuse(a->job, "shape_mismatch", pointer, "`%s` is %s but must be %s.", name, got, expected);
    a->job->problem->expected = expected;
    a->job->problem->got = got;
    a->job->problem->hint = hint;
    return false;
}

#define TEXT(...) api_arena_printf(a->job->arena, __VA_ARGS__)

static const char *shape_text(struct api_attend *a, const struct attn_tensor *tensor) {
    const char *text = api_shape_text(a->job, tensor);
    return text ? text : "";
}

/* ---- inputs ------------------------------------------------------------------------------------------------------ */

static bool refuse_beside_qkv(struct api_attend *a) {
    for (size_t f = API_AT_X; f <= API_AT_BV; f++)
        if (value_at(a, f)->form != API_ABSENT) {
            char pointer[32] = "/";
            strncat(pointer, value_at(a, f)->field->name, sizeof pointer - 2);
            api_refuse(a->job, "conflict", pointer, "`%s` cannot be combined with q, k and v.",
                       value_at(a, f)->field->name);
            a->job->problem->hint = "Send q, k and v as they are, or x (or tokens) with wq, wk and wv.";
            return false;
        }
    return true;
}

static bool take_qkv(struct api_attend *a) {
    if (!refuse_beside_qkv(a))
        return false;
    struct api_side *sides[] = {&a->q, &a->k, &a->v};
    for (size_t s = 0; s < 3; s++) {
        sides[s]->input = given_tensor(a, API_AT_Q + s);
        sides[s]->input_name = sides[s]->name;
        if (!sides[s]->input) {
            char pointer[4] = {'/', sides[s]->name[0], 0};
            return api_refuse(a->job, "missing_field", pointer, "`%s` is missing; q, k and v go together.",
                              sides[s]->name);
        }
    }
    return true;
}

static bool take_x(struct api_attend *a) {
    struct attn_tensor *x = given_tensor(a, API_AT_X), *context = given_tensor(a, API_AT_CONTEXT);
    bool tokens = a->job->tokens.given;
    if (x && tokens)
        return api_refuse(a->job, "conflict", "/tokens",
                          "`tokens` cannot be combined with `x`: one of them is the input.");
    if (!x && !tokens)
        return a->mha
                   ? api_refuse(a->job, "missing_field", "/x", "`x` (or `tokens`) is missing.")
                   : api_refuse(a->job, "missing_field", "/q", "There is no input: send q, k and v, or x, or tokens.");
    if (tokens && !api_tokens_check(a->job))
        return false;
    a->crossed = context != NULL;
    a->q.input = x ? x : &a->job->tokens.output;
    a->q.input_name = x ? "x" : "tokens";
    a->k.input = a->v.input = context ? context : a->q.input;
    a->k.input_name = a->v.input_name = context ? "context" : a->q.input_name;
    struct api_side *sides[] = {&a->q, &a->k, &a->v};
    for (size_t s = 0; s < 3; s++) {
        sides[s]->w = given_tensor(a, API_AT_WQ + s);
        sides[s]->b = given_tensor(a, API_AT_BQ + s);
    }
    return true;
}

/* For a matrix whose other axis would fit. */
static const char *transpose_hint(const struct api_attend *a, bool would_fit) {
    return !would_fit  ? ""
           : a->out_in ? " Its transpose fits: \"weight_layout\": \"in_out\" takes it as it is."
                       : " Its transpose fits: \"weight_layout\": \"out_in\" takes it as it is, as PyTorch stores it.";
}

/* ---- projections ------------------------------------------------------------------------------------------------- */

static bool plan_projection(struct api_attend *a, struct api_side *side) {
    side->d_out = side->d_in;
    if (!side->w && !side->b)
        return true;
    char pointer[4] = {'/', side->b_name[0], side->b_name[1], 0};
    if (!side->w)
        return api_refuse(a->job, "conflict", pointer, "`%s` is added to the product with `%s`, which is missing.",
                          side->b_name, side->w_name);
    size_t rows = side->w->shape[a->out_in ? 1 : 0];
    side->d_out = side->w->shape[a->out_in ? 0 : 1];
    if (rows != side->d_in)
        return misfit(a, side->w_name,
                      a->out_in ? TEXT("(columns, %zu)", side->d_in) : TEXT("(%zu, columns)", side->d_in),
                      api_shape_text(a->job, side->w),
                      TEXT("%s is %s: each of its rows has %zu numbers.%s", side->input_name,
                           shape_text(a, side->input), side->d_in, transpose_hint(a, side->d_out == side->d_in)));
    if (side->b && side->b->shape[0] != side->d_out)
        return misfit(a, side->b_name, TEXT("(%zu,)", side->d_out), api_shape_text(a->job, side->b),
                      TEXT("One number for each column of %s.", side->w_name));
    return true;
}

static bool plan_side(struct api_attend *a, struct api_side *side) {
    const struct attn_tensor *in = side->input;
    if (in->rank != a->q.input->rank)
        return misfit(a, side->input_name,
                      TEXT("of rank %u like %s, %s", a->q.input->rank, a->q.input_name, shape_text(a, a->q.input)),
                      api_shape_text(a->job, in), NULL);
    side->n = in->shape[in->rank - 2];
    side->d_in = in->shape[in->rank - 1];
    side->groups = attn_tensor_count(in) / (side->n * side->d_in);
    if (a->batched && in->shape[0] != a->q.input->shape[0])
        return misfit(
            a, side->input_name,
            TEXT("a batch of %zu like %s, %s", a->q.input->shape[0], a->q.input_name, shape_text(a, a->q.input)),
            api_shape_text(a->job, in), NULL);
    return plan_projection(a, side);
}

/* ---- heads ------------------------------------------------------------------------------------------------------- */

static bool plan_count(struct api_attend *a, size_t field, const char *pointer, size_t otherwise, size_t *count) {
    const struct api_value *v = value_at(a, field);
    *count = otherwise;
    if (!api_given(v))
        return true;
    if (v->integer < 1)
        return api_refuse(a->job, "bad_value", pointer, "`%s` is %lld but must be at least 1.", v->field->name,
                          (long long)v->integer);
    *count = (size_t)v->integer;
    return true;
}

/* What the columns of a side are called in a message: those of the matrix that makes them. */
static const char *columns_of(const struct api_side *side) {
    return side->w ? side->w_name : side->input_name;
}

/* The same with the side's own name where that is another: "k", "k (wk)". */
static const char *side_and_columns(struct api_attend *a, const struct api_side *side) {
    const char *source = columns_of(side);
    return strcmp(source, side->name) == 0 ? source : TEXT("%s (%s)", side->name, source);
}

static bool split_columns(struct api_attend *a, struct api_side *side, size_t heads, const char *count_name) {
    side->heads = heads;
    side->d = side->d_out / heads;
    if (side->d_out % heads == 0)
        return true;
    char pointer[32] = "/";
    strncat(pointer, count_name, sizeof pointer - 2);
    api_refuse(a->job, "shape_mismatch", pointer, "`%s` is %zu, which does not divide the %zu column%s of %s.",
               count_name, heads, side->d_out, side->d_out == 1 ? "" : "s", side_and_columns(a, side));
    a->job->problem->expected = TEXT("a divisor of %zu", side->d_out);
    a->job->problem->got = TEXT("%zu", heads);
    return false;
}

static bool plan_joined_heads(struct api_attend *a) {
    size_t heads, kv_heads;
    if (a->mha && !api_given(value_at(a, API_AT_NUM_HEADS)))
        return api_refuse(a->job, "missing_field", "/num_heads", "`num_heads` is missing.");
    if (!a->headed && api_given(value_at(a, API_AT_NUM_KV_HEADS)))
        return api_refuse(a->job, "missing_field", "/num_heads", "`num_kv_heads` needs `num_heads`, which is missing.");
    if (!plan_count(a, API_AT_NUM_HEADS, "/num_heads", 1, &heads) ||
        !plan_count(a, API_AT_NUM_KV_HEADS, "/num_kv_heads", heads, &kv_heads))
        return false;
    bool grouped = api_given(value_at(a, API_AT_NUM_KV_HEADS));
    return split_columns(a, &a->q, heads, "num_heads") &&
           split_columns(a, &a->k, kv_heads, grouped ? "num_kv_heads" : "num_heads") &&
           split_columns(a, &a->v, kv_heads, grouped ? "num_kv_heads" : "num_heads");
}

static bool plan_own_heads(struct api_attend *a) {
    struct api_side *sides[] = {&a->q, &a->k, &a->v};
    for (size_t s = 0; s < 3; s++) {
        sides[s]->heads = sides[s]->input->shape[1];
        sides[s]->d = sides[s]->d_out;
    }
    size_t heads, kv_heads;
    if (!plan_count(a, API_AT_NUM_HEADS, "/num_heads", a->q.heads, &heads) ||
        !plan_count(a, API_AT_NUM_KV_HEADS, "/num_kv_heads", a->k.heads, &kv_heads))
        return false;
    if (heads != a->q.heads)
        return api_refuse(a->job, "conflict", "/num_heads", "`num_heads` is %zu but %s has %zu heads, %s.", heads,
                          a->q.input_name, a->q.heads, api_shape_text(a->job, a->q.input));
    if (kv_heads != a->k.heads)
        return api_refuse(a->job, "conflict", "/num_kv_heads", "`num_kv_heads` is %zu but %s has %zu heads, %s.",
                          kv_heads, a->k.input_name, a->k.heads, api_shape_text(a->job, a->k.input));
    if (a->v.heads != a->k.heads)
        return misfit(a, a->v.input_name,
                      TEXT("of %zu heads like %s, %s", a->k.heads, a->k.input_name, shape_text(a, a->k.input)),
                      api_shape_text(a->job, a->v.input), NULL);
    return true;
}

/* One input cannot be q and k as it is when they have different columns. */
static bool misses_wk(struct api_attend *a, size_t heads) {
    const struct api_side *q = &a->q, *k = &a->k;
    return api_refuse(a->job, "missing_field", "/wk",
                      "`wk` is needed: %s has %zu columns, but k takes %zu (\"num_kv_heads\": %zu, %zu a head).",
                      k->input_name, k->d_out, heads * q->d, heads, q->d);
}

/* k has other columns than q: because of its heads, or because it was sent transposed. */
static bool misfit_columns(struct api_attend *a) {
    const struct api_side *q = &a->q, *k = &a->k;
    size_t heads = a->joined ? k->heads : 1;
    const char *like = shape_text(a, q->w ? q->w : q->input), *hint = NULL;
    if (a->joined && !q->w && !k->w && q->input == k->input)
        return misses_wk(a, heads);
    if (a->joined && k->d_out % q->d == 0 && q->heads % (k->d_out / q->d) == 0)
        hint = TEXT("With \"num_kv_heads\": %zu it fits.", k->d_out / q->d);
    else if (!k->w && k->n == q->d_out && k->d_out == a->v.n)
        hint = "It looks transposed: send one key a row, the product with its transpose is taken here.";
    return misfit(a, columns_of(k),
                  heads == 1 ? TEXT("of %zu columns like %s, %s", q->d, columns_of(q), like)
                             : TEXT("of %zu columns: %zu heads of %zu as in %s, %s", heads * q->d, heads, q->d,
                                    columns_of(q), like),
                  api_shape_text(a->job, k->w ? k->w : k->input), hint);
}

static bool plan_heads(struct api_attend *a) {
    if (!(a->joined ? plan_joined_heads(a) : plan_own_heads(a)))
        return false;
    if (a->q.heads % a->k.heads != 0) {
        api_refuse(a->job, "shape_mismatch", a->joined ? "/num_kv_heads" : "/k",
                   "%zu heads of k and v do not divide the %zu heads of q.", a->k.heads, a->q.heads);
        a->job->problem->expected = TEXT("a divisor of %zu", a->q.heads);
        a->job->problem->got = TEXT("%zu", a->k.heads);
        return false;
    }
    if (a->k.d != a->q.d)
        return misfit_columns(a);
    if (a->k.n != a->v.n)
        return misfit(a, a->v.input_name,
                      TEXT("of %zu rows like %s, %s", a->k.n, a->k.input_name, shape_text(a, a->k.input)),
                      api_shape_text(a->job, a->v.input), "Each key has one value.");
    return true;
}

/* ---- cache, rotation, output ------------------------------------------------------------------------------------- */

static bool plan_past_of(struct api_attend *a, const char *name, struct attn_tensor *past, size_t d) {
    struct attn_tensor wanted = api_attend_heads_shape(a, a->k.heads, a->n_past, d, NULL);
    return attn_same_shape(past, &wanted) ||
           misfit(a, name, api_shape_text(a->job, &wanted), api_shape_text(a->job, past),
                  "It has the shape of present_key and present_value.");
}

static bool plan_past(struct api_attend *a) {
    a->past_key = given_tensor(a, API_AT_PAST_KEY);
    a->past_value = given_tensor(a, API_AT_PAST_VALUE);
    if (!a->past_key && !a->past_value)
        return true;
    if (!a->past_key || !a->past_value)
        return api_refuse(a->job, "missing_field", a->past_key ? "/past_value" : "/past_key",
                          "past_key and past_value go together; one of them is missing.");
    a->n_past = a->past_key->shape[a->past_key->rank - 2];
    if (!plan_past_of(a, "past_key", a->past_key, a->k.d) || !plan_past_of(a, "past_value", a->past_value, a->v.d))
        return false;
    if (a->n_past == 0)
        a->past_key = a->past_value = NULL;
    return true;
}

static bool plan_positions(struct api_attend *a, const struct api_value *v) {
    if (!api_given(v))
        return true;
    a->positions = (struct attn_tensor *)&v->tensor;
    const struct attn_tensor *p = a->positions;
    size_t batch = a->batched ? a->q.input->shape[0] : 1;
    if (a->k.n != a->q.n)
        return api_refuse(a->job, "conflict", "/rope/positions",
                          "`positions` are those of q and k alike, but q has %zu rows and k %zu.", a->q.n, a->k.n);
    if (p->shape[p->rank - 1] != a->q.n || (p->rank == 2 && p->shape[0] != batch))
        return misfit(a, "rope/positions",
                      a->batched ? TEXT("(%zu,) or (%zu, %zu)", a->q.n, batch, a->q.n) : TEXT("(%zu,)", a->q.n),
                      api_shape_text(a->job, p), NULL);
    a->rope.positions_batch = p->rank == 2 ? a->q.n : 0;
    return true;
}

static bool plan_rope(struct api_attend *a) {
    const struct api_value *rope = value_at(a, API_AT_ROPE);
    if (!(a->roped = rope->form == API_OBJECT))
        return true;
    const struct api_value *dims = &rope->inner[API_ROPE_DIMS];
    a->rope.base = rope->inner[API_ROPE_BASE].number;
    a->rope.interleaved = rope->inner[API_ROPE_INTERLEAVED].boolean;
    a->rope.dims = a->q.d;
    a->rope.start = (double)a->n_past;
    if (!(a->rope.base > 0))
        return api_refuse(a->job, "bad_value", "/rope/base", "`base` is %g but must be more than 0.", a->rope.base);
    if (api_given(dims)) {
        if (dims->integer < 2 || dims->integer % 2 || (uint64_t)dims->integer > a->q.d)
            return api_refuse(a->job, "bad_value", "/rope/dims",
                              "`dims` is %lld but must be even, at least 2 and at most the %zu columns of a head.",
                              (long long)dims->integer, a->q.d);
        a->rope.dims = (size_t)dims->integer;
    } else if (a->q.d % 2) {
        api_refuse(a->job, "bad_value", "/rope", "A head has %zu columns, which cannot all be paired.", a->q.d);
        a->job->problem->hint = "Give `dims`: the even number of leading columns that turn.";
        return false;
    }
    return plan_positions(a, &rope->inner[API_ROPE_POSITIONS]);
}

static bool plan_output(struct api_attend *a) {
    size_t joined = a->q.heads * a->v.d;
    a->d_out = a->joined ? joined : a->v.d;
    if (!a->mha)
        return true;
    a->wo = given_tensor(a, API_AT_WO);
    a->bo = given_tensor(a, API_AT_BO);
    if (a->wo->shape[a->out_in ? 1 : 0] != joined)
        return misfit(a, "wo", a->out_in ? TEXT("(columns, %zu)", joined) : TEXT("(%zu, columns)", joined),
                      api_shape_text(a->job, a->wo),
                      TEXT("%zu columns come out of the heads (%zu of %zu).%s", joined, a->q.heads, a->v.d,
                           transpose_hint(a, a->wo->shape[a->out_in ? 0 : 1] == joined)));
    a->d_out = a->wo->shape[a->out_in ? 0 : 1];
    if (a->bo && a->bo->shape[0] != a->d_out)
        return misfit(a, "bo", TEXT("(%zu,)", a->d_out), api_shape_text(a->job, a->bo),
                      "One number for each column of wo.");
    return true;
}

static void plan_dims(struct api_attend *a) {
    size_t batch = a->batched ? a->q.input->shape[0] : 1;
    a->call.dtype = a->dtype;
    a->call.dims = (struct attn_dims){batch, a->q.heads, a->k.heads, a->q.n, a->n_past + a->k.n, a->q.d, a->v.d};
}

bool api_attend_plan(struct api_attend *a) {
    a->q = (struct api_side){.name = "q", .w_name = "wq", .b_name = "bq"};
    a->k = (struct api_side){.name = "k", .w_name = "wk", .b_name = "bk"};
    a->v = (struct api_side){.name = "v", .w_name = "wv", .b_name = "bv"};
    a->dtype = (enum attn_dtype)value_at(a, API_AT_DTYPE)->choice;
    a->size = attn_dtype_size(a->dtype);
    a->out_in = value_at(a, API_AT_WEIGHT_LAYOUT)->choice == API_LAYOUT_OUT_IN;
    a->checked = value_at(a, API_AT_CHECKS)->boolean;
    a->traced = value_at(a, API_AT_TRACE)->boolean;
    bool qkv = !a->mha && (given_tensor(a, API_AT_Q) || given_tensor(a, API_AT_K) || given_tensor(a, API_AT_V));
    if (!(qkv ? take_qkv(a) : take_x(a)))
        return false;
    assert(a->q.input);
    a->batched = a->q.input->rank >= 3;
    a->joined = a->q.input->rank != 4;
    a->headed = !a->joined || a->mha || api_given(value_at(a, API_AT_NUM_HEADS));
    if (!plan_side(a, &a->q) || !plan_side(a, &a->k) || !plan_side(a, &a->v) || !plan_heads(a) || !plan_past(a) ||
        !plan_rope(a) || !plan_output(a))
        return false;
    plan_dims(a);
    return true;
}

struct attn_tensor api_attend_rows_shape(const struct api_attend *a, size_t n, size_t cols, void *data) {
    struct attn_tensor t = {.dtype = a->dtype, .data = data};
    if (a->batched)
        t.shape[t.rank++] = a->q.input->shape[0];
    t.shape[t.rank++] = n;
    t.shape[t.rank++] = cols;
    return t;
}

struct attn_tensor api_attend_heads_shape(const struct api_attend *a, size_t heads, size_t n, size_t cols, void *data) {
    struct attn_tensor t = {.dtype = a->dtype, .data = data};
    if (a->batched)
        t.shape[t.rank++] = a->q.input->shape[0];
    if (a->headed)
        t.shape[t.rank++] = heads;
    t.shape[t.rank++] = n;
    if (cols)
        t.shape[t.rank++] = cols;
    return t;
}
