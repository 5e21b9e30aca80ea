//===- Memory.cpp - Device and host memory --------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MemoryLimit.h"
#include "State/State.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

using namespace ptxsim::driver;

uint64_t ptxsim::driver::memoryLimit(const State &state) {
  uint64_t machine =
      uint64_t(sysconf(_SC_PHYS_PAGES)) * uint64_t(sysconf(_SC_PAGE_SIZE));
  return std::min(machine, state.facts().memory);
}

CUresult ptxsim::driver::allocateFrom(State &state, CUdeviceptr *out,
                                      size_t bytes, bool managed) {
  uint64_t limit = memoryLimit(state);
  if (bytes > limit || state.allocatedBytes > limit - bytes)
    return CUDA_ERROR_OUT_OF_MEMORY;
  *out = managed ? state.device->allocateManaged(bytes)
                 : state.device->allocate(bytes);
  state.allocations[*out] = {currentContext(state), bytes, managed};
  state.allocatedBytes += bytes;
  return CUDA_SUCCESS;
}

namespace {

std::span<const std::byte> bytesAt(const void *host, size_t count) {
  return {static_cast<const std::byte *>(host), count};
}
std::span<std::byte> bytesAt(void *host, size_t count) {
  return {static_cast<std::byte *>(host), count};
}

CUresult allocate(CUdeviceptr *out, size_t bytes) {
  return guarded(Needs::Uncaptured, [&](State &state) {
    if (!out || bytes == 0)
      return CUDA_ERROR_INVALID_VALUE;
    return allocateFrom(state, out, bytes, false);
  });
}

/// Fails during a capture: stream-ordered memory has its own kind of graph
/// node.
CUresult rejectWhileCaptured(CUstream stream) {
  return guarded(Needs::Healthy, [&](State &state) {
    std::shared_ptr<Capture> capture;
    if (CUresult error = capturing(state, stream, capture))
      return error;
    if (!capture)
      return CUDA_SUCCESS;
    capture->invalid = true;
    return fail(CUDA_ERROR_NOT_SUPPORTED,
                "the simulator does not capture allocations: allocate before "
                "the capture");
  });
}

CUresult release(CUdeviceptr address) {
  if (address == 0)
    return guarded(Needs::Init, [](State &) { return CUDA_SUCCESS; });
  return guarded(Needs::Uncaptured, [&](State &state) {
    auto found = state.allocations.find(address);
    if (found == state.allocations.end())
      return fail(CUDA_ERROR_INVALID_VALUE,
                  "the address is not one that cuMemAlloc returned");
    state.device->free(address);
    state.allocatedBytes -= found->second.bytes;
    state.allocations.erase(found);
    return CUDA_SUCCESS;
  });
}

CUresult toDevice(CUdeviceptr to, const void *from, size_t bytes) {
  return guarded(Needs::Healthy, [&](State &state) {
    if (bytes == 0)
      return CUDA_SUCCESS;
    if (!from)
      return CUDA_ERROR_INVALID_VALUE;
    state.device->write(to, bytesAt(from, bytes));
    return CUDA_SUCCESS;
  });
}

CUresult toHost(void *to, CUdeviceptr from, size_t bytes) {
  return guarded(Needs::Healthy, [&](State &state) {
    if (bytes == 0)
      return CUDA_SUCCESS;
    if (!to)
      return CUDA_ERROR_INVALID_VALUE;
    state.device->read(from, bytesAt(to, bytes));
    return CUDA_SUCCESS;
  });
}

CUresult onDevice(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return guarded(Needs::Healthy, [&](State &state) {
    if (bytes == 0)
      return CUDA_SUCCESS;
    // Through a copy, so that overlapping ranges are also copied correctly.
    std::vector<std::byte> copy(bytes);
    state.device->read(from, copy);
    state.device->write(to, copy);
    return CUDA_SUCCESS;
  });
}

bool isDevice(CUdeviceptr address) {
  bool known = false;
  guarded(Needs::Init, [&](State &state) {
    known = state.device->allocationOf(address).has_value();
    return CUDA_SUCCESS;
  });
  return known;
}

/// Copies under unified addressing: each side is device memory if it is in an
/// allocation, else host memory.
CUresult anywhere(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  bool toIsDevice = isDevice(to), fromIsDevice = isDevice(from);
  if (toIsDevice && fromIsDevice)
    return onDevice(to, from, bytes);
  if (toIsDevice)
    return toDevice(to, reinterpret_cast<const void *>(from), bytes);
  if (fromIsDevice)
    return toHost(reinterpret_cast<void *>(to), from, bytes);
  return guarded(Needs::Healthy, [&](State &) {
    if (bytes && (!to || !from))
      return CUDA_ERROR_INVALID_VALUE;
    std::memmove(reinterpret_cast<void *>(to),
                 reinterpret_cast<const void *>(from), bytes);
    return CUDA_SUCCESS;
  });
}

/// Sets `height` rows of `width` elements, `pitch` bytes apart.
template <typename T>
CUresult set(CUdeviceptr to, size_t pitch, T value, size_t width,
             size_t height = 1) {
  return guarded(Needs::Healthy, [&](State &state) {
    if (to % sizeof(T) || (height > 1 && pitch % sizeof(T)))
      return CUDA_ERROR_INVALID_VALUE;
    if (width == 0)
      return CUDA_SUCCESS;
    std::vector<T> row(width, value);
    for (size_t y = 0; y < height; ++y)
      state.device->write(to + y * pitch,
                          std::as_bytes(std::span<const T>(row)));
    return CUDA_SUCCESS;
  });
}

template <typename T> CUresult answer(void *out, T value) {
  std::memcpy(out, &value, sizeof(T)); // NOLINT(bugprone-sizeof-expression): T
                                       // may be a pointer, the answer itself.
  return CUDA_SUCCESS;
}

constexpr unsigned memoryTypeHost = 1, memoryTypeDevice = 2;

CUresult pointerAttribute(State &state, void *out, int attribute,
                          CUdeviceptr pointer) {
  auto range = state.device->allocationOf(pointer);
  if (!out || !range)
    return CUDA_ERROR_INVALID_VALUE;
  auto owner = state.allocations.find(range->first);
  auto host = state.hostRanges.find(reinterpret_cast<void *>(range->first));
  bool isOwned = owner != state.allocations.end();
  bool isHost = host != state.hostRanges.end();
  bool isManaged = isOwned && owner->second.managed;
  switch (attribute) {
  case PointerContext:
    return answer(out, isOwned  ? owner->second.context
                       : isHost ? host->second.context
                                : nullptr);
  case PointerMemoryType:
    return answer(out, isHost ? memoryTypeHost : memoryTypeDevice);
  case PointerDevicePointer:
    return answer(out, pointer);
  case PointerHostPointer:
    if (!isHost && !isManaged)
      return CUDA_ERROR_INVALID_VALUE;
    return answer(out, pointer);
  case PointerIsManaged:
    return answer(out, int(isManaged));
  case PointerDeviceOrdinal:
    return answer(out, 0);
  case PointerRangeStart:
    return answer(out, CUdeviceptr(range->first));
  case PointerRangeSize:
    return answer(out, size_t(range->second));
  case PointerMapped:
    return answer(out, 1);
  default:
    return CUDA_ERROR_INVALID_VALUE;
  }
}

} // namespace

DRIVER_API cuMemGetInfo_v2(size_t *free, size_t *total) {
  return guarded(Needs::Healthy, [&](State &state) {
    if (total)
      *total = memoryLimit(state);
    if (free)
      *free = memoryLimit(state) - state.allocatedBytes;
    return CUDA_SUCCESS;
  });
}

DRIVER_API cuMemAlloc_v2(CUdeviceptr *out, size_t bytes) {
  return allocate(out, bytes);
}
DRIVER_API cuMemAllocAsync(CUdeviceptr *out, size_t bytes, CUstream stream) {
  if (CUresult error = rejectWhileCaptured(stream))
    return error;
  return allocate(out, bytes);
}
DRIVER_PTSZ(cuMemAllocAsync);
DRIVER_API cuMemFree_v2(CUdeviceptr address) { return release(address); }
DRIVER_API cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
  if (CUresult error = rejectWhileCaptured(stream))
    return error;
  return release(address);
}
DRIVER_PTSZ(cuMemFreeAsync);

DRIVER_API cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size,
                                   CUdeviceptr address) {
  return guarded(Needs::Healthy, [&](State &state) {
    auto range = state.device->allocationOf(address);
    if (!range)
      return CUDA_ERROR_NOT_FOUND;
    if (base)
      *base = range->first;
    if (size)
      *size = range->second;
    return CUDA_SUCCESS;
  });
}

DRIVER_API cuPointerGetAttribute(void *out, int attribute,
                                 CUdeviceptr pointer) {
  return guarded(Needs::Healthy, [&](State &state) {
    return pointerAttribute(state, out, attribute, pointer);
  });
}

/// Unlike the single form, leaves unknown attributes as zero.
DRIVER_API cuPointerGetAttributes(unsigned count, int *attributes, void **out,
                                  CUdeviceptr pointer) {
  return guarded(Needs::Healthy, [&](State &state) {
    if (!attributes || !out)
      return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count; ++i)
      if (pointerAttribute(state, out[i], attributes[i], pointer) && out[i])
        std::memset(out[i], 0, sizeof(int));
    return CUDA_SUCCESS;
  });
}

DRIVER_API cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes) {
  return submit(nullptr, [=] { return toDevice(to, from, bytes); }, bytes == 0);
}
DRIVER_PTDS(cuMemcpyHtoD_v2);
DRIVER_API cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes) {
  return submit(nullptr, [=] { return toHost(to, from, bytes); }, bytes == 0);
}
DRIVER_PTDS(cuMemcpyDtoH_v2);
DRIVER_API cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return submit(nullptr, [=] { return onDevice(to, from, bytes); }, bytes == 0);
}
DRIVER_PTDS(cuMemcpyDtoD_v2);
DRIVER_API cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return submit(nullptr, [=] { return anywhere(to, from, bytes); }, bytes == 0);
}
DRIVER_PTDS(cuMemcpy);
DRIVER_API cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes,
                                CUstream stream) {
  return submit(stream, [=] { return toDevice(to, from, bytes); }, bytes == 0);
}
DRIVER_PTSZ(cuMemcpyHtoDAsync_v2);
DRIVER_API cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes,
                                CUstream stream) {
  return submit(stream, [=] { return toHost(to, from, bytes); }, bytes == 0);
}
DRIVER_PTSZ(cuMemcpyDtoHAsync_v2);
DRIVER_API cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                                CUstream stream) {
  return submit(stream, [=] { return onDevice(to, from, bytes); }, bytes == 0);
}
DRIVER_PTSZ(cuMemcpyDtoDAsync_v2);
DRIVER_API cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                         CUstream stream) {
  return submit(stream, [=] { return anywhere(to, from, bytes); }, bytes == 0);
}
DRIVER_PTSZ(cuMemcpyAsync);

DRIVER_API cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t count) {
  return submit(nullptr, [=] { return set(to, 0, value, count); }, count == 0);
}
DRIVER_PTDS(cuMemsetD8_v2);
DRIVER_API cuMemsetD16_v2(CUdeviceptr to, unsigned short value, size_t count) {
  return submit(nullptr, [=] { return set(to, 0, value, count); }, count == 0);
}
DRIVER_PTDS(cuMemsetD16_v2);
DRIVER_API cuMemsetD32_v2(CUdeviceptr to, unsigned value, size_t count) {
  return submit(nullptr, [=] { return set(to, 0, value, count); }, count == 0);
}
DRIVER_PTDS(cuMemsetD32_v2);
DRIVER_API cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count,
                           CUstream stream) {
  return submit(stream, [=] { return set(to, 0, value, count); }, count == 0);
}
DRIVER_PTSZ(cuMemsetD8Async);
DRIVER_API cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count,
                            CUstream stream) {
  return submit(stream, [=] { return set(to, 0, value, count); }, count == 0);
}
DRIVER_PTSZ(cuMemsetD16Async);
DRIVER_API cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count,
                            CUstream stream) {
  return submit(stream, [=] { return set(to, 0, value, count); }, count == 0);
}
DRIVER_PTSZ(cuMemsetD32Async);
DRIVER_API cuMemsetD2D8_v2(CUdeviceptr to, size_t pitch, unsigned char value,
                           size_t width, size_t height) {
  return submit(
      nullptr, [=] { return set(to, pitch, value, width, height); },
      width == 0 || height == 0);
}
DRIVER_PTDS(cuMemsetD2D8_v2);
DRIVER_API cuMemsetD2D16_v2(CUdeviceptr to, size_t pitch, unsigned short value,
                            size_t width, size_t height) {
  return submit(
      nullptr, [=] { return set(to, pitch, value, width, height); },
      width == 0 || height == 0);
}
DRIVER_PTDS(cuMemsetD2D16_v2);
DRIVER_API cuMemsetD2D32_v2(CUdeviceptr to, size_t pitch, unsigned value,
                            size_t width, size_t height) {
  return submit(
      nullptr, [=] { return set(to, pitch, value, width, height); },
      width == 0 || height == 0);
}
DRIVER_PTDS(cuMemsetD2D32_v2);
