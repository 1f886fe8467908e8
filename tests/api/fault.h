/* fault.h - makes the n-th allocation of this thread fail. The test binary is linked with -Wl,--wrap for malloc,
 * calloc, realloc, free, mmap and mremap, so every call of the project's own objects passes through fault.c. */
#ifndef TESTS_API_FAULT_H
#define TESTS_API_FAULT_H

#include <stdbool.h>

/* fault_arm - from now on the n-th allocation fails (n from 1 on; 0: none), and, when `onward`, all after it. */
void fault_arm(unsigned n, bool onward);

/* fault_disarm - back to normal. Returns whether one was made to fail. */
bool fault_disarm(void);

/* fault_live - allocations since fault_arm that were not freed (malloc, calloc, realloc). */
long fault_live(void);

#endif
