//===- merge.c - A merge from text to numbers, in C -----------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiles a module with fmha.merge, launches the kernel on the simulator and
// compares with float64.
//
//===----------------------------------------------------------------------===//

#include "check.h"
#include "fmha-c/Compiler.h"
#include "fmha-c/Runtime.h"

#include <math.h>
#include <stdint.h>

typedef unsigned long long Address;
int cuInit(unsigned flags);
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuCtxSetCurrent(void *context);
int cuCtxSynchronize(void);
int cuMemAlloc_v2(Address *address, size_t bytes);
int cuMemFree_v2(Address address);
int cuMemcpyHtoD_v2(Address to, const void *from, size_t bytes);
int cuMemcpyDtoH_v2(void *to, Address from, size_t bytes);

enum { dim = 32 };

static const char *const text =
    "func.func @f(%o: memref<?x?x?x?x32xf32>, %m: memref<?x?x?x?xf32>,\n"
    "             %s: memref<?x?x?x?xf32>, %sink: memref<?xf32>,\n"
    "             %out: memref<?x?x?x32xf32>, %lse: memref<?x?x?xf32>) {\n"
    "  fmha.merge ins(%o, %m, %s : memref<?x?x?x?x32xf32>,\n"
    "      memref<?x?x?x?xf32>, memref<?x?x?x?xf32>)\n"
    "      sink(%sink : memref<?xf32>)\n"
    "      outs(%out, %lse : memref<?x?x?x32xf32>, memref<?x?x?xf32>)\n"
    "  return\n"
    "}\n";

typedef struct {
  DLTensor dl;
  int64_t shape[5];
  size_t count;
  float *host;
} Tensor;

static uint64_t state;

/* From 0 to 1. */
static double uniform(void) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (double)(state >> 40) / (1 << 24);
}

/* A tensor that holds NaN. */
static void allocate(Tensor *t, int rank, const int64_t *shape) {
  Address address;
  t->count = 1;
  for (int d = 0; d < rank; ++d)
    t->count *= (size_t)(t->shape[d] = shape[d]);
  t->host = malloc(t->count * sizeof(float) + 1);
  memset(t->host, 0xff, t->count * sizeof(float));
  CHECK(cuMemAlloc_v2(&address, t->count * sizeof(float) + 16) == 0);
  t->dl = (DLTensor){(void *)(uintptr_t)address,
                     {kDLCUDA, 0},
                     rank,
                     {kDLFloat, 32, 1},
                     t->shape,
                     NULL,
                     0};
}

static void upload(Tensor *t) {
  CHECK(cuMemcpyHtoD_v2((Address)(uintptr_t)t->dl.data, t->host,
                        t->count * sizeof(float)) == 0);
}

static void download(Tensor *t) {
  CHECK(cuMemcpyDtoH_v2(t->host, (Address)(uintptr_t)t->dl.data,
                        t->count * sizeof(float)) == 0);
}

typedef struct {
  int64_t parts, batch, rows, heads;
} Shape;

typedef struct {
  Tensor out, lse, sink, parts, maxima, sums;
} Tensors;

static void fill(Tensors *t) {
  for (size_t n = 0; n < t->parts.count; ++n)
    t->parts.host[n] = (float)(4 * uniform() - 2);
  /* Some parts have seen no key; what they hold counts for nothing. */
  for (size_t n = 0; n < t->maxima.count; ++n)
    t->maxima.host[n] = uniform() < 0.2 ? -INFINITY : (float)(9 * uniform());
  for (size_t n = 0; n < t->sums.count; ++n)
    t->sums.host[n] = (float)(1 + 8 * uniform());
  for (size_t n = 0; n < t->sink.count; ++n)
    t->sink.host[n] = (float)(9 * uniform());
}

static void checkNear(double got, double want, const char *what) {
  double error = got == want ? 0 : fabs(got - want);
  if (error <= 1e-5 * fmax(1, fabs(want)))
    return;
  printf("%s: expected %g, got %g\n", what, want, got);
  exit(1);
}

static void compareRow(const Shape *s, const Tensors *t, int64_t b, int64_t h,
                       int64_t i) {
  double top = t->sink.host[h], total, row[dim] = {0};
  int64_t number = (b * s->heads + h) * s->rows + i;
  int64_t steps = s->batch * s->heads * s->rows;
  for (int64_t p = 0; p < s->parts; ++p)
    top = fmax(top, t->maxima.host[p * steps + number]);
  total = exp(t->sink.host[h] - top);
  for (int64_t p = 0; p < s->parts; ++p) {
    double weight = exp(t->maxima.host[p * steps + number] - top);
    const float *values =
        t->parts.host +
        (((p * s->batch + b) * s->rows + i) * s->heads + h) * dim;
    total += weight * t->sums.host[p * steps + number];
    for (int d = 0; d < dim; ++d)
      row[d] += weight * values[d];
  }
  for (int d = 0; d < dim; ++d)
    checkNear(t->out.host[((b * s->rows + i) * s->heads + h) * dim + d],
              row[d] / total, "output");
  checkNear(t->lse.host[number], top + log(total), "lse");
}

static void run(FmhaModule module, const Shape *s) {
  Tensors t;
  allocate(&t.out, 4, (int64_t[]){s->batch, s->rows, s->heads, dim});
  allocate(&t.lse, 3, (int64_t[]){s->batch, s->heads, s->rows});
  allocate(&t.sink, 1, (int64_t[]){s->heads});
  allocate(&t.parts, 5,
           (int64_t[]){s->parts, s->batch, s->rows, s->heads, dim});
  allocate(&t.maxima, 4, (int64_t[]){s->parts, s->batch, s->heads, s->rows});
  allocate(&t.sums, 4, (int64_t[]){s->parts, s->batch, s->heads, s->rows});
  fill(&t);
  Tensor *all[] = {&t.out, &t.lse, &t.sink, &t.parts, &t.maxima, &t.sums};
  const DLTensor *pointers[6];
  for (int n = 0; n < 6; ++n) {
    upload(all[n]);
    pointers[n] = &all[n]->dl;
  }
  if (fmhaLaunch(module, pointers, 6, NULL, NULL)) {
    printf("%s\n", fmhaLastError());
    exit(1);
  }
  CHECK(cuCtxSynchronize() == 0);
  download(&t.out);
  download(&t.lse);
  for (int64_t b = 0; b < s->batch; ++b)
    for (int64_t h = 0; h < s->heads; ++h)
      for (int64_t i = 0; i < s->rows; ++i)
        compareRow(s, &t, b, h, i);
  for (int n = 0; n < 6; ++n) {
    CHECK(cuMemFree_v2((Address)(uintptr_t)all[n]->dl.data) == 0);
    free(all[n]->host);
  }
}

int main(int argc, char **argv) {
  const Shape shapes[] = {{3, 2, 5, 4},  {1, 1, 1, 1},  {2, 1, 7, 3},
                          {2, 1, 8, 3},  {2, 1, 9, 3},  {5, 2, 15, 2},
                          {5, 2, 16, 2}, {5, 2, 17, 2}, {3, 1, 33, 2},
                          {0, 2, 3, 2},  {2, 0, 3, 2},  {2, 2, 0, 2}};
  const char *options[] = {"{\"target\": \"sm_90a\"}",
                           "{\"target\": \"sm_100a\"}"};
  void *context;
  state = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
  printf("seed %llu\n", (unsigned long long)state);
  CHECK(cuInit(0) == 0 && cuDevicePrimaryCtxRetain(&context, 0) == 0);
  CHECK(cuCtxSetCurrent(context) == 0);
  for (int n = 0; n < 2; ++n) {
    FmhaResult *result;
    FmhaModule module;
    if (fmhaCompile(text, options[n], &result)) {
      printf("%s\n", fmhaResultMessages(result));
      return 1;
    }
    CHECK(fmhaModuleLoad(fmhaResultPtx(result), strlen(fmhaResultPtx(result)),
                         fmhaResultManifest(result), &module) == 0);
    fmhaResultDestroy(result);
    for (size_t shape = 0; shape < sizeof shapes / sizeof *shapes; ++shape)
      run(module, &shapes[shape]);
    CHECK(fmhaModuleUnload(module) == 0);
  }
  puts("all merges are right");
  return 0;
}
