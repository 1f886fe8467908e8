/* kernel.h - which OpenBLAS kernel computes, chosen by the processor's features and proven by a self-test. */
#ifndef SRV_KERNEL_H
#define SRV_KERNEL_H

#include <stdbool.h>
#include <stddef.h>

/* srv_kernel_start - settles the kernel. Call it early in main, before the first thread and the first multiplication.
 *
 *     wish   the operator's --kernel, an OPENBLAS_CORETYPE name; NULL or "auto": the environment's OPENBLAS_CORETYPE if
 *            set, else by the processor
 *     argv   main's, for starting over
 *
 * OpenBLAS reads its kernel and its number of threads from the environment once, when it is loaded. Where what it
 * loaded is not what is wanted, the program sets the environment and executes itself again: this function then does not
 * return, and the program comes by here once more with the right kernel. The self-test follows; a wrong result moves on
 * to the next simpler kernel. Each step happens at most once, so it always ends. A kernel the operator named is tested
 * too, and kept whatever the test says.
 *
 * Returns  false when no kernel that was tried computes correctly: the caller should refuse to serve.
 * Threads  none may run yet.
 */
bool srv_kernel_start(const char *wish, char **argv);

/* srv_kernel_name - the kernel in use as OpenBLAS calls it ("SkylakeX"). Static. */
const char *srv_kernel_name(void);

/* srv_kernel_how - how it was chosen, a sentence for logs and /version. Static. */
const char *srv_kernel_how(void);

/* srv_kernel_self_test - multiplies known matrices and attends to known rows, in both precisions, against plain loops.
 * Returns false on a wrong number. Fast: a few milliseconds. */
bool srv_kernel_self_test(void);

enum { SRV_KERNEL_MOST = 8 };
enum srv_kernel_maker { SRV_CPU_OTHER, SRV_CPU_INTEL, SRV_CPU_AMD };

/* struct srv_kernel_cpu - what the decision looks at. The avx flags mean usable, by the operating system too.
 *
 *     avx512       F, BW, DQ and VL
 *     arm_sve      arm64 with SVE
 *     arm_part     arm64 main part number (0xd0c Neoverse N1, 0xd40 V1, 0xd49 N2, 0xd4f V2), 0 = unknown
 */
struct srv_kernel_cpu {
    enum srv_kernel_maker maker;
    bool x86, arm64, sse3, avx, avx2_fma, avx512;
    bool arm_sve;
    unsigned arm_part;
};

/* struct srv_kernel_blas - the library: what it chose by itself ("Haswell") and its version as 10000 a + 100 b + c,
 * 0 = unknown. */
struct srv_kernel_blas {
    const char *core;
    unsigned version;
};

/* srv_kernel_plan - kernels to try, best first, each simpler than the one before. "" stands for OpenBLAS's own choice.
 * A pure function. Returns how many were written to plan (1 .. SRV_KERNEL_MOST); names are static. */
size_t srv_kernel_plan(const struct srv_kernel_cpu *cpu, const struct srv_kernel_blas *blas,
                       const char *plan[SRV_KERNEL_MOST]);

#endif
