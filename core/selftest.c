#include "core/selftest.h"

size_t attn_selftest_work(void) {
    size_t a = attn_selftest_work_f64(), b = attn_selftest_work_f32();
    return a > b ? a : b;
}

bool attn_selftest(void *work) {
    return attn_selftest_f64(work) && attn_selftest_f32(work);
}
