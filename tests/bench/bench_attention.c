/* What it measures: attention beside the same matrix products alone, in one run.
 *
 *   excess   (time - 1.15 x products) / scores: what softmax and masks may cost; goal 1.5 ns (float64), 0.8 ns
 * (float32) causal   time with the causal rule / without, n = 4096; goal 0.65 scaling  n = 256 .. 16384 without
 * weights: time per n^2, and the work memory small    one call of n = 6, d_head = 4, three heads
 *
 * The products are bare cblas calls over the whole matrices of each head. Both sides are timed in turns, so that a busy
 * neighbour slows both.
 */
#include "core/attention.h"
#include "tests/bench/bench.h"

#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct subject {
    struct attn_call call;
    void *work, *scores, *spare;
};

static void *filled(size_t count, enum attn_dtype dtype) {
    void *p = aligned_alloc(64, (count * 8 + 127) / 64 * 64);
    if (!p)
        abort();
    for (size_t i = 0; i < count; i++) {
        double x = (double)(i * 2654435761u % 4001) / 2000 - 1;
        if (dtype == ATTN_F32)
            ((float *)p)[i] = (float)x;
        else
            ((double *)p)[i] = x;
    }
    return p;
}

static struct subject subject(size_t n, size_t d, size_t heads, enum attn_dtype dtype, bool causal, bool weights) {
    struct subject s = {0};
    struct attn_view view = {NULL, heads * n * d, n * d, d};
    s.call.dtype = dtype;
    s.call.dims = (struct attn_dims){1, heads, heads, n, n, d, d};
    s.call.rule = (struct attn_rule){.scale = 1 / sqrt((double)d), .causal = causal, .left = -1, .right = -1};
    s.call.q = s.call.k = s.call.v = s.call.output = view;
    s.call.q.data = filled(heads * n * d, dtype);
    s.call.k.data = filled(heads * n * d, dtype);
    s.call.v.data = filled(heads * n * d, dtype);
    s.call.output.data = filled(heads * n * d, dtype);
    s.call.weights = weights ? filled(heads * n * n, dtype) : NULL;
    s.work = aligned_alloc(64, attn_attention_work(&s.call, 1));
    return s;
}

static void release(struct subject *s) {
    free(s->call.q.data);
    free(s->call.k.data);
    free(s->call.v.data);
    free(s->call.output.data);
    free(s->call.weights);
    free(s->work);
    free(s->scores);
    free(s->spare);
}

static void attend(void *arg) {
    struct subject *s = arg;
    attn_attention(&s->call, NULL, s->work);
}

static void multiply(void *arg) {
    struct subject *s = arg;
    const struct attn_dims *dims = &s->call.dims;
    int n = (int)dims->n_q, d = (int)dims->d;
    size_t one = (size_t)n * (size_t)d;
    for (size_t h = 0; h < dims->heads; h++) {
        if (s->call.dtype == ATTN_F32) {
            const float *q = s->call.q.data, *k = s->call.k.data, *v = s->call.v.data;
            float *c = s->scores, *o = s->spare;
            c += h * (size_t)n * (size_t)n;
            cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, n, n, d, 0.25F, q + h * one, d, k + h * one, d, 0, c,
                        n);
            cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, d, n, 1, c, n, v + h * one, d, 0, o + h * one, d);
        } else {
            const double *q = s->call.q.data, *k = s->call.k.data, *v = s->call.v.data;
            double *c = s->scores, *o = s->spare;
            c += h * (size_t)n * (size_t)n;
            cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, n, n, d, 0.25, q + h * one, d, k + h * one, d, 0, c,
                        n);
            cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, d, n, 1, c, n, v + h * one, d, 0, o + h * one, d);
        }
    }
}

/* Processor time of this thread: what others do on the machine counts less than on a clock. */
static double own_time(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double timed(void (*run)(void *), void *arg, int calls) {
    double start = own_time();
    for (int i = 0; i < calls; i++)
        run(arg);
    return (own_time() - start) / calls;
}

/* Least time of each over some turns. */
static void in_turns(struct subject *s, double *attention, double *products, double seconds) {
    attend(s);
    if (products)
        multiply(s);
    double once = timed(attend, s, 1);
    int calls = once > 2e-3 ? 1 : (int)(2e-3 / (once + 1e-9)) + 1;
    *attention = 1e9;
    if (products)
        *products = 1e9;
    double end = bench_now() + seconds;
    for (int turn = 0; turn < 3 || bench_now() < end; turn++) {
        *attention = fmin(*attention, timed(attend, s, calls));
        if (products)
            *products = fmin(*products, timed(multiply, s, calls));
    }
}

static void excess(size_t n, size_t d, enum attn_dtype dtype, bool causal, bool weights) {
    size_t heads = n <= 256 ? 4 : 1;
    struct subject s = subject(n, d, heads, dtype, causal, weights);
    s.scores = filled(heads * n * n, dtype);
    s.spare = filled(heads * n * d, dtype);
    double attention, products;
    in_turns(&s, &attention, &products, 0.1);
    double scores = (double)(heads * n * n);
    char name[96];
    snprintf(name, sizeof name, "%s n=%-4zu d=%-3zu%s%s (products %.2f ns/score)", dtype == ATTN_F32 ? "f32" : "f64", n,
             d, causal ? " causal" : "", weights ? " weights" : "", products / scores * 1e9);
    bench_goal(name, (attention - 1.15 * products) / scores * 1e9, "ns", dtype == ATTN_F32 ? 0.8 : 1.5, true);
    release(&s);
}

static double causal_ratio(enum attn_dtype dtype, bool weights) {
    double full, half;
    struct subject s = subject(4096, 64, 1, dtype, false, weights);
    in_turns(&s, &full, NULL, 0.4);
    release(&s);
    s = subject(4096, 64, 1, dtype, true, weights);
    in_turns(&s, &half, NULL, 0.4);
    release(&s);
    return half / full;
}

static void small(enum attn_dtype dtype) {
    double each;
    struct subject s = subject(6, 4, 3, dtype, true, true);
    in_turns(&s, &each, NULL, 0.1);
    release(&s);
    bench_goal(dtype == ATTN_F32 ? "f32 n=6 d=4 h=3 causal weights" : "f64 n=6 d=4 h=3 causal weights", each * 1e6,
               "us", 3, false);
}

int main(int argc, char **argv) {
    openblas_set_num_threads(1);
    printf("attention beside its matrix products alone (OpenBLAS kernel %s, one thread)\n", openblas_get_corename());
    static const size_t sizes[][2] = {{64, 16},   {64, 64},   {64, 128},   {256, 32},  {256, 64},  {512, 64},
                                      {1024, 16}, {1024, 64}, {1024, 128}, {4096, 16}, {4096, 64}, {4096, 128}};
    bool quick = argc > 1 && strcmp(argv[1], "--quick") == 0;
    for (enum attn_dtype dtype = ATTN_F64; dtype <= ATTN_F32; dtype++) {
        printf(" excess over 1.15 x products, per score\n");
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            for (int weights = 0; weights < 2; weights++)
                excess(sizes[i][0], sizes[i][1], dtype, false, weights);
        if (quick)
            continue;
        for (size_t i = 1; i < sizeof sizes / sizeof *sizes; i += 3)
            for (int weights = 0; weights < 2; weights++)
                excess(sizes[i][0], sizes[i][1], dtype, true, weights);
        small(dtype);
        bench_goal("causal / not, n=4096 d=64", causal_ratio(dtype, false), "", 0.65, true);
        bench_goal("causal / not, n=4096 d=64, weights", causal_ratio(dtype, true), "", 0.65, true);
    }
    if (quick)
        return bench_exit();
    printf(" without weights, one head, d=64, float64\n");
    for (size_t n = 256; n <= 16384; n *= 4) {
        struct subject s = subject(n, 64, 1, ATTN_F64, false, false);
        double each, bytes = (double)attn_attention_work(&s.call, 1);
        in_turns(&s, &each, NULL, 0.05);
        char name[64];
        snprintf(name, sizeof name, "n=%zu time per n^2", n);
        bench_figure(name, each / (double)(n * n) * 1e9, "ns");
        snprintf(name, sizeof name, "n=%zu work memory", n);
        bench_goal(name, bytes / (1 << 20), "MiB", 64, true);
        release(&s);
    }
    return bench_exit();
}
