/* wrong_gemm - preloaded by kernel_test.sh: a cblas_dgemm that is wrong, or crashes, or hangs in a loop of executions,
 * as long as OPENBLAS_CORETYPE is one that WRONG_KERNELS names ("-" is an unset one). */
#include <cblas.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

typedef void dgemm(CBLAS_LAYOUT, CBLAS_TRANSPOSE, CBLAS_TRANSPOSE, int, int, int, double, const double *, int,
                   const double *, int, double, double *, int);

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): the library's are not ours */
void cblas_dgemm(CBLAS_LAYOUT layout, CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int m, int n, int k, double alpha,
                 const double *a, int lda, const double *b, int ldb, double beta, double *c, int ldc) {
    const char *kernel = getenv("OPENBLAS_CORETYPE"), *wrong = getenv("WRONG_KERNELS");
    void *symbol = dlsym(RTLD_NEXT, "cblas_dgemm");
    dgemm *real;
    memcpy(&real, &symbol, sizeof real);
    real(layout, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
    if (!wrong || !strstr(wrong, kernel ? kernel : "-"))
        return;
    if (getenv("WRONG_CRASHES"))
        raise(SIGILL);
    if (m == 129 && n == 100)
        c[128 * ldc + 99] += 1; /* one element, in the last corner */
}
