/* test_heads - copies that split heads and put a cache in front, and the mean over heads, element by element against
 * the index formula of each. Values name their own place, so a misplaced element cannot go unseen. */
#include "core/concat.h"
#include "core/heads.h"

#include <criterion/criterion.h>

enum { BATCH = 2, HEADS = 3, ROWS = 4, COLS = 5, PAST = 2 };

Test(heads, split_takes_contiguous_columns) {
    float joined[BATCH][ROWS][HEADS * COLS], split[BATCH][HEADS][ROWS][COLS];
    for (int i = 0; i < BATCH * ROWS * HEADS * COLS; i++)
        (&joined[0][0][0])[i] = (float)i;
    struct attn_view view = {joined, ROWS * HEADS * COLS, COLS, HEADS * COLS};
    attn_heads_copy(ATTN_F32, &view, (size_t[]){BATCH, HEADS, ROWS, COLS}, split);
    for (int b = 0; b < BATCH; b++)
        for (int h = 0; h < HEADS; h++)
            for (int i = 0; i < ROWS; i++)
                for (int c = 0; c < COLS; c++)
                    cr_assert_eq(split[b][h][i][c], joined[b][i][h * COLS + c]);
}

Test(heads, concat_puts_the_past_first) {
    double past[BATCH][HEADS][PAST][COLS], fresh[BATCH][ROWS][HEADS * COLS], out[BATCH][HEADS][PAST + ROWS][COLS];
    for (int i = 0; i < BATCH * HEADS * PAST * COLS; i++)
        (&past[0][0][0][0])[i] = -1 - i;
    for (int i = 0; i < BATCH * ROWS * HEADS * COLS; i++)
        (&fresh[0][0][0])[i] = i;
    struct attn_view view = {fresh, ROWS * HEADS * COLS, COLS, HEADS * COLS};
    attn_concat(ATTN_F64, &(struct attn_concat_dims){BATCH, HEADS, PAST, ROWS, COLS}, past, &view, out);
    for (int b = 0; b < BATCH; b++)
        for (int h = 0; h < HEADS; h++)
            for (int i = 0; i < PAST + ROWS; i++)
                for (int c = 0; c < COLS; c++)
                    cr_assert_eq(out[b][h][i][c], i < PAST ? past[b][h][i][c] : fresh[b][i - PAST][h * COLS + c]);
}

Test(heads, concat_of_no_past_is_a_copy) {
    double fresh[ROWS][COLS] = {{1, 2, 3}}, out[ROWS][COLS];
    struct attn_view view = {fresh, 0, 0, COLS};
    attn_concat(ATTN_F64, &(struct attn_concat_dims){1, 1, 0, ROWS, COLS}, NULL, &view, out);
    cr_assert_arr_eq(out, fresh, sizeof out);
}

Test(heads, mean_over_heads) {
    double wide[BATCH][HEADS][COLS], wide_mean[BATCH][COLS];
    float narrow[BATCH][HEADS][COLS], narrow_mean[BATCH][COLS];
    for (int i = 0; i < BATCH * HEADS * COLS; i++)
        (&wide[0][0][0])[i] = (&narrow[0][0][0])[i] = (float)(i * i);
    attn_heads_mean(ATTN_F64, BATCH, HEADS, COLS, wide, wide_mean);
    attn_heads_mean(ATTN_F32, BATCH, HEADS, COLS, narrow, narrow_mean);
    for (int b = 0; b < BATCH; b++)
        for (int c = 0; c < COLS; c++) {
            double sum = wide[b][0][c] + wide[b][1][c] + wide[b][2][c];
            cr_assert_eq(wide_mean[b][c], sum / 3);
            cr_assert_float_eq(narrow_mean[b][c], (float)(sum / 3), 1e-4);
        }
}
