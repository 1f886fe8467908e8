/* See selftest.h. Matrices are row-major with a gap behind each row, which must stay as it is. */
#include "core/selftest.h"
#include "core/attention.h"
#include "core/real.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

#ifdef ATTN_SINGLE
#define gemm cblas_sgemm
static const real tolerance = 2e-5F;
#else
#define gemm cblas_dgemm
static const real tolerance = 1e-12;
#endif

enum { MOST = 300 * 132, GAP = 3 };
enum { SEQUENCE = 67, WIDTH = 16, HEADS = 2 };

struct shape {
    size_t m, n, k;
};

/* Vectors, tiny and odd matrices that take special paths, and ones large enough to be packed into blocks. */
static const struct shape shapes[] = {{1, 1, 1},   {1, 65, 64},  {70, 1, 33},   {3, 5, 7},      {6, 12, 12},
                                      {17, 33, 9}, {64, 64, 64}, {100, 40, 16}, {129, 100, 300}};

struct buffers {
    _Alignas(64) real a[MOST], b[MOST], c[MOST];
    _Alignas(64) real wanted[MOST];
    /* behind it: work memory of attn_attention */
};

/* A small integer, -7 .. 7, without a pattern that a wrong kernel could respect. */
static int element(size_t index, unsigned seed) {
    uint32_t x = (uint32_t)index * 2654435761U + seed * 40503U;
    x ^= x >> 15;
    x *= 2246822519U;
    x ^= x >> 13;
    return (int)(x % 15) - 7;
}

static void fill(real *x, size_t rows, size_t cols, bool transposed, unsigned seed) {
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++)
            x[transposed ? j * (rows + GAP) + i : i * (cols + GAP) + j] = (real)element(i * cols + j, seed);
}

/* Integers of this size are exact in a float, in any order of summation. Uses w->a and w->b. */
static void multiply_plainly(struct buffers *w, const struct shape *s) {
    fill(w->a, s->m, s->k, false, 1);
    fill(w->b, s->k, s->n, false, 2);
    memset(w->wanted, 0, s->m * s->n * sizeof *w->wanted);
    for (size_t i = 0; i < s->m; i++)
        for (size_t l = 0; l < s->k; l++) {
            const real a = w->a[i * (s->k + GAP) + l], *b = w->b + l * (s->n + GAP);
            for (size_t j = 0; j < s->n; j++)
                w->wanted[i * s->n + j] += a * b[j];
        }
}

/* One product; c starts as NaN, which beta = 0 must not read, and its gaps must still be NaN afterwards. */
static bool multiplies(struct buffers *w, const struct shape *s, bool a_transposed, bool b_transposed) {
    size_t lda = (a_transposed ? s->m : s->k) + GAP, ldb = (b_transposed ? s->k : s->n) + GAP, ldc = s->n + GAP;
    fill(w->a, s->m, s->k, a_transposed, 1);
    fill(w->b, s->k, s->n, b_transposed, 2);
    for (size_t i = 0; i < s->m * ldc; i++)
        w->c[i] = (real)NAN;
    gemm(CblasRowMajor, a_transposed ? CblasTrans : CblasNoTrans, b_transposed ? CblasTrans : CblasNoTrans, (int)s->m,
         (int)s->n, (int)s->k, (real)2, w->a, (int)lda, w->b, (int)ldb, (real)0, w->c, (int)ldc);
    for (size_t i = 0; i < s->m; i++)
        for (size_t j = 0; j < ldc; j++) {
            real got = w->c[i * ldc + j];
            if (j < s->n ? got != 2 * w->wanted[i * s->n + j] : !isnan(got))
                return false;
        }
    return true;
}

static bool multiplies_shape(struct buffers *w, const struct shape *s) {
    multiply_plainly(w, s);
    return multiplies(w, s, false, false) && multiplies(w, s, false, true) && multiplies(w, s, true, false) &&
           multiplies(w, s, true, true);
}

/* Output of query i of head h of a causal attention over values in -7/8 .. 7/8, column c. */
static double attends_to(size_t h, size_t i, size_t c) {
    double total = 0, sum = 0;
    for (size_t j = 0; j <= i; j++) {
        double score = 0;
        for (size_t l = 0; l < WIDTH; l++)
            score += element((h * SEQUENCE + i) * WIDTH + l, 3) * element((h * SEQUENCE + j) * WIDTH + l, 4) / 64.0;
        double weight = exp(score / sqrt(WIDTH));
        total += weight;
        sum += weight * element((h * SEQUENCE + j) * WIDTH + c, 5) / 8.0;
    }
    return sum / total;
}

static struct attn_call causal_call(void) {
    struct attn_view view = {NULL, (size_t)HEADS * SEQUENCE * WIDTH, (size_t)SEQUENCE * WIDTH, WIDTH};
    struct attn_call call = {
        .dtype = ATTN_REAL_DTYPE,
        .dims = {1, HEADS, HEADS, SEQUENCE, SEQUENCE, WIDTH, WIDTH},
        .rule = {.scale = 1 / sqrt(WIDTH), .causal = true, .left = ATTN_OPEN, .right = ATTN_OPEN},
        .q = view,
        .k = view,
        .v = view,
        .output = view,
    };
    return call;
}

static bool attends(struct buffers *w) {
    struct attn_call call = causal_call();
    const real *output = call.output.data = w->c;
    real *q = call.q.data = w->a, *k = call.k.data = w->a + HEADS * SEQUENCE * WIDTH, *v = call.v.data = w->b;
    for (size_t i = 0; i < (size_t)HEADS * SEQUENCE * WIDTH; i++) {
        q[i] = (real)element(i, 3) / 8;
        k[i] = (real)element(i, 4) / 8;
        v[i] = (real)element(i, 5) / 8;
    }
    bool right = attn_attention(&call, NULL, w + 1);
    for (size_t h = 0; h < HEADS; h++)
        for (size_t i = 0; i < SEQUENCE; i++)
            for (size_t c = 0; c < WIDTH; c++) {
                double error = fabs((double)output[(h * SEQUENCE + i) * WIDTH + c] - attends_to(h, i, c));
                right &= error <= (double)tolerance;
            }
    return right;
}

size_t ATTN_REAL(attn_selftest_work)(void) {
    struct attn_call call = causal_call();
    return sizeof(struct buffers) + attn_attention_work(&call, 1);
}

bool ATTN_REAL(attn_selftest)(void *work) {
    struct buffers *w = work;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        if (!multiplies_shape(w, &shapes[s]))
            return false;
    return attends(w);
}
