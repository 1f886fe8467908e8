/* selftest.h - does the matrix library compute correctly on this processor? */
#ifndef ATTN_SELFTEST_H
#define ATTN_SELFTEST_H

#include <stdbool.h>
#include <stddef.h>

/* attn_selftest_work - bytes that attn_selftest needs. */
size_t attn_selftest_work(void);

/* attn_selftest - multiplies matrices of small integers, whose products are exact in either precision and any order of
 * summation, in every shape class and transposition that attention uses, and attends to known rows; all against plain
 * loops.
 *
 *     work   attn_selftest_work() bytes, 64-byte aligned
 *
 * Returns  true when every number is right. A few milliseconds.
 */
bool attn_selftest(void *work);

/* The two precisions of it. */
size_t attn_selftest_work_f64(void);
size_t attn_selftest_work_f32(void);
bool attn_selftest_f64(void *work);
bool attn_selftest_f32(void *work);

#endif
