//===- DriverApi.h - The CUDA driver API, loaded by name --------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The few driver calls that launching a kernel takes, as function pointers
// found with dlsym in whichever library was opened. The types are declared here
// with the ABI of cuda.h (CUDA Driver API manual), so that building needs no
// CUDA toolkit.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_RUNTIME_DRIVERAPI_H
#define FMHA_RUNTIME_DRIVERAPI_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>

namespace fmha::runtime::driver {

using Result = int;
using DeviceId = int;
using DevicePointer = unsigned long long;
struct ContextTag;
struct ModuleTag;
struct FunctionTag;
using Context = ContextTag *;
using Module = ModuleTag *;
using Function = FunctionTag *;

/// CUtensorMap: 128 opaque bytes.
struct alignas(64) TensorMap {
  uint64_t opaque[16];
};

/// CUlaunchAttribute: an id, padding to 8 bytes, and 64 bytes of value, of
/// which a cluster's dimensions take the first 12.
struct LaunchAttribute {
  int id;
  char pad[4];
  union {
    uint32_t cluster[3];
    char bytes[64];
  } value;
};
static_assert(sizeof(LaunchAttribute) == 72);

/// CUlaunchConfig.
struct LaunchConfig {
  uint32_t grid[3], block[3];
  uint32_t dynamicSmemBytes;
  void *stream;
  LaunchAttribute *attributes;
  uint32_t attributeCount;
};
static_assert(sizeof(LaunchConfig) == 56);

constexpr int attributeMultiprocessorCount = 16;
constexpr int attributeComputeCapabilityMajor = 75;
constexpr int attributeComputeCapabilityMinor = 76;
constexpr int functionMaxDynamicSmemBytes = 8;
constexpr int launchClusterDimension = 4;
/// CUtensorMapDataType, CUtensorMapL2promotion.
constexpr int tensorFloat16 = 6, tensorFloat32 = 7, tensorBFloat16 = 9;
constexpr int promotionL2_256B = 3;

/// The calls: member name, symbol, signature. libptxsim.so and libcuda.so.1
/// export all of them.
#define FMHA_DRIVER_CALLS(CALL)                                                \
  CALL(init, cuInit, (unsigned))                                               \
  CALL(getErrorName, cuGetErrorName, (Result, const char **))                  \
  CALL(getErrorString, cuGetErrorString, (Result, const char **))              \
  CALL(deviceGetCount, cuDeviceGetCount, (int *))                              \
  CALL(deviceGet, cuDeviceGet, (DeviceId *, int))                              \
  CALL(deviceGetName, cuDeviceGetName, (char *, int, DeviceId))                \
  CALL(deviceGetAttribute, cuDeviceGetAttribute, (int *, int, DeviceId))       \
  CALL(retainContext, cuDevicePrimaryCtxRetain, (Context *, DeviceId))         \
  CALL(releaseContext, cuDevicePrimaryCtxRelease_v2, (DeviceId))               \
  CALL(setContext, cuCtxSetCurrent, (Context))                                 \
  CALL(synchronize, cuCtxSynchronize, ())                                      \
  CALL(moduleLoad, cuModuleLoadDataEx,                                         \
       (Module *, const void *, unsigned, int *, void **))                     \
  CALL(moduleUnload, cuModuleUnload, (Module))                                 \
  CALL(moduleGetFunction, cuModuleGetFunction,                                 \
       (Function *, Module, const char *))                                     \
  CALL(functionSetAttribute, cuFuncSetAttribute, (Function, int, int))         \
  CALL(memAlloc, cuMemAlloc_v2, (DevicePointer *, size_t))                     \
  CALL(memFree, cuMemFree_v2, (DevicePointer))                                 \
  CALL(copyToDevice, cuMemcpyHtoD_v2, (DevicePointer, const void *, size_t))   \
  CALL(copyToHost, cuMemcpyDtoH_v2, (void *, DevicePointer, size_t))           \
  CALL(encodeTiled, cuTensorMapEncodeTiled,                                    \
       (TensorMap *, int, uint32_t, void *, const uint64_t *,                  \
        const uint64_t *, const uint32_t *, const uint32_t *, int, int, int,   \
        int))                                                                  \
  CALL(launchKernel, cuLaunchKernelEx,                                         \
       (const LaunchConfig *, Function, void **, void **))

struct Api {
#define FMHA_MEMBER(member, symbol, signature)                                 \
  Result(*member) signature = nullptr;
  FMHA_DRIVER_CALLS(FMHA_MEMBER)
#undef FMHA_MEMBER
  /// What libptxsim.so offers beside the driver API (its header PtxSim.h); null
  /// in a real driver.
  Result (*setOption)(const char *, const char *) = nullptr;
  void (*reset)() = nullptr;
  const char *(*lastReport)() = nullptr;
  const char *(*lastError)() = nullptr;
  /// The file that was opened.
  std::string library;

  bool isSimulator() const { return setOption && lastReport; }
  /// "CUDA_ERROR_INVALID_VALUE: invalid argument", and the library's own reason
  /// where it gives one.
  std::string describe(Result result) const;
  /// Success, or an error "<what> failed: <description>".
  llvm::Error check(Result result, const llvm::Twine &what) const;
};

/// Opens `library` and resolves every call. A library that is missing, or lacks
/// a symbol, is an error that names it. It stays open: a driver does not
/// survive being closed.
llvm::Expected<Api> load(const std::string &library);

} // namespace fmha::runtime::driver

#endif // FMHA_RUNTIME_DRIVERAPI_H
