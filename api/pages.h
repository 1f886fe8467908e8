/* pages.h - fewer page faults on large blocks of memory that are filled from front to back. */
#ifndef API_PAGES_H
#define API_PAGES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

/* api_pages_large - lets the system use pages of 2 MiB for what of [begin, begin + size) consists of such; a hint, and
 * only where a few of them fit. At most 2 MiB more than is filled becomes resident. */
static inline void api_pages_large(void *begin, size_t size) {
#ifdef MADV_HUGEPAGE
    const size_t page = (size_t)2 << 20;
    size_t skip = (page - (uintptr_t)begin % page) % page;
    if (size < 4 * page)
        return;
    (void)madvise((char *)begin + skip, (size - skip) / page * page, MADV_HUGEPAGE);
#else
    (void)begin, (void)size;
#endif
}

#endif
