#include "server/kernel.h"

#include "core/selftest.h"

#include <cblas.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

/* Set before the program executes itself: "STEP OWN", the step of the plan now under way and what OpenBLAS had chosen
 * by itself; or "named" for the operator's kernel. Its presence is what makes a second first round impossible.
 * The underscore keeps it apart from the options. */
#define ROUND "_DIKKAT_KERNEL_ROUND"
#define CORETYPE "OPENBLAS_CORETYPE"
#define THREADS "OPENBLAS_NUM_THREADS"

static char name[64] = "unknown", how[256] = "not settled yet";

const char *srv_kernel_name(void) {
    return name;
}

const char *srv_kernel_how(void) {
    return how;
}

/* --- the decision ------------------------------------------------------------------------------------------------ */

static bool one_of(const char *core, const char *const *names) {
    for (; *names; names++)
        if (strcasecmp(core, *names) == 0)
            return true;
    return false;
}

/* OpenBLAS knows the processors of its time better than these few features do; it is overruled only when it leaves the
 * widest vectors unused, as it does with any processor that is newer than itself. */
static size_t plan_x86(const struct srv_kernel_cpu *cpu, const char *own, const char **plan) {
    const struct {
        bool usable;
        const char *kernel, *peers[6];
    } classes[] = {
        {cpu->avx512, "SKYLAKEX", {"SkylakeX", "Cooperlake", "Sapphirerapids"}},
        {cpu->avx2_fma, cpu->amd ? "ZEN" : "HASWELL", {"Haswell", "Zen", "Excavator"}},
        {cpu->avx, "SANDYBRIDGE", {"Sandybridge", "Bulldozer", "Piledriver", "Steamroller"}},
        {true, "PRESCOTT", {"Prescott"}},
    };
    size_t n = 0;
    for (size_t c = 0; c < sizeof classes / sizeof *classes; c++)
        if (classes[c].usable)
            plan[n++] = one_of(own, classes[c].peers) ? "" : classes[c].kernel;
    if (n == 1 && *plan[0]) { /* no vectors to gain: leave it to OpenBLAS first */
        plan[1] = plan[0];
        plan[0] = "";
        n = 2;
    }
    return n;
}

static size_t plan_arm64(const struct srv_kernel_cpu *cpu, const char *own, const char **plan) {
    enum { NEOVERSE_N1 = 0xd0c, NEOVERSE_V1 = 0xd40, NEOVERSE_N2 = 0xd49, NEOVERSE_V2 = 0xd4f };
    const char *better = "";
    if (strcasecmp(own, "armv8") == 0) {
        if (cpu->sve && (cpu->arm_part == NEOVERSE_V1 || cpu->arm_part == NEOVERSE_V2))
            better = "NEOVERSEV1";
        else if (cpu->sve && cpu->arm_part == NEOVERSE_N2)
            better = "NEOVERSEN2";
        else if (cpu->arm_part == NEOVERSE_N1)
            better = "NEOVERSEN1";
    }
    size_t n = 0;
    plan[n++] = better;
    if (*better || strcasecmp(own, "armv8") != 0)
        plan[n++] = "ARMV8";
    return n;
}

size_t srv_kernel_plan(const struct srv_kernel_cpu *cpu, const char *own, const char *plan[SRV_KERNEL_MOST]) {
    if (cpu->x86)
        return plan_x86(cpu, own, plan);
    if (cpu->arm64)
        return plan_arm64(cpu, own, plan);
    plan[0] = "";
    return 1;
}

static struct srv_kernel_cpu this_cpu(void) {
    struct srv_kernel_cpu cpu = {0};
#if defined(__x86_64__)
    __builtin_cpu_init();
    cpu.x86 = true;
    cpu.amd = __builtin_cpu_is("amd");
    cpu.avx = __builtin_cpu_supports("avx");
    cpu.avx2_fma = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    cpu.avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                 __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#elif defined(__aarch64__)
    unsigned long features = getauxval(AT_HWCAP);
    cpu.arm64 = true;
    cpu.sve = features & HWCAP_SVE;
    if (features & HWCAP_CPUID) {
        unsigned long midr; /* the kernel answers this read on the processor's behalf */
        __asm__("mrs %0, MIDR_EL1" : "=r"(midr));
        cpu.arm_part = midr >> 4 & 0xfff;
    }
#endif
    return cpu;
}

static const char *describe(const struct srv_kernel_cpu *cpu) {
    if (cpu->avx512)
        return cpu->amd ? "AMD, AVX-512" : "x86-64, AVX-512";
    if (cpu->avx2_fma)
        return cpu->amd ? "AMD, AVX2" : "x86-64, AVX2";
    if (cpu->x86)
        return cpu->avx ? "x86-64, AVX" : "x86-64, SSE";
    if (cpu->arm64)
        return cpu->sve ? "arm64, SVE" : "arm64";
    return "other";
}

/* --- starting over ----------------------------------------------------------------------------------------------- */

/* Executes this program again. Returns only when that cannot be done, with errno. */
static void start_over(char **argv) {
    char path[4096];
    ssize_t size = readlink("/proc/self/exe", path, sizeof path - 1);
    if (size > 0) {
        path[size] = 0;
        execv(path, argv); /* by its own name, for ps; a replaced program is still reachable by the next line */
        execv("/proc/self/exe", argv);
    } else if (argv && argv[0]) {
        execvp(argv[0], argv);
    }
}

static void set_environment(const char *kernel, const char *round) {
    if (*kernel)
        setenv(CORETYPE, kernel, 1);
    else
        unsetenv(CORETYPE);
    setenv(THREADS, "1", 1);
    setenv(ROUND, round, 1);
}

static bool self_test(void) {
    void *work = aligned_alloc(64, (attn_selftest_work() + 63) / 64 * 64);
    bool right = work && attn_selftest(work);
    free(work);
    return right;
}

/* The self-test in a child; in this process where there cannot be one. */
static bool self_test_apart(void) {
    enum { SECONDS = 20 };
    fflush(NULL);
    pid_t child = fork();
    if (child < 0)
        return self_test();
    if (child == 0) {
        alarm(SECONDS);
        _exit(self_test() ? 0 : 1);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return self_test();
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* One thread each: parallelism is across requests, batch and heads, and an idle pool is only a cost. */
static bool has_thread_pool(void) {
    const char *threads = getenv(THREADS);
    return openblas_get_num_threads() > 1 && !(threads && strcmp(threads, "1") == 0);
}

static void __attribute__((format(printf, 1, 2))) settle(const char *format, ...) {
    openblas_set_num_threads(1);
    snprintf(name, sizeof name, "%s", openblas_get_corename());
    va_list args;
    va_start(args, format);
    vsnprintf(how, sizeof how, format, args);
    va_end(args);
    unsetenv(ROUND);
}

static bool start_named(const char *wish, const char *round, char **argv) {
    bool there = strcasecmp(wish, openblas_get_corename()) == 0;
    if (!round && (!there || has_thread_pool())) {
        set_environment(wish, "named");
        start_over(argv);
    }
    if (!there)
        settle("%s, named by the operator, is not in this OpenBLAS, which made its own choice", wish);
    else
        settle("named by the operator");
    if (self_test_apart())
        return true;
    settle("named by the operator, but it computes wrong results on this processor");
    return false;
}

static bool start_planned(size_t step, const char *own, bool first_round, char **argv) {
    const struct srv_kernel_cpu cpu = this_cpu();
    const char *plan[SRV_KERNEL_MOST];
    size_t steps = srv_kernel_plan(&cpu, own, plan);
    if (step >= steps)
        step = steps - 1;
    char round[96], failed[96] = "";
    snprintf(round, sizeof round, "%zu %s", step, own);
    if (first_round && (*plan[step] || has_thread_pool())) {
        set_environment(plan[step], round);
        start_over(argv);
        settle("OpenBLAS's own choice, as the program could not execute itself again (%s)", strerror(errno));
        return self_test_apart();
    }
    if (step > 0)
        snprintf(failed, sizeof failed, "; %s failed the self-test", *plan[step - 1] ? plan[step - 1] : own);
    if (self_test_apart()) {
        settle("%s for this processor (%s)%s", *plan[step] ? "chosen" : "OpenBLAS's own choice", describe(&cpu),
               failed);
        return true;
    }
    if (step + 1 < steps) {
        snprintf(round, sizeof round, "%zu %s", step + 1, own);
        set_environment(plan[step + 1], round);
        start_over(argv);
    }
    settle("no kernel computes correctly on this processor (%s)%s", describe(&cpu), failed);
    return false;
}

bool srv_kernel_start(const char *wish, char **argv) {
    const char *round = getenv(ROUND), *environment = getenv(CORETYPE);
    bool planned = round && strcmp(round, "named") != 0;
    if (!wish || !*wish || strcasecmp(wish, "auto") == 0)
        wish = environment && *environment && !planned ? environment : NULL;
    if (wish)
        return start_named(wish, round, argv);
    char own[64];
    unsigned long step = 0;
    char *rest = NULL;
    if (planned)
        step = strtoul(round, &rest, 10);
    snprintf(own, sizeof own, "%s", planned ? rest + (*rest == ' ') : openblas_get_corename());
    return start_planned(step, own, !planned, argv);
}
