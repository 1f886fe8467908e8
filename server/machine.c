/* machine.c - reads the affinity mask, the cgroup files and the resource limits. */
#include "server/machine.h"

#include <inttypes.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { PATH_SIZE = 4096 };

static char *read_small(const char *path, char *text, size_t size) {
    FILE *file = fopen(path, "re");
    if (!file)
        return NULL;
    size_t n = fread(text, 1, size - 1, file);
    fclose(file);
    text[n] = 0;
    return n ? text : NULL;
}

size_t srv_machine_parse_cpu_max(const char *text) {
    uint64_t quota, period;
    if (sscanf(text, "%" SCNu64 " %" SCNu64, &quota, &period) != 2 || period == 0 || quota == 0)
        return 0;
    return (size_t)((quota + period - 1) / period);
}

/* The path of this process in the hierarchy of `controller` ("" for version 2) as /proc/self/cgroup tells it. */
static bool own_group(const char *controller, char *path, size_t size) {
    char text[PATH_SIZE];
    if (!read_small("/proc/self/cgroup", text, sizeof text))
        return false;
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char *names = strchr(line, ':');
        char *where = names ? strchr(names + 1, ':') : NULL;
        if (!where)
            continue;
        *where++ = 0;
        names++;
        size_t n = strlen(controller);
        const char *found = *controller ? strstr(names, controller) : names;
        if (found && (found == names || found[-1] == ',') && (found[n] == 0 || (n && found[n] == ','))) {
            snprintf(path, size, "%s", where);
            return true;
        }
    }
    return false;
}

/* Calls visit with the directory of our group and of each one above it, up to the root of the hierarchy. Inside a
 * container the path is often that of the host and only the root exists: files that are missing are passed over. */
static void walk_up(const char *root, const char *controller, void (*visit)(const char *directory, void *out),
                    void *out) {
    char path[PATH_SIZE], directory[PATH_SIZE + 64];
    if (!own_group(controller, path, sizeof path))
        path[0] = 0;
    for (;;) {
        size_t n = strlen(path);
        while (n && path[n - 1] == '/')
            path[--n] = 0;
        snprintf(directory, sizeof directory, "%s%s", root, path);
        visit(directory, out);
        char *slash = strrchr(path, '/');
        if (!slash)
            return;
        *slash = 0;
    }
}

static void least(size_t value, size_t *out) {
    if (value && value < *out)
        *out = value;
}

static void cores_v2(const char *directory, void *out) {
    char path[PATH_SIZE + 96], text[128];
    snprintf(path, sizeof path, "%s/cpu.max", directory);
    if (read_small(path, text, sizeof text))
        least(srv_machine_parse_cpu_max(text), out);
}

static void cores_v1(const char *directory, void *out) {
    char path[PATH_SIZE + 96], quota[64], period[64], both[130];
    snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", directory);
    if (!read_small(path, quota, sizeof quota) || quota[0] == '-')
        return;
    snprintf(path, sizeof path, "%s/cpu.cfs_period_us", directory);
    if (!read_small(path, period, sizeof period))
        return;
    snprintf(both, sizeof both, "%s %s", quota, period);
    least(srv_machine_parse_cpu_max(both), out);
}

size_t srv_machine_cores(void) {
    size_t cores = 1;
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        cores = (size_t)CPU_COUNT(&set);
    else if (sysconf(_SC_NPROCESSORS_ONLN) > 0)
        cores = (size_t)sysconf(_SC_NPROCESSORS_ONLN);
    walk_up("/sys/fs/cgroup", "", cores_v2, &cores);
    walk_up("/sys/fs/cgroup/cpu", "cpu", cores_v1, &cores);
    return cores ? cores : 1;
}

static void memory_file(const char *directory, const char *name, uint64_t *out) {
    char path[PATH_SIZE + 96], text[64];
    uint64_t bytes;
    snprintf(path, sizeof path, "%s/%s", directory, name);
    if (read_small(path, text, sizeof text) && sscanf(text, "%" SCNu64, &bytes) == 1 && bytes && bytes < *out)
        *out = bytes;
}

static void memory_v2(const char *directory, void *out) {
    memory_file(directory, "memory.max", out);
    memory_file(directory, "memory.high", out);
}

static void memory_v1(const char *directory, void *out) {
    memory_file(directory, "memory.limit_in_bytes", out);
}

uint64_t srv_machine_memory(void) {
    uint64_t bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGE_SIZE);
    walk_up("/sys/fs/cgroup", "", memory_v2, &bytes);
    walk_up("/sys/fs/cgroup/memory", "memory", memory_v1, &bytes);
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < bytes)
        bytes = limit.rlim_cur;
    return bytes;
}

size_t srv_machine_files(size_t wanted) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 256;
    rlim_t target = wanted < limit.rlim_max ? wanted : limit.rlim_max;
    if (target > limit.rlim_cur) {
        rlim_t before = limit.rlim_cur;
        limit.rlim_cur = target;
        if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
            limit.rlim_cur = before;
    }
    return limit.rlim_cur < SIZE_MAX ? (size_t)limit.rlim_cur : SIZE_MAX;
}
