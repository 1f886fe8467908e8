/* envelope.c - see envelope.h. jansson's own messages become problems that point into the client's text. */
#include "api/envelope.h"

#include "api/json_hint.h"
#include "api/place.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 2048, ALIGN = 16, LONG_TEXT = 1 << 20, PIECES_A_LOOK = 64 /* of 1024 bytes */ };

/* The arena of the request that this thread handles now, the block that small pieces are cut from, and where to go when
 * memory is refused while a text is read. */
static _Thread_local struct {
    struct api_arena *arena;
    char *next, *end;
    jmp_buf *refused;
} pool;

/* jansson's reader overlooks that its text buffer could not grow, and then runs over the end of a string or takes half
 * a number (lex_save in its load.c). So it never sees a refusal: what it took is the arena's, and it is left by a jump.
 */
static void *arena_take(size_t size) {
    void *memory = api_arena_take(pool.arena, size);
    if (!memory && pool.refused)
        longjmp(*pool.refused, 1);
    return memory;
}

static void *pool_take(size_t size) {
    if (!pool.arena)
        return malloc(size);
    size = (size + ALIGN - 1) / ALIGN * ALIGN;
    if (size > (size_t)(pool.end - pool.next)) {
        if (size >= BLOCK / 2)
            return arena_take(size);
        char *block = arena_take(BLOCK);
        if (!block)
            return NULL;
        pool.next = block;
        pool.end = block + BLOCK;
    }
    char *piece = pool.next;
    pool.next += size;
    return piece;
}

static void pool_give(void *piece) {
    if (!pool.arena)
        free(piece);
}

/* jansson's allocator belongs to the process, so it is set before main and asks the thread. */
__attribute__((constructor)) static void use_pool(void) {
    json_set_alloc_funcs(pool_take, pool_give);
}

void api_envelope_begin(struct api_arena *arena) {
    pool.arena = arena;
    pool.next = pool.end = NULL;
}

void api_envelope_end(void) {
    pool.arena = NULL;
}

static bool is_blank(const char *body, size_t size) {
    for (size_t i = 0; i < size; i++)
        if (!strchr(" \t\r\n", body[i]) || !body[i])
            return false;
    return true;
}

/* jansson's sentence without the piece of text that it quotes, which may be cut in the middle of a character. */
static const char *reason(struct api_job *job, const json_error_t *error) {
    const char *near = strstr(error->text, " near '");
    size_t size = near ? (size_t)(near - error->text) : strlen(error->text);
    return api_arena_printf(job->arena, "%.*s", (int)size, error->text);
}

/* Where the text goes wrong: jansson has read the token at fault, and quotes it when it is short. */
static size_t fault_position(const json_error_t *error) {
    size_t position = error->position > 0 ? (size_t)error->position : 0;
    const char *near = strstr(error->text, " near '");
    size_t size = near ? strlen(near + 7) : 0;
    return size > 0 && near[6 + size] == '\'' && size - 1 <= position ? position - (size - 1) : position;
}

/* jansson takes a NUL byte for the end of the text, and stops behind it. */
static bool is_behind_nul(const json_error_t *error, const char *body, size_t size, size_t offset) {
    return offset > 0 && offset <= size && !body[offset - 1] && strstr(error->text, " near end of file");
}

static void report_place(struct api_job *job, const char *body, size_t size, size_t offset) {
    api_line_column(body, offset < size ? offset : size, &job->problem->line, &job->problem->column);
}

static bool refuse_text(struct api_job *job, const json_error_t *error, const char *body, size_t size,
                        const struct api_lift *lift) {
    size_t offset = api_lift_origin(lift, fault_position(error));
    const char *why = reason(job, error);
    if (is_behind_nul(error, body, size, offset)) {
        offset--;
        why = "it holds a NUL byte";
    }
    switch (json_error_code(error)) {
    case json_error_numeric_overflow:
        api_refuse(job, "number_out_of_range", api_pointer_at(job->arena, body, size, offset),
                   "This number is beyond what a double can hold.");
        break;
    case json_error_duplicate_key:
        api_refuse(job, "duplicate_field", api_pointer_at(job->arena, body, size, offset),
                   "This object names a field twice.");
        break;
    case json_error_stack_overflow:
        api_refuse(job, "not_json", NULL, "The body nests lists or objects deeper than is read.");
        break;
    case json_error_invalid_utf8:
        api_refuse(job, "invalid_unicode", NULL, "The body is not valid UTF-8.");
        job->problem->hint = api_json_hint(body, size, offset);
        break;
    case json_error_null_character:
    case json_error_null_byte_in_key:
        api_refuse(job, "invalid_unicode", NULL, "A string holds \\u0000, which no text here may hold.");
        break;
    default:
        if (strncmp(error->text, "invalid Unicode", 15) == 0)
            api_refuse(job, "invalid_unicode", NULL, "A string holds half of a surrogate pair.");
        else
            api_refuse(job, "not_json", NULL, "The body is not JSON: %s.", why ? why : "it cannot be read");
        job->problem->hint = strstr(error->text, "end of file expected")
                                 ? "One object is the whole request; remove what follows it."
                                 : api_json_hint(body, size, offset);
    }
    report_place(job, body, size, offset);
    return false;
}

/* struct feed - a long text on its way to jansson, which stops asking for more when told so. */
struct feed {
    const struct attn_exec *exec;
    const char *next, *end;
    size_t pieces;
};

static size_t feed_piece(void *buffer, size_t size, void *arg) {
    struct feed *feed = arg;
    if (++feed->pieces % PIECES_A_LOOK == 0 && attn_exec_stopped(feed->exec))
        return (size_t)-1;
    size_t left = (size_t)(feed->end - feed->next);
    size = left < size ? left : size;
    memcpy(buffer, feed->next, size);
    feed->next += size;
    return size;
}

static json_t *load(const struct api_lift *lift, const struct attn_exec *exec, size_t how, json_error_t *error) {
    how |= JSON_REJECT_DUPLICATES | JSON_DECODE_ANY;
    if (lift->size < LONG_TEXT)
        return json_loadb(lift->text, lift->size, how, error);
    struct feed feed = {exec, lift->text, lift->text + lift->size, 0};
    return json_load_callback(feed_piece, &feed, how, error);
}

json_t *api_envelope_load(const struct api_lift *lift, const struct attn_exec *exec, size_t how, json_error_t *error) {
    jmp_buf refused;
    json_t *volatile root = NULL;
    memset(error, 0, sizeof *error);
    pool.refused = &refused;
    if (setjmp(refused) == 0)
        root = load(lift, exec, how, error);
    pool.refused = NULL;
    return root;
}

/* Integers that no int64_t holds are legal JSON numbers: they are read as doubles, and so is the rest then. */
static json_t *load_any(const struct api_lift *lift, const struct attn_exec *exec, json_error_t *error) {
    json_t *root = api_envelope_load(lift, exec, 0, error);
    if (root || json_error_code(error) != json_error_numeric_overflow)
        return root;
    return api_envelope_load(lift, exec, JSON_DECODE_INT_AS_REAL, error);
}

json_t *api_envelope_read(struct api_job *job, const char *body, size_t size, struct api_lift *lift) {
    if (is_blank(body, size)) {
        api_refuse(job, "empty_body", "", "The body is empty; send one JSON object.");
        return NULL;
    }
    const struct attn_exec *exec = job->env->exec;
    if (!api_lift(job->arena, body, size, exec, lift)) {
        api_refuse_unread(job);
        return NULL;
    }
    json_error_t error;
    json_t *root = load_any(lift, exec, &error);
    if (!root) {
        if (job->arena->failed || attn_exec_stopped(exec))
            api_refuse_unread(job);
        else
            refuse_text(job, &error, body, size, lift);
        return NULL;
    }
    if (json_is_object(root))
        return root;
    api_refuse(job, "not_an_object", "", "The body is %s; it must be one JSON object.",
               json_is_array(root) ? "a list" : "a single value");
    return NULL;
}
