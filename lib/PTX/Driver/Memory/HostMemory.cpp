//===- HostMemory.cpp - Memory shared by host and kernels -----------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels use host memory at the host's addresses, whether the driver allocated
// it or the host registered it.
//
//===----------------------------------------------------------------------===//

#include "MemoryLimit.h"
#include "State/State.h"

#include <cstdlib>

using namespace ptxsim::driver;

namespace {

/// Makes the range accessible to kernels; the host owns it if `registered`.
void share(State &state, void *memory, size_t bytes, bool registered) {
  state.device->map(memory, bytes);
  state.hostRanges[memory] = {currentContext(state), bytes, registered};
}

CUresult allocateHost(void **out, size_t bytes) {
  return guarded(Needs::Uncaptured, [&](State &state) {
    if (!out || bytes == 0)
      return CUDA_ERROR_INVALID_VALUE;
    constexpr size_t page = 4096;
    if (bytes > SIZE_MAX - page)
      return CUDA_ERROR_OUT_OF_MEMORY;
    void *memory = std::aligned_alloc(page, (bytes + page - 1) / page * page);
    if (!memory)
      return CUDA_ERROR_OUT_OF_MEMORY;
    share(state, memory, bytes, false);
    *out = memory;
    return CUDA_SUCCESS;
  });
}

/// Returns true if the range partly overlaps a range that the host has
/// registered.
bool overlapsRegistered(const State &state, const void *memory, size_t bytes) {
  const char *begin = static_cast<const char *>(memory);
  for (const auto &[start, range] : state.hostRanges) {
    const char *other = static_cast<const char *>(start);
    if (range.registered && other < begin + bytes &&
        begin < other + range.bytes)
      return true;
  }
  return false;
}

} // namespace

DRIVER_API cuMemAllocHost_v2(void **out, size_t bytes) {
  return allocateHost(out, bytes);
}
DRIVER_API cuMemHostAlloc(void **out, size_t bytes, unsigned) {
  return allocateHost(out, bytes);
}

DRIVER_API cuMemFreeHost(void *pointer) {
  return guarded(Needs::Context, [&](State &state) {
    auto found = state.hostRanges.find(pointer);
    if (found == state.hostRanges.end() || found->second.registered)
      return CUDA_ERROR_INVALID_VALUE;
    if (CUresult error = rejectDuringCapture(state))
      return error;
    state.device->free(CUdeviceptr(pointer));
    state.hostRanges.erase(found);
    std::free(pointer);
    return CUDA_SUCCESS;
  });
}

DRIVER_API cuMemHostRegister_v2(void *memory, size_t bytes, unsigned flags) {
  constexpr unsigned knownFlags = 15;
  return guarded(Needs::Uncaptured, [&](State &state) {
    if (!memory || bytes == 0 || (flags & ~knownFlags))
      return CUDA_ERROR_INVALID_VALUE;
    if (overlapsRegistered(state, memory, bytes))
      return fail(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
                  "the range overlaps one that is registered");
    share(state, memory, bytes, true);
    return CUDA_SUCCESS;
  });
}
DRIVER_TWIN(cuMemHostRegister_v2, cuMemHostRegister);

DRIVER_API cuMemHostUnregister(void *memory) {
  return guarded(Needs::Uncaptured, [&](State &state) {
    auto found = state.hostRanges.find(memory);
    if (found == state.hostRanges.end() || !found->second.registered) {
      bool known = !memory || state.device->allocationOf(CUdeviceptr(memory));
      return fail(known ? CUDA_ERROR_INVALID_VALUE
                        : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED,
                  "the address is not one that was registered");
    }
    state.device->free(CUdeviceptr(memory));
    state.hostRanges.erase(found);
    return CUDA_SUCCESS;
  });
}

DRIVER_API cuMemHostGetDevicePointer_v2(CUdeviceptr *out, void *memory,
                                        unsigned flags) {
  return guarded(Needs::Healthy, [&](State &state) {
    if (!out || flags != 0)
      return CUDA_ERROR_INVALID_VALUE;
    auto range = state.device->allocationOf(CUdeviceptr(memory));
    if (!range ||
        !state.hostRanges.count(reinterpret_cast<void *>(range->first)))
      return fail(CUDA_ERROR_INVALID_VALUE,
                  "the address is not in registered or allocated host memory");
    *out = CUdeviceptr(memory);
    return CUDA_SUCCESS;
  });
}
DRIVER_TWIN(cuMemHostGetDevicePointer_v2, cuMemHostGetDevicePointer);

DRIVER_API cuMemAllocManaged(CUdeviceptr *out, size_t bytes, unsigned flags) {
  constexpr unsigned attachGlobal = 1, attachHost = 2;
  return guarded(Needs::Uncaptured, [&](State &state) {
    if (!out || bytes == 0 || (flags != attachGlobal && flags != attachHost))
      return CUDA_ERROR_INVALID_VALUE;
    return allocateFrom(state, out, bytes, true);
  });
}
