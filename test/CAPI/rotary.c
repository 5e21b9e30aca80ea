//===- rotary.c - Attention that rotates and appends, from C --------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiles fmha.attention with new keys and a rotary embedding and launches it
// on the simulator. Angles are quarter turns, by which pairs are swapped and
// negated, so that the bits of the caches are known. With one key per sequence
// the output is its value.
//
//===----------------------------------------------------------------------===//

#include "check.h"
#include "fmha-c/Compiler.h"
#include "fmha-c/Runtime.h"

#include <stdint.h>

typedef unsigned long long Address;
int cuInit(unsigned flags);
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuCtxSetCurrent(void *context);
int cuCtxSynchronize(void);
int cuMemAlloc_v2(Address *address, size_t bytes);
int cuMemcpyHtoD_v2(Address to, const void *from, size_t bytes);
int cuMemcpyDtoH_v2(void *to, Address from, size_t bytes);

enum { dim = 16, pairs = 5, kvHeads = 2, qHeads = 4, batch = 3, length = 7 };
enum { row = kvHeads * dim, cacheSize = batch * length * row };
enum { pitch = pairs + 1, tensors = 9 };

static const char *const text =
    "!q = memref<?x1x4x16xf16>\n"
    "!c = memref<?x?x2x16xf16>\n"
    "!n = memref<?x?x2x16xf16>\n"
    "!a = memref<?x5xf32, strided<[?, 1]>>\n"
    "func.func @f(%q: !q, %k: !c, %v: !c, %lens: memref<?xi32>, %kn: !n,\n"
    "             %vn: !n, %cos: !a, %sin: !a, %o: !q) {\n"
    "  fmha.attention ins(%q, %k, %v : !q, !c, !c)\n"
    "      kv_lens(%lens : memref<?xi32>) append(%kn, %vn : !n, !n)\n"
    "      rotary half(%cos, %sin : !a, !a) outs(%o : !q)\n"
    "  return\n"
    "}\n";

static uint64_t state;

static uint32_t draw(uint32_t below) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(state >> 33) % below;
}

static Address upload(const void *data, size_t bytes) {
  Address address;
  CHECK(cuMemAlloc_v2(&address, bytes + 16) == 0);
  CHECK(cuMemcpyHtoD_v2(address, data, bytes) == 0);
  return address;
}

/* Fills an array with numbers of f16 of 0.125 to 2 and either sign. */
static void fill(uint16_t *numbers, size_t count) {
  for (size_t n = 0; n < count; ++n)
    numbers[n] = (uint16_t)(0x3000 + draw(0x1000) + draw(2) * 0x8000);
}

/* Rotates a row by `position` quarter turns. */
static void turn(const uint16_t *from, int position, uint16_t *to) {
  memcpy(to, from, dim * sizeof *to);
  for (int j = 0; j < pairs; ++j) {
    uint16_t x = from[j], y = from[j + pairs], minus = 0x8000;
    const uint16_t turned[4][2] = {
        {x, y}, {y ^ minus, x}, {x ^ minus, y ^ minus}, {y, x ^ minus}};
    to[j] = turned[position % 4][0];
    to[j + pairs] = turned[position % 4][1];
  }
}

static uint16_t q[batch * qHeads * dim], k[cacheSize], v[cacheSize],
    kNew[batch * row], vNew[batch * row], o[batch * qHeads * dim];
static float angles[2][length * pitch];
static const int32_t lens[batch] = {1, length, 4};

/* Draws the inputs, and writes the new keys to what the caches have to be. */
static void prepare(uint16_t *wantedK, uint16_t *wantedV) {
  static const float cosines[4] = {1, 0, -1, 0};
  for (int p = 0; p < length; ++p)
    for (int j = 0; j < pitch; ++j) {
      angles[0][p * pitch + j] = cosines[p % 4];
      angles[1][p * pitch + j] = cosines[(p + 3) % 4];
    }
  fill(q, sizeof q / 2);
  fill(k, cacheSize);
  fill(v, cacheSize);
  fill(kNew, batch * row);
  fill(vNew, batch * row);
  memcpy(wantedK, k, sizeof k);
  memcpy(wantedV, v, sizeof v);
  for (int b = 0; b < batch; ++b) {
    int place = (b * length + lens[b] - 1) * row;
    for (int h = 0; h < kvHeads; ++h)
      turn(kNew + b * row + h * dim, lens[b] - 1, wantedK + place + h * dim);
    memcpy(wantedV + place, vNew + b * row, row * sizeof *v);
  }
}

static void run(FmhaModule module) {
  uint16_t wantedK[cacheSize], wantedV[cacheSize];
  prepare(wantedK, wantedV);
  DLDataType f16 = {kDLFloat, 16, 1}, f32 = {kDLFloat, 32, 1},
             i32 = {kDLInt, 32, 1};
  int64_t queries[] = {batch, 1, qHeads, dim};
  int64_t cache[] = {batch, length, kvHeads, dim};
  int64_t fresh[] = {batch, 1, kvHeads, dim};
  int64_t list[] = {batch}, table[] = {length, pairs}, steps[] = {pitch, 1};
  const struct {
    const void *data;
    size_t bytes;
    DLDataType type;
    int rank;
    int64_t *shape, *strides;
  } all[tensors] = {{q, sizeof q, f16, 4, queries, NULL},
                    {k, sizeof k, f16, 4, cache, NULL},
                    {v, sizeof v, f16, 4, cache, NULL},
                    {o, sizeof o, f16, 4, queries, NULL},
                    {lens, sizeof lens, i32, 1, list, NULL},
                    {kNew, sizeof kNew, f16, 4, fresh, NULL},
                    {vNew, sizeof vNew, f16, 4, fresh, NULL},
                    {angles[0], sizeof angles[0], f32, 2, table, steps},
                    {angles[1], sizeof angles[1], f32, 2, table, steps}};
  DLTensor made[tensors];
  const DLTensor *pointers[tensors];
  const int count = tensors;
  for (int n = 0; n < count; ++n) {
    made[n] = (DLTensor){(void *)(uintptr_t)upload(all[n].data, all[n].bytes),
                         {kDLCUDA, 0},
                         all[n].rank,
                         all[n].type,
                         all[n].shape,
                         all[n].strides,
                         0};
    pointers[n] = &made[n];
  }
  if (fmhaLaunch(module, pointers, (size_t)count, NULL, NULL)) {
    printf("%s\n", fmhaLastError());
    exit(1);
  }
  CHECK(cuCtxSynchronize() == 0);
  CHECK(cuMemcpyDtoH_v2(k, (Address)(uintptr_t)made[1].data, sizeof k) == 0);
  CHECK(cuMemcpyDtoH_v2(v, (Address)(uintptr_t)made[2].data, sizeof v) == 0);
  CHECK(cuMemcpyDtoH_v2(o, (Address)(uintptr_t)made[3].data, sizeof o) == 0);
  CHECK(memcmp(k, wantedK, sizeof k) == 0);
  CHECK(memcmp(v, wantedV, sizeof v) == 0);
  for (int h = 0; h < qHeads; ++h)
    CHECK(memcmp(o + h * dim, vNew + h / (qHeads / kvHeads) * dim,
                 dim * sizeof *o) == 0);

  /* One table has more pairs than the kernel rotates. */
  int64_t wide[] = {length, pairs + 1};
  made[8].shape = wide;
  CHECK(fmhaLaunch(module, pointers, (size_t)count, NULL, NULL) ==
        FMHA_ERROR_SHAPE);
  CHECK_HAS(fmhaLastError(), "tensor 'rotary_sin': expected the shape [7, 5]");
}

int main(int argc, char **argv) {
  const char *options[] = {"{\"target\": \"sm_90a\"}",
                           "{\"target\": \"sm_100a\"}"};
  const char *names[] = {"q",         "k",          "v",
                         "o",         "kv_lens",    "key_new",
                         "value_new", "rotary_cos", "rotary_sin"};
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
    CHECK(strstr(fmhaResultManifest(result), "\"rotary_dim\": 10"));
    CHECK(fmhaModuleLoad(fmhaResultPtx(result), strlen(fmhaResultPtx(result)),
                         fmhaResultManifest(result), &module) == 0);
    fmhaResultDestroy(result);
    CHECK(fmhaTensorCount(module) == tensors);
    for (size_t i = 0; i < tensors; ++i)
      CHECK(strcmp(fmhaTensorName(module, i), names[i]) == 0);
    run(module);
    CHECK(fmhaModuleUnload(module) == 0);
  }
  puts("all rotations are right");
  return 0;
}
