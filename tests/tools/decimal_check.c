/* decimal_check.c - holds the decimal conversions against the C library's for many values (make test-decimal).
 *
 *     decimal_check [COUNT [SEED]]      10^9 by default; every 8th value is checked by the C library too
 *
 * One process per processor. Exit code 1 with the value when something is wrong.
 */
#include "tests/ref/decimal_ref.h"

#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int complain(const char *why, double value, const char *text) {
    fprintf(stderr, "%a was written as %s: %s\n", value, text, why);
    return 1;
}

static int check(uint64_t count, uint64_t seed) {
    char text[API_DECIMAL_MAX + 1];
    uint64_t state = seed;
    for (uint64_t i = 0; i < count; i++) {
        int thorough = i % 8 == (i / 8) % 8 ? (int)(i % 4) + 4 : 0;
        double value = ref_value(i, &state);
        const char *why = ref_check_f64(value, thorough, text);
        if (why)
            return complain(why, value, text);
        uint32_t bits = (uint32_t)ref_random(&state);
        float single;
        memcpy(&single, &bits, sizeof single);
        why = ref_check_f32(single, thorough, text);
        if (why)
            return complain(why, (double)single, text);
    }
    return 0;
}

int main(int argc, char **argv) {
    uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000000;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : (uint64_t)time(NULL);
    long processes = sysconf(_SC_NPROCESSORS_ONLN);
    if (processes < 1)
        processes = 1;
    printf("%llu doubles and as many floats, seed %llu, %ld processes\n", (unsigned long long)count,
           (unsigned long long)seed, processes);
    fflush(stdout);
    for (long i = 0; i < processes; i++) {
        pid_t child = fork();
        if (child < 0)
            return perror("fork"), 2;
        if (child == 0)
            _exit(check(count / (uint64_t)processes, seed + ((uint64_t)i << 40)));
    }
    int failed = 0, status;
    while (wait(&status) > 0)
        failed |= !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    puts(failed ? "FAILED" : "all are read and written exactly");
    return failed;
}
