//===- append.c - Append to KV caches from C ------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiles a module with fmha.append, launches the kernel on the simulator and
// compares all bytes of the caches, whose keys and values are in one buffer.
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
int cuMemFree_v2(Address address);
int cuMemcpyHtoD_v2(Address to, const void *from, size_t bytes);
int cuMemcpyDtoH_v2(void *to, Address from, size_t bytes);

enum { dim = 16, page = 4, heads = 2, pages = 9, maxPages = 3, batch = 3 };
enum { row = heads * dim, half = page * row, cacheSize = pages * 2 * half };
static const uint16_t poison = 0x7fff;

static const char *const text =
    "!n = memref<?x?x2x16xf16>\n"
    "!c = memref<?x4x2x16xf16, strided<[?, ?, ?, 1], offset: ?>>\n"
    "func.func @f(%k: !n, %v: !n, %lens: memref<?xi32>,\n"
    "             %pages: memref<?x?xi32>, %kc: !c, %vc: !c) {\n"
    "  fmha.append ins(%k, %v : !n, !n) kv_lens(%lens : memref<?xi32>)\n"
    "      block_tables(%pages : memref<?x?xi32>) outs(%kc, %vc : !c, !c)\n"
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

static DLTensor tensor(Address address, uint64_t offset, DLDataType type,
                       int rank, int64_t *shape, int64_t *strides) {
  return (DLTensor){(void *)(uintptr_t)address,
                    {kDLCUDA, 0},
                    rank,
                    type,
                    shape,
                    strides,
                    offset};
}

/* Writes to `cache` what the kernel has to, token by token. */
static void expect(int64_t count, const int32_t *lens, const int32_t *tables,
                   const uint16_t *fresh[2], uint16_t *cache) {
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t i = 0; i < count; ++i) {
      int64_t p = lens[b] - count + i;
      if (p < 0)
        continue;
      for (int side = 0; side < 2; ++side)
        memcpy(cache + (tables[b * maxPages + p / page] * 2 + side) * half +
                   p % page * row,
               fresh[side] + (b * count + i) * row, row * sizeof(uint16_t));
    }
}

static void run(FmhaModule module, int64_t count, const int32_t *lens) {
  uint16_t *cache = malloc(cacheSize * sizeof *cache);
  uint16_t *wanted = malloc(cacheSize * sizeof *cache);
  size_t bytes = (size_t)(batch * count * row) * sizeof(uint16_t);
  uint16_t *fresh[2] = {malloc(bytes + 1), malloc(bytes + 1)};
  int32_t tables[batch * maxPages];
  for (int n = 0; n < batch * maxPages; ++n)
    tables[n] = (n * 4 + 1) % pages;
  for (int n = 0; n < cacheSize; ++n)
    cache[n] = wanted[n] = poison;
  for (int side = 0; side < 2; ++side)
    for (int64_t n = 0; n < batch * count * row; ++n)
      fresh[side][n] = (uint16_t)draw(0x7c00);
  expect(count, lens, tables, (const uint16_t *[]){fresh[0], fresh[1]}, wanted);

  DLDataType f16 = {kDLFloat, 16, 1}, i32 = {kDLInt, 32, 1};
  int64_t shape[] = {pages, page, heads, dim};
  int64_t strides[] = {2 * half, row, dim, 1};
  int64_t freshShape[] = {batch, count, heads, dim};
  int64_t tableShape[] = {batch, maxPages};
  Address places[] = {upload(cache, cacheSize * sizeof *cache),
                      upload(lens, batch * sizeof *lens),
                      upload(tables, sizeof tables), upload(fresh[0], bytes),
                      upload(fresh[1], bytes)};
  DLTensor tensors[] = {
      tensor(places[0], 0, f16, 4, shape, strides),
      tensor(places[0], half * sizeof *cache, f16, 4, shape, strides),
      tensor(places[1], 0, i32, 1, tableShape, NULL),
      tensor(places[2], 0, i32, 2, tableShape, NULL),
      tensor(places[3], 0, f16, 4, freshShape, NULL),
      tensor(places[4], 0, f16, 4, freshShape, NULL)};
  const DLTensor *pointers[6];
  for (int n = 0; n < 6; ++n)
    pointers[n] = &tensors[n];
  if (fmhaLaunch(module, pointers, 6, NULL, NULL)) {
    printf("%s\n", fmhaLastError());
    exit(1);
  }
  CHECK(cuCtxSynchronize() == 0);
  CHECK(cuMemcpyDtoH_v2(cache, places[0], cacheSize * sizeof *cache) == 0);
  CHECK(memcmp(cache, wanted, cacheSize * sizeof *cache) == 0);

  /* V must not lie in K. */
  tensors[1].byte_offset = 0;
  CHECK(fmhaLaunch(module, pointers, 6, NULL, NULL) == FMHA_ERROR_OVERLAP);
  CHECK_HAS(fmhaLastError(), "tensor 'v': expected memory of its own");
  for (int n = 0; n < 5; ++n)
    CHECK(cuMemFree_v2(places[n]) == 0);
  for (int side = 0; side < 2; ++side)
    free(fresh[side]);
  free(cache);
  free(wanted);
}

int main(int argc, char **argv) {
  const char *options[] = {"{\"target\": \"sm_90a\"}",
                           "{\"target\": \"sm_100a\"}"};
  const char *names[] = {"k",       "v",        "kv_lens", "block_tables",
                         "key_new", "value_new"};
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
    CHECK(fmhaTensorCount(module) == 6);
    for (size_t i = 0; i < 6; ++i)
      CHECK(strcmp(fmhaTensorName(module, i), names[i]) == 0);
    for (int64_t count = 1; count < 7; ++count) {
      int32_t lens[batch] = {maxPages * page, (int32_t)draw(maxPages * page),
                             (int32_t)count - 1};
      run(module, count, lens);
    }
    CHECK(fmhaModuleUnload(module) == 0);
  }
  puts("all appends are right");
  return 0;
}
