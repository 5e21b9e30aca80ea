//===- embedded.c - A kernel inside a C program ---------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   embedded [SEED]   compares launches with float64; 0 if all are right
//   embedded none     expects that the device is one that was not compiled for
//
// EMBEDDED_HEADER is what fmha-compile wrote, with the functions `attend`, and
// SPLITS what its --splits was.
//
//===----------------------------------------------------------------------===//

#include "check.h"

#include EMBEDDED_HEADER

#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <time.h>

/* Of the CUDA driver, whose header need not be there. */
typedef unsigned long long Pointer;
int cuInit(unsigned flags);
int cuDeviceGet(int *device, int ordinal);
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuCtxSetCurrent(void *context);
int cuCtxSynchronize(void);
int cuMemAlloc_v2(Pointer *address, size_t bytes);
int cuMemFree_v2(Pointer address);
int cuMemcpyHtoD_v2(Pointer to, const void *from, size_t bytes);
int cuMemcpyDtoH_v2(void *to, Pointer from, size_t bytes);

enum { headDim = 64, heads = 2, kvHeads = 1 };

static uint64_t state;
static double uniform(void) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (double)(state >> 40) / (1 << 23) - 1;
}

static float widen(uint16_t bits) {
  uint32_t word = (uint32_t)bits << 16;
  float value;
  memcpy(&value, &word, 4);
  return value;
}

/* A tensor in device memory and its copy here. */
struct Tensor {
  DLTensor view;
  int64_t shape[4];
  size_t bytes;
  void *host;
  Pointer device;
};

static void make(struct Tensor *t, int code, int bits, int rank,
                 const int64_t *shape) {
  size_t count = 1;
  memset(t, 0, sizeof *t);
  for (int i = 0; i < rank; ++i) {
    t->shape[i] = shape[i];
    count *= (size_t)shape[i];
  }
  t->bytes = count * (size_t)bits / 8;
  // One byte more, so that there is something to point to.
  t->host = malloc(t->bytes + 1);
  CHECK(t->host && cuMemAlloc_v2(&t->device, t->bytes + 16) == 0);
  memset(t->host, 0xff, t->bytes); // NaN in every type
  t->view.data = (void *)(uintptr_t)t->device;
  t->view.device.device_type = kDLCUDA;
  t->view.ndim = rank;
  t->view.dtype.code = (uint8_t)code;
  t->view.dtype.bits = (uint8_t)bits;
  t->view.dtype.lanes = 1;
  t->view.shape = t->shape;
}

static void fill(struct Tensor *t) {
  uint16_t *bits = (uint16_t *)t->host;
  for (size_t i = 0; i < t->bytes / 2; ++i) {
    float value = (float)(2 * uniform());
    uint32_t word;
    memcpy(&word, &value, 4);
    bits[i] = (uint16_t)(word >> 16);
  }
}

static void drop(struct Tensor *t) {
  free(t->host);
  CHECK(cuMemFree_v2(t->device) == 0);
}

static double at(const struct Tensor *t, int64_t row, int64_t head,
                 int64_t column) {
  const uint16_t *bits = (const uint16_t *)t->host;
  return widen(bits[(row * t->shape[2] + head) * t->shape[3] + column]);
}

/* Compares one row of O and its LSE with float64; causal from bottom right. */
static void checkRow(struct Tensor *t, int64_t row, int64_t head) {
  const struct Tensor *q = &t[0], *k = &t[1], *v = &t[2], *o = &t[3];
  int64_t keys = k->shape[1], live = row + keys - q->shape[1] + 1;
  int64_t kvHead = head * kvHeads / heads;
  double *weights = (double *)calloc((size_t)keys + 1, sizeof(double));
  double top = -INFINITY, sum = 0;
  CHECK(weights != NULL);
  for (int64_t j = 0; j < live; ++j) {
    for (int64_t d = 0; d < headDim; ++d)
      weights[j] += at(q, row, head, d) * at(k, j, kvHead, d) / 8;
    top = fmax(top, weights[j]);
  }
  for (int64_t j = 0; j < live; ++j)
    sum += weights[j] = exp(weights[j] - top);
  for (int64_t d = 0; d < headDim; ++d) {
    double wanted = 0, spread = 0;
    for (int64_t j = 0; j < live; ++j) {
      wanted += weights[j] / sum * at(v, j, kvHead, d);
      spread += weights[j] / sum * fabs(at(v, j, kvHead, d));
    }
    double got = at(o, row, head, d);
    CHECK(fabs(got - wanted) <= 1.1 / 256 * (fabs(wanted) + spread) + 1e-6);
  }
  double lse = ((const float *)t[4].host)[head * q->shape[1] + row];
  double wanted = top + log(sum);
  CHECK(live > 0 ? fabs(lse - wanted) <= 1e-5 * fmax(1, fabs(wanted)) + 1e-5
                 : lse == -INFINITY);
  free(weights);
}

static void launch(int64_t rows, int64_t keys) {
  struct Tensor t[5];
  const DLTensor *views[5];
  int64_t q[] = {1, rows, heads, headDim}, k[] = {1, keys, kvHeads, headDim};
  int64_t lse[] = {1, heads, rows};
  make(&t[0], kDLBfloat, 16, 4, q);
  make(&t[1], kDLBfloat, 16, 4, k);
  make(&t[2], kDLBfloat, 16, 4, k);
  make(&t[3], kDLBfloat, 16, 4, q);
  make(&t[4], kDLFloat, 32, 3, lse);
  for (int i = 0; i < 3; ++i)
    fill(&t[i]);
  for (int i = 0; i < 5; ++i) {
    views[i] = &t[i].view;
    CHECK(!t[i].bytes || !cuMemcpyHtoD_v2(t[i].device, t[i].host, t[i].bytes));
  }
  uint64_t bytes = 7;
  Pointer workspace = 0;
  CHECK(attend_workspace_bytes(views, 5, &bytes) == 0);
  CHECK(bytes >=
        (uint64_t)((SPLITS > 1) * SPLITS * rows * heads * headDim * 4));
  CHECK(SPLITS > 1 || bytes == 0);
  CHECK(bytes == 0 || cuMemAlloc_v2(&workspace, bytes) == 0);
  if (attend(views, 5, (void *)(uintptr_t)workspace, NULL) != 0) {
    printf("attend: %s\n", attend_last_error());
    exit(1);
  }
  CHECK(cuCtxSynchronize() == 0);
  for (int i = 3; i < 5; ++i)
    CHECK(!t[i].bytes || !cuMemcpyDtoH_v2(t[i].host, t[i].device, t[i].bytes));
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t head = 0; head < heads; ++head)
      checkRow(t, row, head);
  CHECK(!workspace || cuMemFree_v2(workspace) == 0);
  CHECK(attend(views, 4, NULL, NULL) != 0);
  CHECK_HAS(attend_last_error(), "5");
  for (int i = 0; i < 5; ++i)
    drop(&t[i]);
}

static void testNames(void) {
  const char *const names[] = {"q", "k", "v", "o", "lse"};
  for (size_t i = 0; i < 5; ++i)
    CHECK(strcmp(attend_tensor_name(i), names[i]) == 0);
  CHECK(attend_tensor_name(5) == NULL);
}

/* Threads that load the kernel at once, without a context of their own. */
static void *loadIt(void *failed) {
  *(int *)failed = attend_load();
  return NULL;
}

static void testThreads(void) {
  enum { number = 8 };
  pthread_t threads[number];
  int failed[number];
  for (int i = 0; i < number; ++i)
    CHECK(pthread_create(&threads[i], NULL, loadIt, &failed[i]) == 0);
  for (int i = 0; i < number; ++i)
    CHECK(pthread_join(threads[i], NULL) == 0 && failed[i] == 0);
}

int main(int count, char **arguments) {
  void *context = NULL;
  int device = 0;
  CHECK(cuInit(0) == 0 && cuDeviceGet(&device, 0) == 0);
  CHECK(cuDevicePrimaryCtxRetain(&context, device) == 0);
  CHECK(cuCtxSetCurrent(context) == 0);
  if (count > 1 && strcmp(arguments[1], "none") == 0) {
    CHECK(attend_load() != 0);
    CHECK_HAS(attend_last_error(), "attend: expected a device for one of "
                                   "sm_90a, sm_100a, sm_103a, got device 0 of "
                                   "compute capability 8.0");
    puts("all checks passed");
    return 0;
  }
  state = count > 1 ? strtoull(arguments[1], NULL, 10) : (uint64_t)time(NULL);
  printf("seed %llu\n", (unsigned long long)state);
  testThreads();
  testNames();
  launch(40, 70);
  launch(129, 65);
  CHECK(attend_unload() == 0 && attend_unload() == 0);
  launch(1, 1);
  launch(3, 0);
  launch(0, 3);
  puts("all checks passed");
  return 0;
}
