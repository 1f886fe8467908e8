/* bind_tensor.c - see bind_tensor.h. The common case, a lifted list, costs nothing here: the tensor is the lifted
 * memory. What could not be lifted is walked twice: once to find the shape or the element at fault, once to copy. */
#include "api/bind_tensor.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { EYE_MAX = 1 << 20 };

/* enum kind - what the elements of a list are. */
enum kind { UNKNOWN, NUMBERS, BOOLEANS };

const struct api_lifted *api_placeholder(const struct api_job *job, const json_t *json) {
    if (!json_is_array(json) || json_array_size(json) != 1)
        return NULL;
    const json_t *index = json_array_get(json, 0);
    if (!json_is_number(index))
        return NULL;
    size_t k = (size_t)json_number_value(index);
    return k < job->lift->count ? &job->lift->items[k] : NULL;
}

static enum kind wanted(const struct api_field *field) {
    return field->accepts & API_MASK ? BOOLEANS : NUMBERS;
}

static const char *shape_words(const struct api_field *field) {
    return field->shape ? field->shape : "any of one to four dimensions";
}

/* Steps into a list, for a pointer that goes deeper than the value itself. */
struct steps {
    struct api_place chain[API_LIFT_MAX_RANK];
    const struct api_place *last;
};

static void steps_into(struct steps *steps, const struct api_place *place, const size_t *index, unsigned depth) {
    steps->last = place;
    for (unsigned i = 0; i < depth; i++) {
        steps->chain[i] = (struct api_place){.up = steps->last, .index = index[i]};
        steps->last = &steps->chain[i];
    }
}

static bool refuse_ragged(struct api_job *job, const struct api_field *field, const struct api_place *place,
                          size_t expected, size_t got) {
    if (expected == got || got == 0)
        return api_refuse_place(job, "ragged", place,
                                api_arena_printf(job->arena, "`%s` mixes numbers and rows at one depth.", field->name));
    api_refuse_place(job, "ragged", place,
                     api_arena_printf(job->arena, "This row of `%s` has %zu element%s, the ones before have %zu.",
                                      field->name, got, got == 1 ? "" : "s", expected));
    if (field->accepts & API_IDS)
        job->problem->hint = "Fill the shorter rows with the id of padding, or send texts, which are filled up here.";
    return false;
}

static bool refuse_kind(struct api_job *job, const struct api_field *field, const struct api_place *place,
                        enum kind got) {
    if (got == NUMBERS) {
        api_refuse_place(
            job, "numeric_mask", place,
            api_arena_printf(job->arena, "`%s` is a mask of true and false, not of numbers.", field->name));
        job->problem->hint = strcmp(field->name, "attn_mask") == 0
                                 ? "true = may attend. Numbers that are added to the scores go into attn_bias."
                                 : "Write true and false instead of 1 and 0.";
        return false;
    }
    return api_refuse_place(job, "wrong_type", place,
                            api_arena_printf(job->arena, "`%s` holds numbers, not booleans.", field->name));
}

static bool refuse_element(struct api_job *job, const struct api_field *field, const struct api_place *place,
                           const json_t *json) {
    const char *got = api_describe(job, json), *what = wanted(field) == BOOLEANS ? "booleans" : "numbers";
    api_refuse_place(job, "wrong_type", place,
                     api_arena_printf(job->arena, "`%s` holds %s; this element is %s.", field->name, what, got));
    job->problem->expected = what;
    job->problem->got = got;
    if (wanted(field) == NUMBERS)
        job->problem->hint = api_number_hint(job, json);
    return false;
}

static bool refuse_empty(struct api_job *job, const struct api_field *field, const struct api_place *place) {
    return api_refuse_place(job, "empty_tensor", place,
                            api_arena_printf(job->arena, "`%s` is empty; its shape is %s, with sizes from 1 on.",
                                             field->name, shape_words(field)));
}

static bool check_rank(struct api_job *job, const struct api_field *field, const struct api_place *place,
                       unsigned rank) {
    unsigned most = field->max_rank ? field->max_rank : ATTN_MAX_RANK, least = field->min_rank ? field->min_rank : 1;
    if (rank >= least && rank <= most)
        return true;
    api_refuse_place(job, "wrong_rank", place,
                     api_arena_printf(job->arena, "`%s` has %u dimension%s; its shape is %s.", field->name, rank,
                                      rank == 1 ? "" : "s", shape_words(field)));
    job->problem->expected = shape_words(field);
    return false;
}

bool api_refuse_element(struct api_job *job, const char *code, const struct api_place *place,
                        const struct api_value *value, size_t index, const char *detail) {
    const struct attn_tensor *t = &value->tensor;
    if (value->flat) {
        struct api_place data = {.up = place, .name = "data"}, element = {.up = &data, .index = index};
        return api_refuse_place(job, code, &element, detail);
    }
    size_t at[ATTN_MAX_RANK];
    attn_tensor_index(t, index, at);
    struct steps steps;
    steps_into(&steps, place, at, t->rank);
    return api_refuse_place(job, code, steps.last, detail);
}

/* Doubles become integers in their own place. */
static bool to_ids(struct api_job *job, const struct api_place *place, struct api_value *value) {
    struct attn_tensor *t = &value->tensor;
    char *data = t->data;
    for (size_t i = 0, n = attn_tensor_count(t); i < n; i++) {
        double number;
        memcpy(&number, data + i * sizeof number, sizeof number);
        if (!api_is_integral(number)) {
            struct api_fault fault = api_integer_fault(job, value->field, number);
            api_refuse_element(job, fault.code, place, value, i, fault.detail);
            job->problem->hint = fault.hint;
            return false;
        }
        int64_t id = (int64_t)number;
        memcpy(data + i * sizeof id, &id, sizeof id);
    }
    t->dtype = ATTN_I64;
    return true;
}

/* The tensor's memory is there; the last checks and the field's own element type. */
static bool finish(struct api_job *job, const struct api_place *place, struct api_value *value) {
    const struct api_field *field = value->field;
    struct attn_tensor *t = &value->tensor;
    t->dtype = wanted(field) == BOOLEANS ? ATTN_BOOL : ATTN_F64;
    value->form = field->accepts & (API_TENSOR | API_MASK | API_IDS);
    if (!check_rank(job, field, place, t->rank))
        return false;
    if (attn_tensor_count(t) == 0 && !(field->flags & API_ALLOW_EMPTY))
        return refuse_empty(job, field, place);
    return !(field->accepts & API_IDS) || to_ids(job, place, value);
}

static bool check_item(struct api_job *job, const struct api_field *field, const struct api_lifted *item,
                       const struct api_place *place) {
    struct steps steps;
    steps_into(&steps, place, item->fault_index, item->fault_depth);
    if (item->fault == API_LIFT_RAGGED)
        return refuse_ragged(job, field, steps.last, item->fault_expected, item->fault_got);
    if (item->fault == API_LIFT_OUT_OF_RANGE)
        return api_refuse_place(
            job, "number_out_of_range", steps.last,
            api_arena_printf(job->arena, "This number of `%s` is beyond what a double can hold.", field->name));
    enum kind kind = item->boolean ? BOOLEANS : NUMBERS;
    if (kind != wanted(field)) {
        static const size_t first[API_LIFT_MAX_RANK];
        steps_into(&steps, place, first, kind == NUMBERS ? 0 : item->rank);
        return refuse_kind(job, field, steps.last, kind);
    }
    return true;
}

static bool from_lift(struct api_job *job, const struct api_lifted *item, const struct api_place *place,
                      struct api_value *value) {
    struct attn_tensor *t = &value->tensor;
    if (!check_item(job, value->field, item, place) || !check_rank(job, value->field, place, item->rank))
        return false;
    t->rank = item->rank;
    memcpy(t->shape, item->shape, item->rank * sizeof *t->shape);
    t->data = item->data;
    return finish(job, place, value);
}

/* struct walk - a list that was not lifted.
 *
 *     shape    known up to `known` dimensions
 *     root     where the list stands
 *     rank     depth of the elements, once `any` was seen
 *     out      where to copy to; NULL in the first pass
 */
struct walk {
    struct api_job *job;
    const struct api_field *field;
    const struct api_place *root;
    unsigned known, rank;
    size_t shape[API_LIFT_MAX_RANK];
    bool any;
    char *out;
};

static bool non_finite(const json_t *json, double *value) {
    if (!json_is_string(json))
        return false;
    const char *text = json_string_value(json);
    *value = strcmp(text, "NaN") == 0         ? (double)NAN
             : strcmp(text, "Infinity") == 0  ? (double)INFINITY
             : strcmp(text, "-Infinity") == 0 ? -(double)INFINITY
                                              : 0;
    return *value != 0;
}

/* A length that is met at `depth`: the first one counts for all. */
static bool walk_length(struct walk *w, const struct api_place *place, unsigned depth, size_t length) {
    if (depth >= ATTN_MAX_RANK)
        return check_rank(w->job, w->field, w->root, depth + 1);
    if (depth == w->known)
        w->shape[w->known++] = length;
    else if (w->shape[depth] != length)
        return refuse_ragged(w->job, w->field, place, w->shape[depth], length);
    return true;
}

static bool walk_leaf(struct walk *w, const struct api_place *place, unsigned depth) {
    if (w->any && w->rank != depth)
        return refuse_ragged(w->job, w->field, place, 0, 0);
    if (depth < w->known)
        return refuse_ragged(w->job, w->field, place, w->shape[depth], 0);
    w->any = true;
    w->rank = depth;
    return true;
}

static bool walk_item(struct walk *w, const struct api_lifted *item, const struct api_place *place, unsigned depth) {
    if (w->out) {
        size_t size = item->count * (item->boolean ? sizeof(uint8_t) : sizeof(double));
        memcpy(w->out, item->data, size);
        w->out += size;
        return true;
    }
    if (!check_item(w->job, w->field, item, place))
        return false;
    for (unsigned i = 0; i < item->rank; i++)
        if (!walk_length(w, place, depth + i, item->shape[i]))
            return false;
    return walk_leaf(w, place, depth + item->rank);
}

static bool walk_element(struct walk *w, const json_t *json, const struct api_place *place, unsigned depth) {
    double number = json_number_value(json);
    uint8_t truth = json_is_true(json);
    bool numeric = json_is_number(json) || non_finite(json, &number), boolean = json_is_boolean(json);
    if (!numeric && !boolean)
        return refuse_element(w->job, w->field, place, json);
    if (!w->out) {
        if (boolean != (wanted(w->field) == BOOLEANS))
            return refuse_kind(w->job, w->field, place, boolean ? BOOLEANS : NUMBERS);
        return walk_leaf(w, place, depth);
    }
    size_t size = boolean ? sizeof truth : sizeof number;
    memcpy(w->out, boolean ? (const void *)&truth : &number, size);
    w->out += size;
    return true;
}

static bool walk_list(struct walk *w, const json_t *json, const struct api_place *place, unsigned depth) {
    const struct api_lifted *item = api_placeholder(w->job, json);
    if (item)
        return walk_item(w, item, place, depth);
    if (!json_is_array(json))
        return walk_element(w, json, place, depth);
    size_t n = json_array_size(json);
    if (!w->out && !walk_length(w, place, depth, n))
        return false;
    for (size_t i = 0; i < n; i++) {
        struct api_place here = {.up = place, .index = i};
        if (!walk_list(w, json_array_get(json, i), &here, depth + 1))
            return false;
    }
    return true;
}

static bool from_list(struct api_job *job, json_t *json, const struct api_place *place, struct api_value *value) {
    const struct api_field *field = value->field;
    struct attn_tensor *t = &value->tensor;
    struct walk walk = {.job = job, .field = field, .root = place};
    if (!walk_list(&walk, json, place, 0))
        return false;
    t->rank = walk.known;
    memcpy(t->shape, walk.shape, walk.known * sizeof *t->shape);
    size_t count = attn_tensor_count(t);
    if (count == 0 && !(field->flags & API_ALLOW_EMPTY))
        return refuse_empty(job, field, place);
    t->data = walk.out = api_take(job, count, wanted(field) == BOOLEANS ? sizeof(uint8_t) : sizeof(double));
    return t->data && walk_list(&walk, json, place, 0) && finish(job, place, value);
}

void api_eye_fill(const struct attn_tensor *tensor) {
    double *data = tensor->data;
    size_t n = tensor->shape[0];
    memset(data, 0, n * n * sizeof *data);
    for (size_t i = 0; i < n; i++)
        data[i * n + i] = 1;
}

/* An identity matrix takes no room in the request, so like a draw it gets its memory only when the cost is admitted;
 * fields that cannot be drawn are read before that. */
static bool plan_eye(struct api_job *job, struct api_value *value) {
    if (value->field->flags & API_NO_DRAW) {
        value->tensor.data = api_take(job, attn_tensor_count(&value->tensor), sizeof(double));
        if (value->tensor.data)
            api_eye_fill(&value->tensor);
        return value->tensor.data != NULL;
    }
    struct api_eye *eye = api_take(job, 1, sizeof *eye);
    if (eye) {
        *eye = (struct api_eye){&value->tensor, job->eyes};
        job->eyes = eye;
    }
    return eye != NULL;
}

static bool from_eye(struct api_job *job, json_t *json, const struct api_place *place, struct api_value *value) {
    struct api_place here = {.up = place, .name = "eye"};
    if (wanted(value->field) == BOOLEANS || value->field->accepts & API_IDS)
        return api_refuse_place(job, "wrong_type", &here, "Only a tensor of numbers can be an identity matrix.");
    double size = json_number_value(json);
    if (!json_is_number(json) || size != floor(size) || size < 1)
        return api_refuse_place(job, "bad_value", &here, "`eye` takes the number of rows, an integer from 1 on.");
    if (size > EYE_MAX)
        return api_refuse_place(job, "memory_limit", &here, "A matrix of this size does not fit into memory.");
    size_t n = (size_t)size;
    value->tensor = (struct attn_tensor){.dtype = ATTN_F64, .rank = 2, .shape = {n, n}};
    return finish(job, place, value) && plan_eye(job, value);
}

/* The flat numbers of {"shape", "data"}: one list, of the same field's kind and any length. */
static bool flat_data(struct api_job *job, json_t *json, const struct api_place *place, const struct api_field *field,
                      struct attn_tensor *flat) {
    struct api_field row = *field;
    row.accepts &= ~(unsigned)API_IDS;
    row.accepts |= wanted(field) == BOOLEANS ? API_MASK : API_TENSOR;
    row.min_rank = row.max_rank = 1;
    row.flags |= API_ALLOW_EMPTY;
    row.shape = "(count), one flat list";
    struct api_value value = {.field = &row};
    if (!json_is_array(json))
        return refuse_element(job, field, place, json);
    if (!api_bind_tensor(job, json, place, &value))
        return false;
    *flat = value.tensor;
    return true;
}

static bool from_shape(struct api_job *job, json_t *shape, json_t *data, const struct api_place *place,
                       struct api_value *value) {
    struct api_place at_shape = {.up = place, .name = "shape"}, at_data = {.up = place, .name = "data"};
    struct attn_tensor *t = &value->tensor, flat = {0};
    if (!api_bind_sizes(job, shape, &at_shape, NULL, value->field->flags & API_ALLOW_EMPTY, &t->rank, t->shape) ||
        !flat_data(job, data, &at_data, value->field, &flat))
        return false;
    if (flat.shape[0] != attn_tensor_count(t))
        return api_refuse_place(
            job, "shape_mismatch", &at_data,
            api_arena_printf(job->arena, "The shape %s of `%s` needs %zu numbers; `data` holds %zu.",
                             api_shape_text(job, t), value->field->name, attn_tensor_count(t), flat.shape[0]));
    t->data = flat.data;
    value->flat = true;
    return finish(job, place, value);
}

static bool from_object(struct api_job *job, json_t *json, const struct api_place *place, struct api_value *value) {
    json_t *shape = json_object_get(json, "shape"), *data = json_object_get(json, "data"),
           *eye = json_object_get(json, "eye");
    const char *name;
    json_t *member;
    json_object_foreach(json, name, member) {
        struct api_place here = {.up = place, .name = name};
        if (member != shape && member != data && member != eye)
            return api_refuse_place(job, "unknown_field", &here,
                                    "A tensor is nested lists, {\"shape\": [2, 3], \"data\": [...]} or {\"eye\": 3}.");
    }
    if (eye && !shape && !data)
        return from_eye(job, eye, place, value);
    if (shape && data && !eye)
        return from_shape(job, shape, data, place, value);
    return api_refuse_place(job, eye ? "conflict" : "missing_field", place,
                            "A tensor as an object has either `shape` and `data`, or `eye`.");
}

bool api_bind_tensor(struct api_job *job, json_t *json, const struct api_place *place, struct api_value *value) {
    const struct api_lifted *item = api_placeholder(job, json);
    if (item)
        return from_lift(job, item, place, value);
    return json_is_object(json) ? from_object(job, json, place, value) : from_list(job, json, place, value);
}
