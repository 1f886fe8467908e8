/* json_tensor.c - tensors as nested lists: where almost all the time of a large answer goes.
 *
 * The rows of a large tensor are written ahead by several tasks, each into a text of its own, a wave of rows at a time;
 * the document then takes them over in order. What is held besides the document is one wave, not a second answer.
 */
#include "api/json_text.h"

#include <math.h>
#include <stdlib.h>

enum {
    RUN = 256,            /* numbers written between two looks at the capacity */
    BETWEEN_LOOKS = 8192, /* and between two at whether to stop */
    WAVE_FROM = 1 << 16,  /* numbers of a tensor that are worth a wave */
    PART_NUMBERS = 1 << 15,
    PARTS_MAX = 16
};

static char *put_f64(char *out, double value, int round) {
    if (!isfinite(value))
        return api_text_non_finite(out, value);
    return round < 0 ? api_decimal_write_f64(out, value) : api_decimal_write_rounded(out, value, (unsigned)round);
}

static char *put_f32(char *out, float value, int round) {
    if (!isfinite(value))
        return api_text_non_finite(out, (double)value);
    return round < 0 ? api_decimal_write_f32(out, value) : api_decimal_write_rounded_f32(out, value, (unsigned)round);
}

/* `count` elements of a tensor from element `from` on, separated; count <= RUN, and there is room. One loop per type,
 * so that the type is looked at once a run. */
static char *put_elements(const struct api_writer *w, char *out, const struct attn_tensor *t, size_t from,
                          size_t count) {
    size_t gap = w->pretty ? 2 : 1;
    switch (t->dtype) {
    case ATTN_F64:
        for (size_t i = 0; i < count; i++, out += gap) {
            out = put_f64(out, ((const double *)t->data)[from + i], w->round);
            memcpy(out, ", ", 2);
        }
        break;
    case ATTN_F32:
        for (size_t i = 0; i < count; i++, out += gap) {
            out = put_f32(out, ((const float *)t->data)[from + i], w->round);
            memcpy(out, ", ", 2);
        }
        break;
    case ATTN_BOOL:
        for (size_t i = 0; i < count; i++, out += gap) {
            bool value = ((const uint8_t *)t->data)[from + i] != 0;
            memcpy(out, value ? "true" : "false", 5);
            out += value ? 4 : 5;
            memcpy(out, ", ", 2);
        }
        break;
    case ATTN_I64:
        for (size_t i = 0; i < count; i++, out += gap) {
            out = api_text_integer(out, ((const int64_t *)t->data)[from + i]);
            memcpy(out, ", ", 2);
        }
        break;
    }
    return out - gap;
}

/* `more` numbers are to be written: are they wanted? */
static bool is_stopped(struct api_writer *w, size_t more) {
    w->unlooked += more;
    if (w->unlooked < BETWEEN_LOOKS)
        return false;
    w->unlooked = 0;
    return attn_exec_stopped(w->exec) && !api_text_fail(w, false);
}

/* The innermost row: [a,b,c] on one line. */
static bool put_row(struct api_writer *w, const struct attn_tensor *t, size_t from, size_t count) {
    if (!api_text_put(w, "[", 1))
        return false;
    for (size_t done = 0, n; done < count; done += n) {
        n = count - done < RUN ? count - done : RUN;
        if (is_stopped(w, n))
            return false;
        if ((done && !api_text_put(w, ", ", w->pretty ? 2 : 1)) || !api_text_room(w, n * API_NUMBER_ROOM))
            return false;
        if (!api_text_keep(w, put_elements(w, w->text + w->size, t, from + done, n)))
            return false;
    }
    w->numbers += count;
    return api_text_put(w, "]", 1);
}

/* struct wave - rows `first` to `first + rows` of a tensor, written ahead.
 *
 *     ends     [part_rows * parts] where each row ends in the text of its part
 *     whole    every row of the wave is there; otherwise they are written one by one
 */
struct wave {
    const struct attn_tensor *tensor;
    const struct attn_exec *exec;
    size_t cols, all_rows, first, rows, part_rows, parts;
    struct api_writer part[PARTS_MAX];
    size_t *ends;
    bool whole;
};

static void write_part(void *arg, size_t index, size_t slot) {
    (void)slot;
    struct wave *wave = arg;
    struct api_writer *part = &wave->part[index];
    part->size = 0;
    for (size_t row = index * wave->part_rows, i = 0; row < wave->rows && i < wave->part_rows; row++, i++) {
        if (!put_row(part, wave->tensor, (wave->first + row) * wave->cols, wave->cols))
            return;
        wave->ends[row] = part->size;
    }
}

static void next_wave(struct wave *wave, size_t first) {
    size_t most = wave->part_rows * wave->parts, left = wave->all_rows - first;
    wave->first = first;
    wave->rows = left < most ? left : most;
    wave->whole = attn_exec_run(wave->exec, wave->parts, write_part, wave);
    for (size_t i = 0; i < wave->parts; i++)
        wave->whole &= !wave->part[i].failed;
}

/* The row whose elements begin at `from`, out of the wave if it is there. */
static bool put_row_of(struct api_writer *w, struct wave *wave, const struct attn_tensor *t, size_t from,
                       size_t count) {
    if (!wave)
        return put_row(w, t, from, count);
    size_t row = from / count;
    if (row >= wave->first + wave->rows)
        next_wave(wave, row);
    if (!wave->whole)
        return put_row(w, t, from, count);
    size_t at = row - wave->first, begin = at % wave->part_rows ? wave->ends[at - 1] : 0;
    w->numbers += count;
    return api_text_put(w, wave->part[at / wave->part_rows].text + begin, wave->ends[at] - begin);
}

/* Sets a wave up where it pays and memory allows. */
static bool wave_begin(struct wave *wave, const struct api_writer *w, const struct attn_tensor *t) {
    size_t slots = attn_exec_slots(w->exec), count = attn_tensor_count(t), cols = t->shape[t->rank - 1];
    if (slots < 2 || count < WAVE_FROM)
        return false;
    *wave = (struct wave){.tensor = t, .exec = w->exec, .cols = cols, .all_rows = count / cols};
    wave->parts = 2 * slots < PARTS_MAX ? 2 * slots : PARTS_MAX;
    wave->part_rows = cols < PART_NUMBERS ? PART_NUMBERS / cols : 1;
    wave->ends = calloc(wave->part_rows * wave->parts, sizeof *wave->ends);
    for (size_t i = 0; i < wave->parts; i++) {
        api_write_init(&wave->part[i], 0, w->pretty, w->round);
        wave->part[i].exec = w->exec;
    }
    return wave->ends != NULL;
}

static void wave_end(struct wave *wave) {
    for (size_t i = 0; i < wave->parts; i++)
        api_write_free(&wave->part[i]);
    free(wave->ends);
}

/* Level `axis` of the nested list whose elements begin at `*from`; the recursion is at most ATTN_MAX_RANK deep. */
static bool put_level(struct api_writer *w, struct wave *wave, const struct attn_tensor *t, unsigned axis,
                      size_t *from) {
    size_t n = t->shape[axis];
    if (axis + 1 == t->rank) {
        *from += n;
        return put_row_of(w, wave, t, *from - n, n);
    }
    if (!api_text_put(w, "[", 1))
        return false;
    for (size_t i = 0; i < n; i++) {
        if (i && !api_text_put(w, ",", 1))
            return false;
        if (w->pretty && !api_text_line(w, w->depth + axis + 1))
            return false;
        if (!put_level(w, wave, t, axis + 1, from))
            return false;
    }
    if (w->pretty && n && !api_text_line(w, w->depth + axis))
        return false;
    return api_text_put(w, "]", 1);
}

void api_write_tensor(struct api_writer *w, const char *key, const struct attn_tensor *tensor) {
    if (!api_text_begin(w, key))
        return;
    if (tensor->rank == 0) {
        if (api_text_room(w, API_NUMBER_ROOM) && api_text_keep(w, put_elements(w, w->text + w->size, tensor, 0, 1)))
            w->numbers++;
        return;
    }
    size_t count = attn_tensor_count(tensor), typical = tensor->dtype == ATTN_F64 ? 21 : 11;
    if (count < SIZE_MAX / 64)
        api_write_reserve(w, count * typical);
    size_t from = 0;
    struct wave wave;
    bool waves = wave_begin(&wave, w, tensor);
    put_level(w, waves ? &wave : NULL, tensor, 0, &from);
    if (waves)
        wave_end(&wave);
}
