/* fuzz_lift.c - the lift and the decimal conversions on any bytes.
 *
 * Whatever comes in: every item lies within the text, in order; what is between the items is in the envelope; written
 * out and lifted again, a sound item is the same, bit for bit; with the C library, a number is the same too.
 */
#include "api/decimal.h"
#include "api/json_write.h"
#include "api/lift.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void require(bool holds) {
    if (!holds)
        abort();
}

static char *write_item(const struct api_lifted *item, size_t *size) {
    struct attn_tensor tensor = {item->boolean ? ATTN_BOOL : ATTN_F64, item->rank, {0}, item->data};
    memcpy(tensor.shape, item->shape, item->rank * sizeof *item->shape);
    require(attn_tensor_count(&tensor) == item->count);
    struct api_writer w;
    api_write_init(&w, 0, item->count % 2, -1);
    api_write_tensor(&w, NULL, &tensor);
    return api_write_finish(&w, size);
}

static void check_item(const struct api_lifted *item) {
    require((uintptr_t)item->data % 64 == 0 && item->count > 0);
    if (item->fault != API_LIFT_FINE) {
        require(item->fault_depth <= API_LIFT_MAX_RANK);
        return;
    }
    require(item->rank >= 1 && item->rank <= API_LIFT_MAX_RANK);
    if (item->rank > ATTN_MAX_RANK)
        return;
    size_t size;
    char *text = write_item(item, &size);
    require(text);
    struct api_arena arena;
    struct api_lift again;
    api_arena_init(&arena, 0);
    bool words_only = !item->boolean && strcspn(text, "0123456789") == size; /* "NaN" alone is not lifted */
    require(api_lift(&arena, text, size, NULL, &again) && (again.count == 1 || words_only));
    if (again.count == 1) {
        require(again.items[0].rank == item->rank && again.items[0].count == item->count);
        const unsigned char *a = item->data, *b = again.items[0].data;
        size_t width = item->boolean ? 1 : sizeof(double);
        for (size_t i = 0; i < item->count; i++, a += width, b += width) {
            double x = 0, y = 0;
            memcpy(&x, a, width);
            memcpy(&y, b, width);
            require(memcmp(a, b, width) == 0 || (x != x && y != y));
        }
    }
    api_arena_free(&arena);
    free(text);
}

/* The number at the begin of the bytes, as the C library reads it. */
static void check_number(const char *bytes, size_t size) {
    char text[4096];
    double value;
    const char *next;
    enum api_decimal_status status = api_decimal_read(bytes, bytes + size, &value, &next);
    require(next >= bytes && next <= bytes + size);
    size_t length = (size_t)(next - bytes);
    if (status == API_DECIMAL_MALFORMED || length >= sizeof text)
        return;
    memcpy(text, bytes, length);
    text[length] = '\0';
    double expected = strtod(text, NULL);
    require(value == expected && !signbit(value) == !signbit(expected));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    char *body = malloc(size ? size : 1); /* ends where its memory ends */
    if (size)
        memcpy(body, bytes, size);
    check_number(body, size);
    struct api_arena arena;
    struct api_lift lift;
    api_arena_init(&arena, 0);
    require(api_lift(&arena, body, size, NULL, &lift));
    require(strnlen(lift.text, lift.size + 1) <= lift.size && lift.text[lift.size] == '\0');
    size_t from = 0;
    for (size_t i = 0; i < lift.count; i++) {
        require(lift.items[i].begin >= from && lift.items[i].end <= size);
        require(body[lift.items[i].begin] == '[' && body[lift.items[i].end - 1] == ']');
        from = lift.items[i].end;
        check_item(&lift.items[i]);
    }
    for (size_t offset = 0, before = 0; offset <= lift.size && offset < 4096; offset++) {
        size_t origin = api_lift_origin(&lift, offset);
        require(origin >= before && origin <= size);
        before = origin;
    }
    api_arena_free(&arena);
    free(body);
    return 0;
}
