/* clones.h - one binary that is fast on every x86-64: the compiler makes a copy of a function per processor generation
 * and the loader picks one. Elsewhere, with other compilers and under sanitizers (their runtime is not up yet when the
 * loader picks) the functions are compiled once. All copies give the same bits: contraction is off (Makefile). */
#ifndef ATTN_CLONES_H
#define ATTN_CLONES_H

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__OPTIMIZE__) &&                        \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define ATTN_CLONES __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define ATTN_CLONES
#endif

/* A helper of such a function must become part of each copy; left alone it would be compiled for the oldest processor.
 */
#ifdef __GNUC__
#define ATTN_PART static inline __attribute__((always_inline))
#else
#define ATTN_PART static inline
#endif

#endif
