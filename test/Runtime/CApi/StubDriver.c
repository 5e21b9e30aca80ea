/*===- StubDriver.c - A driver library that does nothing -----------*- C -*-===*
 *
 * Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
 * See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===------------------------------------------------------------------------===*
 *
 * Exports what libfmha_rt.so needs of a driver. Every call succeeds at once, so
 * that what is measured or counted is the work of the host. A test may watch:
 * calls are counted by name, and a launch may be looked at.
 *
 *===------------------------------------------------------------------------===*/

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef int Result;

/* Calls that a launch may make, and all others. */
static atomic_ulong launches, encodings, contexts, others;
static void (*watcher)(const void *config, void **parameters);

unsigned long stubLaunches(void) { return launches; }
unsigned long stubEncodings(void) { return encodings; }
unsigned long stubContexts(void) { return contexts; }
unsigned long stubOthers(void) { return others; }
void stubWatch(void (*watch)(const void *, void **)) { watcher = watch; }

static void count(atomic_ulong *calls) {
  atomic_fetch_add_explicit(calls, 1, memory_order_relaxed);
}
static Result other(void) {
  count(&others);
  return 0;
}
static Result give(void *out, int value) {
  *(int *)out = value;
  return other();
}
static Result handOut(void *out) {
  static char object;
  *(void **)out = &object;
  return other();
}

Result cuInit(unsigned flags) { return other(); }
Result cuGetErrorName(Result code, const char **text) {
  *text = "STUB";
  return 0;
}
Result cuGetErrorString(Result code, const char **text) {
  *text = "refused by the stub";
  return 0;
}
Result cuDeviceGetCount(int *out) { return give(out, 2); }
Result cuDeviceGet(int *out, int ordinal) { return give(out, ordinal); }
Result cuDeviceGetName(char *name, int bytes, int device) {
  strncpy(name, "stub", (size_t)bytes);
  return other();
}
Result cuDeviceGetAttribute(int *out, int attribute, int device) {
  return give(out, attribute == 16 ? 8 : 10);
}
Result cuDevicePrimaryCtxRetain(void **out, int device) { return handOut(out); }
Result cuDevicePrimaryCtxRelease_v2(int device) { return other(); }

static _Thread_local void *current;
Result cuCtxSetCurrent(void *context) {
  current = context;
  count(&contexts);
  return 0;
}
Result cuCtxGetCurrent(void **out) {
  *out = current;
  count(&contexts);
  return 0;
}
Result cuCtxGetDevice(int *out) { return give(out, 0); }
Result cuCtxSynchronize(void) { return other(); }
Result cuModuleLoadDataEx(void **out, const void *image, unsigned options,
                          int *names, void **values) {
  *out = NULL;
  if (strcmp(image, "broken") == 0)
    return 218;
  return handOut(out);
}
Result cuModuleUnload(void *module) { return other(); }
Result cuModuleGetFunction(void **out, void *module, const char *name) {
  return handOut(out);
}
Result cuFuncSetAttribute(void *function, int attribute, int value) {
  return other();
}
/* Addresses are mere numbers, each of its own. */
Result cuStreamIsCapturing(void *stream, int *out) {
  *out = 0;
  return 0;
}
Result cuMemAlloc_v2(unsigned long long *out, size_t bytes) {
  static atomic_ullong next = 1ull << 32;
  *out = atomic_fetch_add(&next, (bytes + 255) / 256 * 256);
  return other();
}
Result cuMemFree_v2(unsigned long long address) { return other(); }
Result cuMemcpyHtoD_v2(unsigned long long to, const void *from, size_t bytes) {
  return other();
}
Result cuMemcpyDtoH_v2(void *to, unsigned long long from, size_t bytes) {
  return other();
}

Result cuMemsetD32Async(unsigned long long to, unsigned value, size_t words,
                        void *stream) {
  for (size_t n = 0; n < words; ++n)
    ((uint32_t *)(uintptr_t)to)[n] = value;
  return other();
}

/* The map says what it was made of: address, extents, strides. */
Result cuTensorMapEncodeTiled(uint64_t *map, int type, uint32_t rank,
                              void *address, const uint64_t *extents,
                              const uint64_t *strides, const uint32_t *box,
                              const uint32_t *steps, int interleave,
                              int swizzle, int promotion, int fill) {
  count(&encodings);
  memset(map, 0, 128);
  map[0] = (uint64_t)(uintptr_t)address;
  memcpy(map + 1, extents, rank * sizeof(*extents));
  memcpy(map + 6, strides, (rank - 1) * sizeof(*strides));
  return 0;
}

Result cuLaunchKernelEx(const void *config, void *function, void **parameters,
                        void **extra) {
  if (!current)
    return 201;
  count(&launches);
  if (watcher)
    watcher(config, parameters);
  return 0;
}
