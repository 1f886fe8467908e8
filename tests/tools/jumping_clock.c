/* jumping_clock - preloaded by clock_test.sh: the wall clock jumps a year ahead or back at every third reading. The
 * monotonic clocks, which the kernel never sets, are left alone. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

typedef int gettime(clockid_t, struct timespec *);

static time_t jump(void) {
    static atomic_uint readings;
    static const time_t year = 31557600;
    return ((time_t)(atomic_fetch_add(&readings, 1) % 3) - 1) * year;
}

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): the library's are not ours */
int clock_gettime(clockid_t clock, struct timespec *time) {
    void *symbol = dlsym(RTLD_NEXT, "clock_gettime");
    gettime *real;
    memcpy(&real, &symbol, sizeof real);
    int result = real(clock, time);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        time->tv_sec += jump();
    return result;
}

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
time_t time(time_t *out) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out)
        *out = now.tv_sec;
    return now.tv_sec;
}

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec exact;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &exact);
    *now = (struct timeval){exact.tv_sec, exact.tv_nsec / 1000};
    return 0;
}
