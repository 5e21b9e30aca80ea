//===- Tensor.h - Strided host tensors and their device copies --*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tensor of the attention problem lies anywhere in host memory with any
// strides, as long as the innermost dimension is contiguous. Its device copy
// has strides of its own: every dimension that has room for padding gets some,
// and all bytes that are no element hold NaN, so that a kernel that reads
// outside the problem shows it.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_RUNTIME_TENSOR_H
#define FMHA_RUNTIME_TENSOR_H

#include "fmha/Runtime/Device.h"
#include "fmha/Runtime/Element.h"
#include "fmha/Runtime/Launch/View.h"

#include <array>
#include <cstdint>
#include <string>

namespace fmha::runtime {

/// Dimensions are always (batch, length, heads, dim), whatever the order in
/// memory; strides are in elements. LSE has dim = 1.
struct Tensor4 {
  void *host = nullptr;
  std::array<int64_t, 4> dims = {0, 0, 0, 0};
  std::array<int64_t, 4> strides = {0, 0, 0, 1};
  ElementType dtype = ElementType::BF16;
};

/// The memory order of a dense tensor: [batch, length, heads, dim] or
/// [batch, heads, length, dim].
enum class Layout { BSHD, BHSD };
std::array<int64_t, 4> denseStrides(const std::array<int64_t, 4> &dims,
                                    Layout layout);

/// TMA wants a base address and strides in multiples of 16 bytes and a
/// contiguous innermost dimension. An error names `name`, the dimension, the
/// stride in bytes and the multiple. Dimensions of extent 1 or less have no
/// stride that matters.
llvm::Error checkAlignment(const Tensor4 &tensor, llvm::StringRef name);

/// How much NaN surrounds a device copy.
struct Padding {
  /// Bytes before and after the tensor; a multiple of 16, and of no more, so
  /// that nothing relies on a better aligned base.
  size_t guardBytes = 1040;
  /// Extra elements at the end of each row, as many as fill 16 bytes times
  /// this.
  unsigned rowUnits = 1;
  /// Extra rows after every dimension but the outermost.
  unsigned extraRows = 1;

  static Padding none() { return {0, 0, 0}; }
};

/// A tensor's copy on the device.
class DeviceTensor {
public:
  enum class Fill {
    /// The elements of the host tensor.
    Contents,
    /// NaN everywhere: what a kernel must overwrite.
    Poison,
  };
  /// Allocates and copies. The dimensions keep the host's order in memory.
  static llvm::Expected<DeviceTensor> create(Device &device,
                                             const Tensor4 &tensor, Fill fill,
                                             const Padding &padding);

  /// The first `dim` elements of every row of `whole`, which must outlive it.
  /// It has no memory of its own, and can be neither read back nor refilled.
  static DeviceTensor columnsOf(const DeviceTensor &whole, int64_t dim);

  /// Copies the elements back to `tensor` and counts into `strayBytes` the
  /// bytes that are no element and do not hold the poison any more.
  llvm::Error readBack(Device &device, Tensor4 &tensor,
                       size_t &strayBytes) const;
  /// Writes all of it anew, as create() did.
  llvm::Error refill(Device &device, const Tensor4 &tensor, Fill fill);

  /// Address of element (0, 0, 0, 0); a multiple of 16.
  driver::DevicePointer address() const {
    return (shared ? shared : memory.address()) + offset;
  }
  const std::array<int64_t, 4> &dims() const { return extents; }
  /// In elements.
  const std::array<int64_t, 4> &strides() const { return steps; }
  ElementType dtype() const { return type; }
  launch::View view() const { return {address(), extents, steps}; }

private:
  template <typename Visit> void forEachRow(Visit visit) const;

  DeviceMemory memory;
  /// The memory of another tensor, or 0.
  driver::DevicePointer shared = 0;
  size_t offset = 0;
  std::array<int64_t, 4> extents = {}, steps = {};
  ElementType type = ElementType::BF16;
};

/// The byte that poisons: 0xFF repeated is a NaN in every element type.
constexpr int poisonByte = 0xff;

} // namespace fmha::runtime

#endif // FMHA_RUNTIME_TENSOR_H
