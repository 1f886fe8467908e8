/* real.h - single and double precision from one source, without macros in the arithmetic.
 *
 * A file core/NAME.real.c is compiled twice: once as it is (double) and once with -DATTN_SINGLE (float). It writes
 * `real` for the element type and ATTN_REAL(name) for each function with external linkage, which becomes name_f64
 * or name_f32. Declarations of such functions stand in core/NAME.h for both.
 */
#ifndef ATTN_REAL_H
#define ATTN_REAL_H

#ifdef ATTN_SINGLE
typedef float real;
#define ATTN_REAL(name) name##_f32
#define ATTN_REAL_DTYPE ATTN_F32
#else
typedef double real;
#define ATTN_REAL(name) name##_f64
#define ATTN_REAL_DTYPE ATTN_F64
#endif

#endif
