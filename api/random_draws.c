/* random_draws.c - see draws.h. */
#include "api/bind.h"
#include "api/draws.h"
#include "core/random.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { SEED_WORDS_MAX = 64, BETWEEN_STOPS = 1 << 16 };

enum { RANDOM_SEED, RANDOM_DRAWS, RANDOM_FIELDS };

enum { DRAW_INTO, DRAW_SHAPE, DRAW_LOC, DRAW_SCALE, DRAW_DISTRIBUTION, DRAW_FIELDS };

enum { NORMAL, UNIFORM };

static const char *const distributions[] = {"normal", "uniform", NULL};

static const struct api_field draw_fields[DRAW_FIELDS] = {
    [DRAW_INTO] = {.name = "into",
                   .accepts = API_STRINGS,
                   .flags = API_REQUIRED,
                   .doc = "Names of the fields to fill, in order; `tokens.table` for a field inside `tokens`."},
    [DRAW_SHAPE] = {.name = "shape",
                    .accepts = API_SIZES,
                    .flags = API_REQUIRED,
                    .doc = "Shape of each of them; a size may be \"vocab\"."},
    [DRAW_LOC] =
        {.name = "loc", .accepts = API_NUMBER, .flags = API_HAS_DEFAULT, .standard = 0, .doc = "Added to each number."},
    [DRAW_SCALE] = {.name = "scale",
                    .accepts = API_NUMBER,
                    .flags = API_HAS_DEFAULT,
                    .standard = 1,
                    .doc = "Multiplies each number, from 0 on."},
    [DRAW_DISTRIBUTION] =
        {.name = "distribution",
         .accepts = API_CHOICE,
         .flags = API_HAS_DEFAULT,
         .standard = NORMAL,
         .choices = distributions,
         .doc = "\"normal\": rng.normal(loc, scale, shape); \"uniform\": loc + scale * rng.random(shape)."},
};

static const struct api_table draw_table = {"Draw", draw_fields, DRAW_FIELDS};

static const struct api_field random_fields[RANDOM_FIELDS] = {
    [RANDOM_SEED] =
        {.name = "seed",
         .accepts = API_INT | API_STRING | API_IDS,
         .flags = API_REQUIRED | API_NO_DRAW,
         .min_rank = 1,
         .max_rank = 1,
         .shape = "(n)",
         .doc = "Seed of default_rng: an integer from 0 on, one of any length as a decimal string, or a list."},
    [RANDOM_DRAWS] = {.name = "draws",
                      .accepts = API_LIST,
                      .flags = API_REQUIRED,
                      .object = &draw_table,
                      .doc = "What to draw, in order, from one stream."},
};

const struct api_table api_random_table = {"Random", random_fields, RANDOM_FIELDS};

/* struct target - one tensor to be filled. */
struct target {
    struct attn_tensor *tensor;
    double loc, scale;
    bool uniform;
    struct target *next;
};

/* struct api_draws - what was planned, in order. */
struct api_draws {
    uint32_t seed[SEED_WORDS_MAX];
    size_t seed_words;
    double numbers;
    struct target *first, **last;
};

static bool refuse_seed(struct api_job *job, const char *why) {
    return api_refuse(job, "bad_value", "/random/seed", "`seed` %s.", why);
}

/* Appends an integer's words, least significant first; 0 has one word, as in NumPy. */
static bool add_integer(struct api_draws *draws, uint64_t integer) {
    do {
        if (draws->seed_words == SEED_WORDS_MAX)
            return false;
        draws->seed[draws->seed_words++] = (uint32_t)integer;
        integer >>= 32;
    } while (integer);
    return true;
}

/* words = words * 10 + digit */
static bool push_digit(struct api_draws *draws, unsigned digit) {
    uint64_t carry = digit;
    for (size_t i = 0; i < draws->seed_words; i++) {
        carry += (uint64_t)draws->seed[i] * 10;
        draws->seed[i] = (uint32_t)carry;
        carry >>= 32;
    }
    return carry == 0 || add_integer(draws, carry);
}

static bool seed_from_text(struct api_job *job, struct api_draws *draws, const char *text) {
    draws->seed_words = 1;
    if (!*text)
        return refuse_seed(job, "is an empty string");
    for (; *text; text++) {
        if (!isdigit((unsigned char)*text))
            return refuse_seed(job, "as a string is made of decimal digits");
        if (!push_digit(draws, (unsigned)(*text - '0')))
            return refuse_seed(job, "has more than 2048 bits");
    }
    return true;
}

static bool seed_from_list(struct api_job *job, struct api_draws *draws, const struct attn_tensor *list) {
    const int64_t *integers = list->data;
    for (size_t i = 0; i < list->shape[0]; i++) {
        if (integers[i] < 0)
            return refuse_seed(job, "takes integers from 0 on");
        if (!add_integer(draws, (uint64_t)integers[i]))
            return refuse_seed(job, "has more than 2048 bits");
    }
    return true;
}

static bool read_seed(struct api_job *job, struct api_draws *draws, const struct api_value *seed) {
    if (seed->form == API_STRING)
        return seed_from_text(job, draws, seed->string);
    if (seed->form == API_IDS)
        return seed_from_list(job, draws, &seed->tensor);
    if (seed->integer < 0)
        return refuse_seed(job, "is an integer from 0 on");
    return add_integer(draws, (uint64_t)seed->integer);
}

/* The value that `name` ("wq", "tokens.table") stands for in values of `table`; NULL after reporting. */
static struct api_value *find_target(struct api_job *job, const struct api_table *table, struct api_value *values,
                                     const char *name, const struct api_place *place) {
    char head[64];
    size_t size = strcspn(name, ".");
    if (size < sizeof head) {
        memcpy(head, name, size);
        head[size] = 0;
        size_t row = api_field_find(table, head);
        if (row < table->count && !name[size])
            return &values[row];
        if (row < table->count && table->fields[row].accepts & API_OBJECT && values[row].inner)
            return find_target(job, table->fields[row].object, values[row].inner, name + size + 1, place);
        if (row < table->count && table->fields[row].accepts & API_OBJECT) {
            api_refuse_place(job, "missing_field", place,
                             api_arena_printf(job->arena, "`%s` is to be drawn, but there is no `%s`.", name, head));
            return NULL;
        }
    }
    const char *hint = api_guess_text(job, api_guess_field(table, name));
    api_refuse_place(job, "unknown_field", place,
                     api_arena_printf(job->arena, "There is no field \"%.64s\" to fill.%s%s", name, hint ? " " : "",
                                      hint ? hint : ""));
    job->problem->hint = hint;
    return NULL;
}

static bool check_target(struct api_job *job, const struct api_value *value, unsigned rank,
                         const struct api_place *place) {
    const struct api_field *field = value->field;
    unsigned most = field->max_rank ? field->max_rank : ATTN_MAX_RANK, least = field->min_rank ? field->min_rank : 1;
    if (!(field->accepts & API_TENSOR) || field->flags & API_NO_DRAW)
        return api_refuse_place(
            job, "wrong_type", place,
            api_arena_printf(job->arena, "`%s` does not hold numbers that can be drawn.", field->name));
    if (value->form != API_ABSENT)
        return api_refuse_place(job, "conflict", place,
                                api_arena_printf(job->arena, "`%s` is %s; it can have its numbers only once.",
                                                 field->name, value->json ? "given and drawn" : "drawn twice"));
    if (rank < least || rank > most)
        return api_refuse_place(job, "wrong_rank", place,
                                api_arena_printf(job->arena, "`%s` would have %u dimension%s; its shape is %s.",
                                                 field->name, rank, rank == 1 ? "" : "s",
                                                 field->shape ? field->shape : "another one"));
    return true;
}

static bool plan_target(struct api_job *job, struct api_draws *draws, const struct api_value *draw,
                        struct api_value *value, unsigned rank, const size_t *shape) {
    struct target *target = api_take(job, 1, sizeof *target);
    if (!target)
        return false;
    value->form = API_TENSOR;
    value->tensor = (struct attn_tensor){.dtype = ATTN_F64, .rank = rank};
    memcpy(value->tensor.shape, shape, rank * sizeof *shape);
    *target = (struct target){.tensor = &value->tensor,
                              .loc = draw[DRAW_LOC].number,
                              .scale = draw[DRAW_SCALE].number,
                              .uniform = draw[DRAW_DISTRIBUTION].choice == UNIFORM};
    draws->numbers += (double)attn_tensor_count(&value->tensor);
    *draws->last = target;
    draws->last = &target->next;
    return true;
}

static bool plan_draw(struct api_job *job, struct api_draws *draws, const struct api_value *draw, size_t index,
                      size_t vocab) {
    struct api_place list = {.prefix = "/random", .name = "draws"}, here = {.up = &list, .index = index},
                     at_shape = {.up = &here, .name = "shape"}, at_into = {.up = &here, .name = "into"},
                     at_scale = {.up = &here, .name = "scale"};
    unsigned rank;
    size_t shape[ATTN_MAX_RANK];
    if (!api_bind_sizes(job, draw[DRAW_SHAPE].json, &at_shape, &vocab, false, &rank, shape))
        return false;
    if (draw[DRAW_SCALE].number < 0)
        return api_refuse_place(job, "bad_value", &at_scale, "`scale` is a number from 0 on.");
    for (size_t i = 0; i < draw[DRAW_INTO].count; i++) {
        struct api_place place = {.up = &at_into, .index = i};
        struct api_value *value = find_target(job, job->table, job->values, draw[DRAW_INTO].strings[i], &place);
        if (!value || !check_target(job, value, rank, &place) || !plan_target(job, draws, draw, value, rank, shape))
            return false;
    }
    return true;
}

bool api_draws_plan(struct api_job *job, const struct api_value *random, size_t vocab) {
    struct api_draws *draws = api_take(job, 1, sizeof *draws);
    if (!draws)
        return false;
    memset(draws, 0, sizeof *draws);
    draws->last = &draws->first;
    if (!read_seed(job, draws, &random->inner[RANDOM_SEED]))
        return false;
    const struct api_value *list = &random->inner[RANDOM_DRAWS];
    for (size_t i = 0; i < list->count; i++)
        if (!plan_draw(job, draws, list->list[i], i, vocab))
            return false;
    job->draws = draws;
    return true;
}

double api_draws_numbers(const struct api_draws *draws) {
    return draws ? draws->numbers : 0;
}

static bool fill(struct api_job *job, struct attn_rng *rng, const struct target *target) {
    size_t count = attn_tensor_count(target->tensor);
    double *data = target->tensor->data;
    for (size_t done = 0; done < count; done += BETWEEN_STOPS) {
        size_t n = count - done < BETWEEN_STOPS ? count - done : BETWEEN_STOPS;
        if (attn_exec_stopped(job->env->exec))
            return api_refuse_stopped(job);
        if (target->uniform)
            attn_rng_uniform(rng, data + done, n, target->loc, target->scale);
        else
            attn_rng_normal(rng, data + done, n, target->loc, target->scale);
    }
    return true;
}

bool api_draws_fill(struct api_job *job) {
    if (!job->draws)
        return true;
    struct attn_rng rng;
    attn_rng_seed(&rng, job->draws->seed, job->draws->seed_words);
    for (struct target *target = job->draws->first; target; target = target->next) {
        target->tensor->data = api_take(job, attn_tensor_count(target->tensor), sizeof(double));
        if (!target->tensor->data || !fill(job, &rng, target))
            return false;
    }
    return true;
}
