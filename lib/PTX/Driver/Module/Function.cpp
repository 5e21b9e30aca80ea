//===- Function.cpp - Attributes and parameters of kernels ----------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Parameters.h"
#include "State/State.h"

#include <algorithm>

using namespace ptxsim::driver;
using ptxsim::Dim3;
using ptxsim::TargetName;

namespace {

constexpr int maxThreads = 1024;

int ptxVersionOf(const CUfunc_st &function) {
  auto target = TargetName::parse(function.module->module.target());
  return target ? int(target->cc) : 0;
}

int clusterExtent(const CUfunc_st &function, uint32_t Dim3::*axis) {
  const auto &cluster = function.entry->requiredCluster;
  return cluster ? int((*cluster).*axis) : 0;
}

/// Returns the thread limit of a block. The driver uses .maxntid here, and not
/// .reqntid.
int maxThreadsOf(const CUfunc_st &function) {
  const auto &limit = function.entry->maxBlock;
  return limit ? int(limit->count()) : maxThreads;
}

/// Returns the value, or nullopt for an attribute unknown to the driver.
std::optional<int> attributeOf(State &state, const CUfunc_st &f, int which) {
  switch (which) {
  case FuncMaxThreadsPerBlock:
    return maxThreadsOf(f);
  case FuncSharedSizeBytes:
    return int(f.entry->staticSharedBytes);
  case FuncConstSizeBytes:
  case FuncLocalSizeBytes:
  case FuncCacheModeCa:
  case FuncClusterSizeMustBeSet:
    return 0;
  case FuncNumRegs:
    // Unknown from PTX; only an assembler allocates registers.
    return int(f.entry->maxRegisters.value_or(0));
  case FuncPtxVersion:
    return ptxVersionOf(f);
  case FuncBinaryVersion:
    return int(state.target().cc);
  case FuncMaxDynamicSharedBytes:
    return int(f.maxDynamicShared);
  case FuncSharedCarveout:
    return f.carveout;
  case FuncRequiredClusterWidth:
    return clusterExtent(f, &Dim3::x);
  case FuncRequiredClusterHeight:
    return clusterExtent(f, &Dim3::y);
  case FuncRequiredClusterDepth:
    return clusterExtent(f, &Dim3::z);
  case FuncNonPortableClusterAllowed:
    return f.nonPortableCluster;
  case FuncClusterSchedulingPolicy:
    return f.clusterPolicy;
  default:
    return std::nullopt;
  }
}

CUresult setMaxDynamicShared(State &state, CUfunc_st &f, int value) {
  int64_t room =
      int64_t(state.facts().sharedPerBlockOptin) - f.entry->staticSharedBytes;
  if (value < 0 || value > room)
    return fail(CUDA_ERROR_INVALID_VALUE,
                "MAX_DYNAMIC_SHARED_SIZE_BYTES is " + std::to_string(value) +
                    ", expected 0.." + std::to_string(room) +
                    " in addition to the entry's static shared memory");
  f.maxDynamicShared = uint32_t(value);
  return CUDA_SUCCESS;
}

CUresult setAttribute(State &state, CUfunc_st &f, int which, int value) {
  switch (which) {
  case FuncMaxDynamicSharedBytes:
    return setMaxDynamicShared(state, f, value);
  case FuncSharedCarveout:
    f.carveout = value;
    return value >= -1 && value <= 100 ? CUDA_SUCCESS
                                       : CUDA_ERROR_INVALID_VALUE;
  case FuncNonPortableClusterAllowed:
    f.nonPortableCluster = value != 0;
    return CUDA_SUCCESS;
  case FuncClusterSchedulingPolicy:
    f.clusterPolicy = value;
    return CUDA_SUCCESS;
  default:
    return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult
withFunction(CUfunction function,
             const std::function<CUresult(State &, CUfunc_st &)> &body) {
  return guarded(Needs::Init, [&](State &state) {
    return state.functions.count(function) ? body(state, *function)
                                           : CUDA_ERROR_INVALID_HANDLE;
  });
}

CUresult getAttribute(int *out, int which, CUfunction function) {
  return withFunction(function, [&](State &state, CUfunc_st &f) {
    std::optional<int> value = attributeOf(state, f, which);
    if (!out || !value)
      return CUDA_ERROR_INVALID_VALUE;
    *out = *value;
    return CUDA_SUCCESS;
  });
}

CUresult setAttribute(CUfunction function, int which, int value) {
  return withFunction(function, [&](State &state, CUfunc_st &f) {
    return setAttribute(state, f, which, value);
  });
}

CUresult parameterInfo(CUfunction function, size_t index, size_t *offset,
                       size_t *size) {
  return withFunction(function, [&](State &state, CUfunc_st &f) {
    const auto &parameters = f.entry->parameters;
    if (index >= parameters.size() || !offset)
      return CUDA_ERROR_INVALID_VALUE;
    *offset = parameterOffsets(*f.entry, state.target().cc)[index];
    if (size)
      *size = parameters[index].size;
    return CUDA_SUCCESS;
  });
}

CUresult nameOf(const char **out, CUfunction function) {
  return withFunction(function, [&](State &, CUfunc_st &f) {
    if (!out)
      return CUDA_ERROR_INVALID_VALUE;
    *out = f.entry->name.c_str();
    return CUDA_SUCCESS;
  });
}

uint32_t roundUp(uint32_t value, uint32_t unit) {
  return (value + unit - 1) / unit * unit;
}

/// Returns how many blocks fit by threads, by the block limit and by shared
/// memory, of which the system takes 1 KiB per block. Registers are unknown
/// here.
int activeBlocks(const ptxsim::DeviceFacts &facts, const CUfunc_st &f,
                 unsigned threads, size_t dynamicShared) {
  constexpr uint32_t reserved = 1024, granule = 128;
  if (threads > unsigned(maxThreadsOf(f)) ||
      dynamicShared > facts.sharedPerBlockOptin)
    return 0;
  uint32_t shared =
      roundUp(f.entry->staticSharedBytes + uint32_t(dynamicShared), granule);
  uint32_t byThreads = facts.threadsPerMultiprocessor / roundUp(threads, 32);
  uint32_t byShared = facts.sharedPerMultiprocessor / (shared + reserved);
  return int(std::min({byThreads, byShared, facts.blocksPerMultiprocessor}));
}

CUresult occupancy(int *blocks, CUfunction function, int threads,
                   size_t dynamicShared) {
  return withFunction(function, [&](State &state, CUfunc_st &f) {
    if (!blocks || threads <= 0)
      return CUDA_ERROR_INVALID_VALUE;
    *blocks = activeBlocks(state.facts(), f, unsigned(threads), dynamicShared);
    return CUDA_SUCCESS;
  });
}

} // namespace

DRIVER_API cuFuncGetAttribute(int *out, int which, CUfunction function) {
  return getAttribute(out, which, function);
}
DRIVER_API cuKernelGetAttribute(int *out, int which, CUkernel kernel,
                                CUdevice) {
  return getAttribute(out, which, kernel);
}
DRIVER_API cuFuncSetAttribute(CUfunction function, int which, int value) {
  return setAttribute(function, which, value);
}
DRIVER_API cuKernelSetAttribute(int which, int value, CUkernel kernel,
                                CUdevice) {
  return setAttribute(kernel, which, value);
}
DRIVER_API cuFuncGetParamInfo(CUfunction function, size_t index, size_t *offset,
                              size_t *size) {
  return parameterInfo(function, index, offset, size);
}
DRIVER_API cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t *offset,
                                size_t *size) {
  return parameterInfo(kernel, index, offset, size);
}
DRIVER_API cuFuncGetName(const char **out, CUfunction function) {
  return nameOf(out, function);
}
DRIVER_API cuKernelGetName(const char **out, CUkernel kernel) {
  return nameOf(out, kernel);
}

DRIVER_API cuFuncSetCacheConfig(CUfunction function, int) {
  return withFunction(function,
                      [](State &, CUfunc_st &) { return CUDA_SUCCESS; });
}

DRIVER_API cuFuncGetModule(CUmodule *out, CUfunction function) {
  return withFunction(function, [&](State &, CUfunc_st &f) {
    if (!out)
      return CUDA_ERROR_INVALID_VALUE;
    *out = f.module;
    return CUDA_SUCCESS;
  });
}

/// 1 = CU_FUNCTION_LOADING_STATE_LOADED: there is no lazy loading.
DRIVER_API cuFuncIsLoaded(int *state, CUfunction function) {
  return withFunction(function, [&](State &, CUfunc_st &) {
    if (!state)
      return CUDA_ERROR_INVALID_VALUE;
    *state = 1;
    return CUDA_SUCCESS;
  });
}
DRIVER_API cuFuncLoad(CUfunction function) {
  return withFunction(function,
                      [](State &, CUfunc_st &) { return CUDA_SUCCESS; });
}

DRIVER_API cuKernelGetFunction(CUfunction *out, CUkernel kernel) {
  return withFunction(kernel, [&](State &state, CUfunc_st &) {
    if (!out)
      return CUDA_ERROR_INVALID_VALUE;
    *out = kernel;
    return state.sticky;
  });
}

DRIVER_API cuKernelGetLibrary(CUlibrary *out, CUkernel kernel) {
  return withFunction(kernel, [&](State &, CUfunc_st &f) {
    if (!out || !f.module->library)
      return CUDA_ERROR_INVALID_VALUE;
    *out = f.module->library;
    return CUDA_SUCCESS;
  });
}

DRIVER_API cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks,
                                                       CUfunction function,
                                                       int threads,
                                                       size_t dynamicShared) {
  return occupancy(blocks, function, threads, dynamicShared);
}
DRIVER_API cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *blocks, CUfunction function, int threads, size_t dynamicShared,
    unsigned) {
  return occupancy(blocks, function, threads, dynamicShared);
}
