//===- Descriptor.h - A memref in memory ------------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_RUNTIME_MGPU_DESCRIPTOR_H
#define FMHA_LIB_RUNTIME_MGPU_DESCRIPTOR_H

#include <cstdint>
#include <span>

namespace fmha::runtime::mgpu {

/// A ranked memref in the memory layout of MLIR's LLVM lowering: two pointers,
/// an offset in elements, the sizes and the strides.
struct Descriptor {
  Descriptor(void *memory, int64_t rank) {
    auto *fields = static_cast<Fields *>(memory);
    auto *extents = reinterpret_cast<const int64_t *>(fields + 1);
    aligned = fields->aligned;
    offset = fields->offset;
    sizes = {extents, size_t(rank)};
    strides = {extents + rank, size_t(rank)};
  }

  /// Returns the address of the first element.
  void *data(int64_t elementBytes) const {
    return static_cast<char *>(aligned) + offset * elementBytes;
  }
  int64_t elements() const {
    int64_t count = 1;
    for (int64_t size : sizes)
      count *= size;
    return count;
  }
  /// Returns whether the elements are contiguous in row-major order.
  bool isDense() const {
    int64_t stride = 1;
    for (size_t i = sizes.size(); i-- > 0; stride *= sizes[i])
      if (sizes[i] > 1 && strides[i] != stride)
        return false;
    return true;
  }

  void *aligned;
  int64_t offset;
  std::span<const int64_t> sizes, strides;

private:
  struct Fields {
    void *allocated, *aligned;
    int64_t offset;
  };
};

} // namespace fmha::runtime::mgpu

#endif // FMHA_LIB_RUNTIME_MGPU_DESCRIPTOR_H
