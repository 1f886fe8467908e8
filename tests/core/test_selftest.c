/* test_selftest - the self-test passes with this matrix library, and notices a product that is wrong.
 *
 * The linker puts cblas_dgemm and cblas_sgemm of the project's objects through here (-Wl,--wrap), so that each product
 * of the self-test can be spoilt in turn: its last element, the gap behind its first row, or all of it.
 */
#include "core/selftest.h"

#include <cblas.h>
#include <criterion/criterion.h>
#include <stdlib.h>

enum spoil { NOTHING, LAST, GAP, ALL };

/* Products of matrices, nine shapes in four transpositions; those of the attention follow. */
enum { MATRICES = 9 * 4 };

static _Thread_local struct {
    enum spoil how;
    unsigned at, calls;
} fault;

#define GEMM(real, name)                                                                                               \
    void __real_##name(CBLAS_LAYOUT layout, CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int m, int n, int k, real alpha,   \
                       const real *a, int lda, const real *b, int ldb, real beta, real *c, int ldc);                   \
    void __wrap_##name(CBLAS_LAYOUT layout, CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int m, int n, int k, real alpha,   \
                       const real *a, int lda, const real *b, int ldb, real beta, real *c, int ldc);                   \
    void __wrap_##name(CBLAS_LAYOUT layout, CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int m, int n, int k, real alpha,   \
                       const real *a, int lda, const real *b, int ldb, real beta, real *c, int ldc) {                  \
        __real_##name(layout, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);                                   \
        if (++fault.calls != fault.at)                                                                                 \
            return;                                                                                                    \
        for (int i = 0; fault.how == ALL && i < m; i++)                                                                \
            for (int j = 0; j < n; j++)                                                                                \
                c[i * ldc + j] = 3 * c[i * ldc + j] + 1;                                                               \
        if (fault.how == LAST)                                                                                         \
            c[(m - 1) * ldc + n - 1] += 1;                                                                             \
        if (fault.how == GAP)                                                                                          \
            c[n] = 0;                                                                                                  \
    }
GEMM(double, cblas_dgemm)
GEMM(float, cblas_sgemm)

/* Spoils product `at`, from 1 on; fault.calls counts them. */
static bool passes(bool (*test)(void *), void *work, enum spoil how, unsigned at) {
    fault.how = how;
    fault.at = at;
    fault.calls = 0;
    bool passed = test(work);
    fault.at = 0;
    return passed;
}

static void *take_work(void) {
    void *work = aligned_alloc(64, (attn_selftest_work() + 63) / 64 * 64);
    cr_assert_not_null(work);
    return work;
}

Test(selftest, passes_here) {
    void *work = take_work();
    cr_expect(attn_selftest(work));
    cr_expect(attn_selftest_f64(work));
    cr_expect(attn_selftest_f32(work));
    free(work);
}

Test(selftest, every_wrong_product_is_noticed) {
    bool (*const tests[])(void *) = {attn_selftest_f64, attn_selftest_f32};
    void *work = take_work();
    for (size_t t = 0; t < 2; t++) {
        cr_assert(passes(tests[t], work, NOTHING, 0));
        unsigned calls = fault.calls;
        cr_assert_gt(calls, (unsigned)MATRICES, "attention multiplies too");
        for (unsigned at = 1; at <= calls; at++) {
            cr_expect_not(passes(tests[t], work, ALL, at), "precision %zu, product %u of %u", t, at, calls);
            if (at <= MATRICES)
                for (enum spoil how = LAST; how <= GAP; how++)
                    cr_expect_not(passes(tests[t], work, how, at), "precision %zu, product %u, fault %d", t, at, how);
        }
    }
    free(work);
}

/* Either precision alone makes the whole self-test fail. */
Test(selftest, both_precisions_count) {
    void *work = take_work();
    passes(attn_selftest_f64, work, NOTHING, 0);
    unsigned doubles = fault.calls;
    cr_expect_not(passes(attn_selftest, work, ALL, 1));
    cr_expect_not(passes(attn_selftest, work, ALL, doubles + 1));
    cr_expect(passes(attn_selftest, work, NOTHING, 0));
    free(work);
}
