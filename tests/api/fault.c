/* fault.c - see fault.h. */
#include "tests/api/fault.h"

#include <stdarg.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/types.h>

static _Thread_local struct {
    bool armed, onward, fired;
    unsigned left;
    long live;
} fault;

/* The linker gives these names: __real_X is the C library's X, __wrap_X takes its place. */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void __real_free(void *piece);
void *__real_mmap(void *at, size_t size, int protection, int flags, int file, off_t offset);
void *__real_mremap(void *old, size_t old_size, size_t size, int flags, ...);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void __wrap_free(void *piece);
void *__wrap_mmap(void *at, size_t size, int protection, int flags, int file, off_t offset);
void *__wrap_mremap(void *old, size_t old_size, size_t size, int flags, ...);

void fault_arm(unsigned n, bool onward) {
    fault.armed = true;
    fault.onward = onward;
    fault.fired = false;
    fault.left = n;
    fault.live = 0;
}

bool fault_disarm(void) {
    fault.armed = false;
    return fault.fired;
}

long fault_live(void) {
    return fault.live;
}

static bool fails(void) {
    if (!fault.armed)
        return false;
    if (fault.fired)
        return fault.onward;
    if (fault.left == 0 || --fault.left > 0)
        return false;
    fault.fired = true;
    return true;
}

static void *count(void *piece) {
    if (piece && fault.armed)
        fault.live++;
    return piece;
}

void *__wrap_malloc(size_t size) {
    return fails() ? NULL : count(__real_malloc(size));
}

void *__wrap_calloc(size_t number, size_t size) {
    return fails() ? NULL : count(__real_calloc(number, size));
}

void *__wrap_realloc(void *old, size_t size) {
    if (fails())
        return NULL;
    void *piece = __real_realloc(old, size);
    return old ? piece : count(piece);
}

void __wrap_free(void *piece) {
    if (piece && fault.armed)
        fault.live--;
    __real_free(piece);
}

void *__wrap_mmap(void *at, size_t size, int protection, int flags, int file, off_t offset) {
    return fails() ? MAP_FAILED : __real_mmap(at, size, protection, flags, file, offset);
}

/* The one caller moves blocks without naming their new place. */
void *__wrap_mremap(void *old, size_t old_size, size_t size, int flags, ...) {
    return fails() ? MAP_FAILED : __real_mremap(old, old_size, size, flags);
}
