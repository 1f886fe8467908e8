/* kernel.h - which OpenBLAS kernel computes: chosen by the processor's features, proven by a self-test. */
#ifndef SRV_KERNEL_H
#define SRV_KERNEL_H

#include <stdbool.h>
#include <stddef.h>

/* srv_kernel_start - settles the kernel. Call it early in main: before the first thread, descriptor and multiplication.
 *
 *     wish   the operator's --kernel, a name that OPENBLAS_CORETYPE takes; NULL, "" or "auto": the environment's
 *            OPENBLAS_CORETYPE if there is one, else by the processor
 *     argv   main's, for starting over
 *
 * OpenBLAS reads its kernel and its number of threads from the environment once, while it is loaded. Where that is not
 * what is wanted, the program sets the environment and executes itself again: this function then does not return, and
 * the program comes by here once more. A self-test follows, in a child process, so that a kernel that crashes is merely
 * a wrong one; after a wrong result the next simpler kernel is tried. Every round moves one step down a finite plan, so
 * it always ends. A kernel that the operator named is the only one tried.
 *
 * Returns  false when no kernel computes correctly: serve nothing.
 * Threads  none may run yet.
 */
bool srv_kernel_start(const char *wish, char **argv);

/* srv_kernel_name - the kernel in use, as OpenBLAS calls it ("SkylakeX"). Static. */
const char *srv_kernel_name(void);

/* srv_kernel_how - how it came to be, a phrase for logs and /version. Static. */
const char *srv_kernel_how(void);

enum { SRV_KERNEL_MOST = 8 };

/* struct srv_kernel_cpu - what the decision looks at. A feature counts only if the operating system lets us use it.
 *
 *     avx512     F, BW, DQ and VL
 *     arm_part   main part number (0xd0c Neoverse N1, 0xd40 V1, 0xd49 N2, 0xd4f V2); 0 = unknown
 */
struct srv_kernel_cpu {
    bool x86, amd, avx, avx2_fma, avx512;
    bool arm64, sve;
    unsigned arm_part;
};

/* srv_kernel_plan - the kernels to try: the best first, each simpler than the one before.
 *
 *     own    what OpenBLAS chose by itself ("Haswell")
 *     plan   out: names for OPENBLAS_CORETYPE, static; "" stands for OpenBLAS's own choice
 *
 * Returns how many there are, at least 1. A pure function.
 */
size_t srv_kernel_plan(const struct srv_kernel_cpu *cpu, const char *own, const char *plan[SRV_KERNEL_MOST]);

#endif
