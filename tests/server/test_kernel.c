/* Goal: the plan of kernels is right for processors that are not here.
 * Method: the decision is a pure function over features, so a table states it; the walk through the plan, with a
 * library that computes wrongly, is tested by tests/tools/kernel_test.sh, the self-test by tests/core/test_selftest.c.
 */
#include "server/kernel.h"

#include <criterion/criterion.h>
#include <string.h>

static const struct srv_kernel_cpu intel_avx512 = {.x86 = true, .avx = true, .avx2_fma = true, .avx512 = true};
static const struct srv_kernel_cpu intel_avx2 = {.x86 = true, .avx = true, .avx2_fma = true};
static const struct srv_kernel_cpu intel_avx = {.x86 = true, .avx = true};
static const struct srv_kernel_cpu old_x86 = {.x86 = true};
static const struct srv_kernel_cpu amd_avx512 = {
    .x86 = true, .amd = true, .avx = true, .avx2_fma = true, .avx512 = true};
static const struct srv_kernel_cpu amd_avx2 = {.x86 = true, .amd = true, .avx = true, .avx2_fma = true};
static const struct srv_kernel_cpu arm_plain = {.arm64 = true};
static const struct srv_kernel_cpu arm_n1 = {.arm64 = true, .arm_part = 0xd0c};
static const struct srv_kernel_cpu arm_v1 = {.arm64 = true, .sve = true, .arm_part = 0xd40};
static const struct srv_kernel_cpu arm_n2 = {.arm64 = true, .sve = true, .arm_part = 0xd49};
static const struct srv_kernel_cpu arm_v2 = {.arm64 = true, .sve = true, .arm_part = 0xd4f};
static const struct srv_kernel_cpu arm_v1_without_sve = {.arm64 = true, .arm_part = 0xd40};
static const struct srv_kernel_cpu something_else = {.x86 = false};

static const struct {
    const struct srv_kernel_cpu *cpu;
    const char *own;
    const char *plan; /* names with a space between; - is OpenBLAS's own choice */
} rows[] = {
    /* a library older than the processor falls back to its simplest kernel */
    {&intel_avx512, "Prescott", "SKYLAKEX HASWELL SANDYBRIDGE -"},
    {&intel_avx512, "Haswell", "SKYLAKEX - SANDYBRIDGE PRESCOTT"},
    {&intel_avx512, "SkylakeX", "- HASWELL SANDYBRIDGE PRESCOTT"},
    {&intel_avx512, "Cooperlake", "- HASWELL SANDYBRIDGE PRESCOTT"},
    {&intel_avx512, "SapphireRapids", "- HASWELL SANDYBRIDGE PRESCOTT"},
    {&intel_avx2, "Haswell", "- SANDYBRIDGE PRESCOTT"},
    {&intel_avx2, "Prescott", "HASWELL SANDYBRIDGE -"},
    {&intel_avx2, "Nehalem", "HASWELL SANDYBRIDGE PRESCOTT"},
    {&intel_avx, "Sandybridge", "- PRESCOTT"},
    {&intel_avx, "Nehalem", "SANDYBRIDGE PRESCOTT"},
    {&old_x86, "Nehalem", "- PRESCOTT"},
    {&old_x86, "Prescott", "-"},
    {&amd_avx512, "Prescott", "SKYLAKEX ZEN SANDYBRIDGE -"},
    {&amd_avx512, "Zen", "SKYLAKEX - SANDYBRIDGE PRESCOTT"},
    {&amd_avx512, "Cooperlake", "- ZEN SANDYBRIDGE PRESCOTT"},
    {&amd_avx2, "Zen", "- SANDYBRIDGE PRESCOTT"},
    {&amd_avx2, "Excavator", "- SANDYBRIDGE PRESCOTT"},
    {&amd_avx2, "Barcelona", "ZEN SANDYBRIDGE PRESCOTT"},
    {&arm_plain, "armv8", "-"},
    {&arm_plain, "cortexa53", "- ARMV8"},
    {&arm_n1, "neoversen1", "- ARMV8"},
    {&arm_n1, "armv8", "NEOVERSEN1 ARMV8"},
    {&arm_v1, "armv8", "NEOVERSEV1 ARMV8"},
    {&arm_n2, "armv8", "NEOVERSEN2 ARMV8"},
    {&arm_v2, "armv8", "NEOVERSEV1 ARMV8"},
    {&arm_v1_without_sve, "armv8", "-"},
    {&something_else, "POWER9", "-"},
};

Test(kernel, plan_follows_the_processor) {
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        const char *plan[SRV_KERNEL_MOST];
        size_t n = srv_kernel_plan(rows[r].cpu, rows[r].own, plan);
        char text[256] = "";
        for (size_t i = 0; i < n; i++) {
            if (i)
                strcat(text, " ");
            strcat(text, *plan[i] ? plan[i] : "-");
        }
        cr_expect_str_eq(text, rows[r].plan, "row %zu (%s): %s, expected %s", r, rows[r].own, text, rows[r].plan);
    }
}

Test(kernel, plan_never_repeats_a_kernel_and_fits) {
    static const char *const owns[] = {"Prescott", "Nehalem", "Sandybridge", "Haswell", "Zen", "SkylakeX", "armv8"};
    for (unsigned bits = 0; bits < 128; bits++)
        for (size_t o = 0; o < sizeof owns / sizeof *owns; o++) {
            struct srv_kernel_cpu cpu = {.x86 = bits & 1,
                                         .amd = bits & 2,
                                         .avx = bits & 4,
                                         .avx2_fma = bits & 8,
                                         .avx512 = bits & 16,
                                         .arm64 = bits & 32,
                                         .sve = bits & 64,
                                         .arm_part = 0xd40};
            const char *plan[SRV_KERNEL_MOST];
            size_t n = srv_kernel_plan(&cpu, owns[o], plan);
            cr_assert(n >= 1 && n <= SRV_KERNEL_MOST);
            for (size_t i = 0; i < n; i++)
                for (size_t j = 0; j < i; j++)
                    cr_assert_str_neq(plan[i], plan[j], "features %#x, own %s", bits, owns[o]);
        }
}
