/* pages.h - fewer page faults on large blocks of memory that are filled from front to back. */
#ifndef API_PAGES_H
#define API_PAGES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/* api_pages_large - lets the system use pages of 2 MiB for [begin, begin + size); a hint, and only where a few of them
 * fit. At most 2 MiB more than is filled becomes resident.
 *
 * The hint covers the small pages at both ends as well: a block that malloc mapped by itself stays one mapping, which
 * realloc can move without copying it. */
static inline void api_pages_large(void *begin, size_t size) {
#ifdef MADV_HUGEPAGE
    const size_t large = (size_t)2 << 20, page = (size_t)sysconf(_SC_PAGESIZE);
    if (size < 4 * large)
        return;
    size_t before = (uintptr_t)begin % page;
    (void)madvise((char *)begin - before, (before + size + page - 1) / page * page, MADV_HUGEPAGE);
#else
    (void)begin, (void)size;
#endif
}

#endif
