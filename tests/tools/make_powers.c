/* make_powers.c - writes api/decimal_powers.c to the standard output, in plain arithmetic on big numbers.
 *
 * A power with a negative exponent is 2^SHIFT divided by 10 again and again: cutting off after every step gives the
 * same as cutting off once at the end.
 */
#include "api/decimal_powers.h"

#include <stdio.h>

enum { LIMBS = 64, SHIFT = 32 * LIMBS - 64 };

/* A number of LIMBS 32-bit digits, lowest first. */
struct big {
    uint32_t limb[LIMBS];
};

static void multiply(struct big *b, uint32_t factor) {
    uint64_t carry = 0;
    for (int i = 0; i < LIMBS; i++) {
        carry += (uint64_t)b->limb[i] * factor;
        b->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

static void divide(struct big *b, uint32_t divisor) {
    uint64_t rest = 0;
    for (int i = LIMBS - 1; i >= 0; i--) {
        rest = rest << 32 | b->limb[i];
        b->limb[i] = (uint32_t)(rest / divisor);
        rest %= divisor;
    }
}

static int bit(const struct big *b, int position) {
    return position >= 0 && (b->limb[position / 32] >> position % 32 & 1);
}

/* The 128 highest bits from the first 1 on. */
static struct api_power top(const struct big *b) {
    int first = 32 * LIMBS - 1;
    while (!bit(b, first))
        first--;
    api_u128 value = 0;
    for (int i = 0; i < 128; i++)
        value = value << 1 | (unsigned)bit(b, first - i);
    return (struct api_power){(uint64_t)(value >> 64), (uint64_t)value};
}

static struct api_power power(int n) {
    struct big b = {{0}};
    if (n >= 0)
        b.limb[0] = 1;
    else
        b.limb[SHIFT / 32] = 1u << SHIFT % 32;
    for (int i = 0; i < n; i++)
        multiply(&b, 10);
    for (int i = 0; i > n; i--)
        divide(&b, 10);
    return top(&b);
}

int main(void) {
    printf("/* decimal_powers.c - see decimal_powers.h. Written by tests/tools/make_powers.c. */\n"
           "#include \"api/decimal_powers.h\"\n\n"
           "/* clang-format off */\n"
           "const struct api_power api_powers[API_POWER_MAX - API_POWER_MIN + 1] = {\n");
    for (int n = API_POWER_MIN; n <= API_POWER_MAX; n++) {
        struct api_power p = power(n);
        printf("    {0x%016llx, 0x%016llx}, /* 1e%d */\n", (unsigned long long)p.high, (unsigned long long)p.low, n);
    }
    printf("};\n");
    return 0;
}
