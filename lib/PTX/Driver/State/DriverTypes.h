//===- DriverTypes.h - The types of the CUDA driver's ABI -------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of the driver's binary interface (CUDA 13) that the exported
// functions need, declared here so that the simulator builds without a CUDA
// toolkit. Never include cuda.h together with it: the names are the same.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PTX_DRIVER_STATE_DRIVERTYPES_H
#define FMHA_LIB_PTX_DRIVER_STATE_DRIVERTYPES_H

#include <cstddef>
#include <cstdint>

/// Exports a function of libptxsim.so; all other symbols are hidden.
#define DRIVER_API extern "C" __attribute__((visibility("default"))) CUresult

/// Defines the per-thread-default-stream twins of a function: every stream of
/// the simulator is synchronous, so they share the code. Both names must be in
/// the file that defines the function.
#define DRIVER_TWIN(name, twin)                                                \
  extern "C"                                                                   \
      __attribute__((visibility("default"), alias(#name))) decltype(name) twin
#define DRIVER_PTSZ(name) DRIVER_TWIN(name, name##_ptsz)
#define DRIVER_PTDS(name) DRIVER_TWIN(name, name##_ptds)

enum CUresult : int {
#define DRIVER_RESULT(name, number, text) CUDA_##name = number,
#include "Errors.def"
};

using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct CUctx_st *;
using CUmodule = struct CUmod_st *;
using CUfunction = struct CUfunc_st *;
using CUlibrary = struct CUlib_st *;
/// The driver accepts a kernel in place of a function; here they are one
/// object.
using CUkernel = CUfunction;
using CUstream = struct CUstream_st *;
using CUevent = struct CUevent_st *;
using CUgraph = struct CUgraph_st *;
using CUgraphNode = struct CUgraphNode_st *;
using CUgraphExec = struct CUgraphExec_st *;

struct CUuuid {
  char bytes[16];
};

struct alignas(128) CUtensorMap {
  uint64_t opaque[16];
};

struct CUctxCreateParams;
struct CUexecAffinityParam;

enum CUfunction_attribute : int {
  FuncMaxThreadsPerBlock = 0,
  FuncSharedSizeBytes = 1,
  FuncConstSizeBytes = 2,
  FuncLocalSizeBytes = 3,
  FuncNumRegs = 4,
  FuncPtxVersion = 5,
  FuncBinaryVersion = 6,
  FuncCacheModeCa = 7,
  FuncMaxDynamicSharedBytes = 8,
  FuncSharedCarveout = 9,
  FuncClusterSizeMustBeSet = 10,
  FuncRequiredClusterWidth = 11,
  FuncRequiredClusterHeight = 12,
  FuncRequiredClusterDepth = 13,
  FuncNonPortableClusterAllowed = 14,
  FuncClusterSchedulingPolicy = 15,
  FuncAttributeCount = 16
};

enum CUjit_option : int {
  JitInfoLogBuffer = 3,
  JitInfoLogBufferSizeBytes = 4,
  JitErrorLogBuffer = 5,
  JitErrorLogBufferSizeBytes = 6
};

enum CUpointer_attribute : int {
  PointerContext = 1,
  PointerMemoryType = 2,
  PointerDevicePointer = 3,
  PointerHostPointer = 4,
  PointerIsManaged = 8,
  PointerDeviceOrdinal = 9,
  PointerRangeStart = 11,
  PointerRangeSize = 12,
  PointerMapped = 13
};

enum CUlaunchAttributeID : int {
  LaunchIgnore = 0,
  LaunchCooperative = 2,
  LaunchClusterDimension = 4,
  LaunchProgrammaticStreamSerialization = 6,
  LaunchPreferredClusterDimension = 11
};

union CUlaunchAttributeValue {
  char pad[64];
  int cooperative;
  struct {
    unsigned x, y, z;
  } clusterDim;
  int programmaticStreamSerializationAllowed;
};

struct CUlaunchAttribute {
  CUlaunchAttributeID id;
  char pad[4];
  CUlaunchAttributeValue value;
};

struct CUlaunchConfig {
  unsigned gridDimX, gridDimY, gridDimZ;
  unsigned blockDimX, blockDimY, blockDimZ;
  unsigned sharedMemBytes;
  CUstream hStream;
  CUlaunchAttribute *attrs;
  unsigned numAttrs;
};

/// The keys of the `extra` argument of a launch.
inline void *const launchParamEnd = nullptr;
inline void *const launchParamBufferPointer = reinterpret_cast<void *>(1);
inline void *const launchParamBufferSize = reinterpret_cast<void *>(2);

constexpr unsigned eventDisableTiming = 2;
constexpr unsigned streamNonBlocking = 1;

enum CUstreamCaptureMode : int {
  CaptureModeGlobal = 0,
  CaptureModeThreadLocal = 1,
  CaptureModeRelaxed = 2
};

enum CUstreamCaptureStatus : int {
  CaptureStatusNone = 0,
  CaptureStatusActive = 1,
  CaptureStatusInvalidated = 2
};

#endif // FMHA_LIB_PTX_DRIVER_STATE_DRIVERTYPES_H
