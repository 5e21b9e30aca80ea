//===- Types.h - The types of the CUDA driver's ABI -------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The types and enumerators that the calls of Calls.h take, with the ABI of
// cuda.h (CUDA Driver API manual), so that building needs no CUDA toolkit.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_RUNTIME_DRIVER_TYPES_H
#define FMHA_RUNTIME_DRIVER_TYPES_H

#include <cstdint>

namespace fmha::runtime::driver {

/// CUresult, CUdevice, CUdeviceptr.
using Result = int;
using DeviceId = int;
using DevicePointer = unsigned long long;

struct ContextTag;
struct ModuleTag;
struct FunctionTag;
struct StreamTag;
struct EventTag;
struct GraphTag;
struct GraphNodeTag;
struct GraphExecTag;
using Context = ContextTag *;
using Module = ModuleTag *;
using Function = FunctionTag *;
using Stream = StreamTag *;
using Event = EventTag *;
using Graph = GraphTag *;
using GraphNode = GraphNodeTag *;
using GraphExec = GraphExecTag *;

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
    int programmatic;
    char bytes[64];
  } value;
};
static_assert(sizeof(LaunchAttribute) == 72);

/// CUlaunchConfig.
struct LaunchConfig {
  uint32_t grid[3], block[3];
  uint32_t dynamicSmemBytes;
  Stream stream;
  LaunchAttribute *attributes;
  uint32_t attributeCount;
};
static_assert(sizeof(LaunchConfig) == 56);

/// CUresult.
constexpr Result success = 0, errorDeinitialized = 4,
                 errorContextIsDestroyed = 709, errorInvalidValue = 1,
                 errorOutOfMemory = 2, errorNotInitialized = 3,
                 errorNoDevice = 100, errorInvalidImage = 200,
                 errorInvalidContext = 201, errorNoBinaryForGpu = 209,
                 errorInvalidPtx = 218, errorUnsupportedPtxVersion = 222,
                 errorNotFound = 500, errorNotReady = 600,
                 errorIllegalAddress = 700, errorLaunchOutOfResources = 701,
                 errorLaunchTimeout = 702, errorMisalignedAddress = 716,
                 errorLaunchFailed = 719, errorNotSupported = 801;
/// CUdevice_attribute.
constexpr int attributeMultiprocessorCount = 16;
constexpr int attributeComputeCapabilityMajor = 75;
constexpr int attributeComputeCapabilityMinor = 76;
/// CUfunction_attribute.
constexpr int functionSharedSizeBytes = 1;
constexpr int functionMaxDynamicSmemBytes = 8;
constexpr int functionNonPortableClusterAllowed = 14;
/// CUlaunchAttributeID.
constexpr int launchClusterDimension = 4, launchProgrammatic = 6;
/// CUpointer_attribute, and CUmemorytype of its answers.
constexpr int pointerContext = 1, pointerMemoryType = 2,
              pointerDevicePointer = 3, pointerHostPointer = 4,
              pointerIsManaged = 8, pointerDeviceOrdinal = 9;
constexpr unsigned memoryHost = 1, memoryDevice = 2;
/// CUmemAttach_flags, CUstream_flags, CUevent_flags.
constexpr unsigned attachGlobal = 1;
constexpr unsigned streamNonBlocking = 1;
constexpr unsigned eventDisableTiming = 2;
/// CUjit_option.
constexpr int jitErrorLogBuffer = 5, jitErrorLogBufferBytes = 6,
              jitOptimizationLevel = 7;
/// CUstreamCaptureMode, CUstreamCaptureStatus.
constexpr int captureGlobal = 0, captureThreadLocal = 1, captureRelaxed = 2;
constexpr int captureNone = 0, captureActive = 1, captureInvalidated = 2;
/// CUtensorMapDataType, CUtensorMapL2promotion, and the enumerators of
/// CUtensorMapInterleave and CUtensorMapFloatOOBfill that mean "none".
constexpr int tensorFloat16 = 6, tensorFloat32 = 7, tensorBFloat16 = 9;
constexpr int promotionL2_256B = 3;
constexpr int interleaveNone = 0, oobFillNone = 0;

} // namespace fmha::runtime::driver

#endif // FMHA_RUNTIME_DRIVER_TYPES_H
