//===- FakeDriver.cpp - A driver library for the runtime's tests ----------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A shared library with the driver's symbols, over host memory. Its "kernels"
// are named by the PTX text itself: cuModuleGetFunction takes any name, and a
// launch calls the function that the first line of the text names. They read
// tensor maps and parameters exactly as the runtime built them, and compute
// attention in double precision one row at a time. It reports a GPU of the
// compute capability in FAKE_DRIVER_CC (default 100).
//
//===----------------------------------------------------------------------===//

#include "FakeDriver.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace {

fake::Log log_;
std::map<char *, size_t> allocations;
struct FakeModule {
  std::string text;
};
int computeCapability() {
  const char *text = std::getenv("FAKE_DRIVER_CC");
  return text ? std::atoi(text) : 100;
}

float loadBF16(const char *at) {
  uint16_t bits;
  std::memcpy(&bits, at, 2);
  uint32_t wide = uint32_t(bits) << 16;
  float value;
  std::memcpy(&value, &wide, 4);
  return value;
}

void storeBF16(char *at, double value) {
  float narrow = float(value);
  uint32_t bits;
  std::memcpy(&bits, &narrow, 4);
  uint16_t top = uint16_t((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
  std::memcpy(at, &top, 2);
}

/// The element (d, row, head, batch) of a 4-D map, or null outside of it.
char *element(const fake::Map &map, uint64_t d, uint64_t row, uint64_t head,
              uint64_t batch) {
  const uint64_t at[4] = {d, row, head, batch};
  char *address = static_cast<char *>(map.address);
  for (unsigned i = 0; i < 4; ++i) {
    if (at[i] >= map.dims[i])
      return nullptr;
    address += at[i] * (i ? map.strides[i - 1] : 2);
  }
  return address;
}

/// The parameters of the manifest in test/data/runtime/attention.json.
struct Arguments {
  fake::Map q, k, v, o;
  float *lse;
  uint64_t lseBatch, lseHead, lseRow;
  uint32_t qLen, kvLen, group;

  explicit Arguments(void **p) {
    fake::Map *maps[] = {&q, &k, &v, &o};
    for (int i = 0; i < 4; ++i)
      std::memcpy(maps[i], p[i], sizeof(fake::Map));
    std::memcpy(&lse, p[4], 8);
    std::memcpy(&lseBatch, p[5], 8);
    std::memcpy(&lseHead, p[6], 8);
    std::memcpy(&lseRow, p[7], 8);
    std::memcpy(&qLen, p[8], 4);
    std::memcpy(&kvLen, p[9], 4);
    std::memcpy(&group, p[10], 4);
  }
};

void attendRow(const Arguments &a, uint64_t b, uint64_t h, uint64_t i) {
  uint64_t headDim = a.q.dims[0];
  std::vector<double> scores(a.kvLen);
  double top = -INFINITY, sum = 0;
  for (uint64_t j = 0; j < a.kvLen; ++j) {
    double dot = 0;
    for (uint64_t d = 0; d < headDim; ++d)
      dot += double(loadBF16(element(a.q, d, i, h, b))) *
             loadBF16(element(a.k, d, j, h / a.group, b));
    scores[j] = dot / std::sqrt(double(headDim));
    top = std::max(top, scores[j]);
  }
  for (double &score : scores)
    sum += score = std::exp(score - top);
  for (uint64_t d = 0; d < a.v.dims[0]; ++d) {
    double out = 0;
    for (uint64_t j = 0; j < a.kvLen; ++j)
      out += scores[j] / sum * loadBF16(element(a.v, d, j, h / a.group, b));
    storeBF16(element(a.o, d, i, h, b), out);
  }
  a.lse[b * a.lseBatch + h * a.lseHead + i * a.lseRow] =
      a.kvLen ? float(top + std::log(sum)) : -INFINITY;
}

/// "attention": right. "overrun": one row too many. "silent": writes nothing.
/// "unsteady": another output at each launch. "fault": fails.
int launchKernel(const std::string &text, void **parameters) {
  if (text.starts_with("fault"))
    return 700;
  if (text.starts_with("silent"))
    return 0;
  if (text.starts_with("unsteady")) {
    fake::Map out;
    std::memcpy(&out, parameters[3], sizeof(out));
    std::memset(out.address, log_.launches, 2);
    return 0;
  }
  Arguments arguments(parameters);
  for (uint64_t b = 0; b < arguments.o.dims[3]; ++b)
    for (uint64_t h = 0; h < arguments.o.dims[2]; ++h)
      for (uint64_t i = 0; i < arguments.qLen; ++i)
        attendRow(arguments, b, h, i);
  if (text.starts_with("overrun"))
    std::memset(element(arguments.o, 0, arguments.qLen - 1, 0, 0) +
                    arguments.o.strides[0],
                0, 16);
  return 0;
}

} // namespace

extern "C" {

fake::Log *fakeDriverLog() { return &log_; }

int cuInit(unsigned) { return 0; }
int cuGetErrorName(int result, const char **name) {
  *name = result == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR_OTHER";
  return 0;
}
int cuGetErrorString(int, const char **text) {
  *text = "from the fake driver";
  return 0;
}
int cuDeviceGetCount(int *count) {
  *count = computeCapability() ? 1 : 0;
  return 0;
}
int cuDeviceGet(int *device, int) {
  *device = 0;
  return 0;
}
int cuDeviceGetName(char *name, int size, int) {
  std::strncpy(name, "Fake GPU", size);
  return 0;
}
int cuDeviceGetAttribute(int *value, int attribute, int) {
  int cc = computeCapability();
  *value = attribute == 75 ? cc / 10 : attribute == 76 ? cc % 10 : 0;
  return 0;
}
int cuDevicePrimaryCtxRetain(void **context, int) {
  *context = &log_;
  ++log_.contexts;
  return 0;
}
int cuDevicePrimaryCtxRelease_v2(int) {
  --log_.contexts;
  return 0;
}
int cuCtxSetCurrent(void *) { return 0; }
int cuCtxSynchronize() { return log_.pending; }
int cuModuleLoadDataEx(void **module, const void *image, unsigned, int *,
                       void **) {
  const char *text = static_cast<const char *>(image);
  if (std::strncmp(text, "malformed", 9) == 0)
    return 218;
  *module = new FakeModule{text};
  ++log_.modules;
  return 0;
}
int cuModuleUnload(void *module) {
  delete static_cast<FakeModule *>(module);
  --log_.modules;
  return 0;
}
int cuModuleGetFunction(void **function, void *module, const char *name) {
  log_.entry = name;
  *function = module;
  return 0;
}
int cuFuncSetAttribute(void *, int attribute, int value) {
  if (attribute == 8)
    log_.allowedSmem = value;
  return 0;
}
int cuMemAlloc_v2(unsigned long long *address, size_t bytes) {
  char *memory =
      static_cast<char *>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
  allocations[memory] = bytes;
  *address = reinterpret_cast<unsigned long long>(memory);
  ++log_.allocations;
  return 0;
}
int cuMemFree_v2(unsigned long long address) {
  char *memory = reinterpret_cast<char *>(address);
  allocations.erase(memory);
  std::free(memory);
  --log_.allocations;
  return 0;
}
int cuMemcpyHtoD_v2(unsigned long long to, const void *from, size_t bytes) {
  std::memcpy(reinterpret_cast<void *>(to), from, bytes);
  return 0;
}
int cuMemcpyDtoH_v2(void *to, unsigned long long from, size_t bytes) {
  std::memcpy(to, reinterpret_cast<void *>(from), bytes);
  return 0;
}
int cuTensorMapEncodeTiled(void *map, int type, unsigned rank, void *address,
                           const uint64_t *dims, const uint64_t *strides,
                           const uint32_t *box, const uint32_t *, int, int, int,
                           int) {
  fake::Map encoded = {};
  encoded.address = address;
  if (uintptr_t(address) % 16 || rank < 1 || rank > 5)
    return 1;
  for (unsigned i = 0; i < rank; ++i) {
    if (dims[i] == 0 || box[i] == 0 || box[i] > 256)
      return 1;
    encoded.dims[i] = uint32_t(dims[i]);
    if (i && strides[i - 1] % 16)
      return 1;
    if (i)
      encoded.strides[i - 1] = strides[i - 1];
  }
  // A map of sequences begins as many rows before its tensor as that has
  // (include/fmha/Runtime/README.md).
  if (rank == 5)
    encoded.address =
        static_cast<char *>(address) + int64_t(dims[1] * strides[0]);
  std::memcpy(map, &encoded, sizeof(encoded));
  log_.mapTypes.push_back(type);
  log_.maps.push_back(encoded);
  return 0;
}
int cuLaunchKernelEx(const void *config, void *function, void **parameters,
                     void **) {
  const auto *extents = static_cast<const uint32_t *>(config);
  log_.grid = {extents[0], extents[1], extents[2]};
  log_.block = {extents[3], extents[4], extents[5]};
  log_.launchSmem = extents[6];
  ++log_.launches;
  if (!extents[0] || !extents[1] || !extents[2])
    return 1;
  log_.pending =
      launchKernel(static_cast<FakeModule *>(function)->text, parameters);
  return 0;
}

} // extern "C"
