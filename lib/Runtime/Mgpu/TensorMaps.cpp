//===- TensorMaps.cpp - Tensor maps ---------------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Descriptor.h"
#include "Process.h"

#include <array>
#include <cstring>
#include <map>
#include <mutex>

using namespace fmha::runtime;
using namespace fmha::runtime::mgpu;

namespace {

constexpr int64_t maxRank = 5;

/// Bytes of an element by CUtensorMapDataType. Packed types below 8 bits are
/// not elements of a memref.
constexpr int64_t elementBytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};

void checkRank(const char *function, int64_t rank) {
  if (rank < 1 || rank > maxRank)
    fail(std::string(function) + ": expected a rank from 1 to 5, got " +
         std::to_string(rank));
}

int64_t bytesOf(int64_t dataType) {
  if (dataType < 0 || size_t(dataType) >= std::size(elementBytes))
    fail("mgpuTensorMapEncodeTiledMemref: expected a CUtensorMapDataType from "
         "0 to 12, got " +
         std::to_string(dataType));
  return elementBytes[dataType];
}

/// Checks that a coordinate, a number of 32 bits with a sign, can be any index.
void checkExtents(const char *function, int32_t rank, const uint64_t *dims) {
  for (int32_t i = 0; i < rank; ++i)
    if (dims[i] > uint64_t(1) << 31)
      fail(std::string(function) + ": expected extents of at most 2^31, got " +
           std::to_string(dims[i]) + " in dimension " + std::to_string(i));
}

/// The arguments of cuTensorMapEncodeTiled that describe the layout of a
/// tensor, innermost dimension first.
struct Geometry {
  void *address = nullptr;
  uint64_t dims[maxRank], strides[maxRank];
  uint32_t box[maxRank];
};

Geometry geometryOf(const Descriptor &memref, int64_t bytes,
                    const int64_t *box) {
  size_t rank = memref.sizes.size();
  if (memref.strides[rank - 1] != 1)
    fail("mgpuTensorMapEncodeTiledMemref: expected an innermost stride of 1, "
         "got " +
         std::to_string(memref.strides[rank - 1]));
  Geometry geometry;
  geometry.address = memref.data(bytes);
  for (size_t i = 0; i < rank; ++i) {
    size_t outer = rank - 1 - i;
    geometry.dims[i] = uint64_t(memref.sizes[outer]);
    geometry.box[i] = uint32_t(box[outer]);
    if (outer > 0)
      geometry.strides[i] = uint64_t(memref.strides[outer - 1] * bytes);
  }
  return geometry;
}

/// Returns the device address of a copy of `map`. Copies are never freed, since
/// their last use is unknown.
void *onDevice(const driver::TensorMap &map) {
  using Key = std::pair<ContextKey, std::array<uint64_t, 16>>;
  static auto *const mutex = new std::mutex;
  static auto *const copies = new std::map<Key, driver::DevicePointer>;
  Key key{currentContext(), {}};
  std::memcpy(key.second.data(), map.opaque, sizeof(map.opaque));
  std::lock_guard lock(*mutex);
  driver::DevicePointer &copy = (*copies)[key];
  if (!copy) {
    check("cuMemAlloc", calls().memAlloc(&copy, sizeof(map)));
    check("cuMemcpyHtoD", calls().copyToDevice(copy, &map, sizeof(map)));
  }
  return reinterpret_cast<void *>(copy);
}

} // namespace

void mgpuTensorMapEncodeTiled(void *map, int32_t dataType, uint32_t rank,
                              void *address, const uint64_t *dims,
                              const uint64_t *strides, const uint32_t *box,
                              const uint32_t *elementStrides,
                              int32_t interleave, int32_t swizzle,
                              int32_t l2Promotion, int32_t oobFill) {
  check("cuTensorMapEncodeTiled",
        enter().encodeTiled(static_cast<driver::TensorMap *>(map), dataType,
                            rank, address, dims, strides, box, elementStrides,
                            interleave, swizzle, l2Promotion, oobFill));
}

void *mgpuTensorMapEncodeTiledMemref(int64_t rank, void *descriptor,
                                     int64_t dataType, int64_t interleave,
                                     int64_t swizzle, int64_t l2Promotion,
                                     int64_t oobFill, int64_t *box) {
  checkRank("mgpuTensorMapEncodeTiledMemref", rank);
  const uint32_t ones[maxRank] = {1, 1, 1, 1, 1};
  Geometry geometry =
      geometryOf(Descriptor(descriptor, rank), bytesOf(dataType), box);
  driver::TensorMap map = {};
  mgpuTensorMapEncodeTiled(
      &map, int32_t(dataType), uint32_t(rank), geometry.address, geometry.dims,
      geometry.strides, geometry.box, ones, int32_t(interleave),
      int32_t(swizzle), int32_t(l2Promotion), int32_t(oobFill));
  return onDevice(map);
}

void mgpuFmhaEncodeTensorMap(void *map, int32_t dataType, int32_t rank,
                             void *address, const uint64_t *dims,
                             const uint64_t *strides, const uint32_t *box,
                             int32_t swizzle) {
  checkRank("mgpuFmhaEncodeTensorMap", rank);
  checkExtents("mgpuFmhaEncodeTensorMap", rank, dims);
  const uint32_t ones[maxRank] = {1, 1, 1, 1, 1};
  mgpuTensorMapEncodeTiled(map, dataType, uint32_t(rank), address, dims,
                           strides, box, ones, driver::interleaveNone, swizzle,
                           driver::promotionL2_256B, driver::oobFillNone);
}
