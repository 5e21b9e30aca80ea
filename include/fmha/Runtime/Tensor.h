//===- Tensor.h - Strided host tensors and their device copies --*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tensor of the attention problem may have any address and strides in host
// memory, as long as the innermost dimension is contiguous. Its device copy has
// other strides: each dimension that allows padding is padded, and all bytes
// that belong to no element hold NaN, so that reads outside the tensor are
// visible in the output.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_RUNTIME_TENSOR_H
#define FMHA_RUNTIME_TENSOR_H

#include "fmha/Runtime/Device.h"
#include "fmha/Runtime/Element.h"
#include "fmha/Runtime/Launch/View.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace fmha::runtime {

/// The axes of tensors in messages: of all but the tables of a rotary
/// embedding, and of these.
inline constexpr const char *tensorAxes = "[batch, length, heads, dim]";
inline constexpr const char *angleAxes = "[1, positions, 1, rotary_dim / 2]";

/// A tensor in host memory. The dimensions are always (batch, length, heads,
/// dim), regardless of their order in memory; strides are in elements. LSE has
/// dim = 1.
struct Tensor4 {
  void *host = nullptr;
  std::array<int64_t, 4> dims = {0, 0, 0, 0};
  std::array<int64_t, 4> strides = {0, 0, 0, 1};
  ElementType dtype = ElementType::BF16;
  /// If not 0, dim is in vectors of this many elements, `vectorStride` elements
  /// apart; else it is contiguous.
  int64_t vector = 0, vectorStride = 0;

  /// Returns the place of an element, counted in elements.
  int64_t indexOf(int64_t b, int64_t l, int64_t h, int64_t d) const {
    int64_t column =
        vector ? d / vector * vectorStride + d % vector : d * strides[3];
    return b * strides[0] + l * strides[1] + h * strides[2] + column;
  }
};

/// Returns a tensor without data of keys [batch, heads, dim / x, length, x],
/// with x elements of 16 bytes.
Tensor4 keysInVectors(const std::array<int64_t, 4> &dims, ElementType type);

/// The memory order of a dense tensor: [batch, length, heads, dim] or
/// [batch, heads, length, dim].
enum class Layout { BSHD, BHSD };
/// Returns the strides of a dense tensor in this order, in elements.
std::array<int64_t, 4> denseStrides(const std::array<int64_t, 4> &dims,
                                    Layout layout);

/// Returns an error if TMA cannot access the tensor: it requires a base address
/// and strides that are multiples of 16 bytes, and a contiguous innermost
/// dimension. The message has `name`, the dimension, its stride in bytes and
/// the required multiple. Strides of dimensions of extent 1 or less are
/// ignored.
llvm::Error checkAlignment(const Tensor4 &tensor, llvm::StringRef name);

/// The NaN padding in and around a device copy.
struct Padding {
  /// Bytes before and after the tensor. A multiple of 16, but of no larger
  /// power of two, so that nothing can rely on a larger alignment.
  size_t guardBytes = 1040;
  /// Extra elements at the end of each row, in units of 16 bytes.
  unsigned rowUnits = 1;
  /// Extra rows after each dimension except the outermost one.
  unsigned extraRows = 1;

  static Padding none() { return {0, 0, 0}; }
};

/// A tensor's copy on the device.
class DeviceTensor {
public:
  enum class Fill {
    /// The elements of the host tensor.
    Contents,
    /// NaN everywhere, which the kernel must overwrite.
    Poison,
  };
  /// Allocates a device copy and fills it. The dimensions have the same order
  /// in memory as on the host.
  static llvm::Expected<DeviceTensor> create(Device &device,
                                             const Tensor4 &tensor, Fill fill,
                                             const Padding &padding);

  /// Returns a view of the first `dim` elements of each row of `whole`, which
  /// must outlive it. A view owns no memory and can be neither read back nor
  /// refilled.
  static DeviceTensor columnsOf(const DeviceTensor &whole, int64_t dim);

  /// Copies the elements back to `tensor`, and adds to `strayBytes`
  /// the number of padding bytes that no longer hold the poison byte.
  llvm::Error readBack(Device &device, Tensor4 &tensor,
                       size_t &strayBytes) const;
  /// Writes all elements and padding again, as create() does.
  llvm::Error refill(Device &device, const Tensor4 &tensor, Fill fill);

  /// Returns the address of element (0, 0, 0, 0), a multiple of 16.
  driver::DevicePointer address() const {
    return (shared ? shared : memory.address()) + offset;
  }
  const std::array<int64_t, 4> &dims() const { return extents; }
  /// Returns the strides in elements.
  const std::array<int64_t, 4> &strides() const { return steps; }
  ElementType dtype() const { return type; }
  launch::View view() const {
    return {address(), extents, steps, vector ? vectorStep : 0};
  }

private:
  /// Calls visit(element index in the copy, {b, l, h, d}, count) for all runs
  /// of contiguous elements.
  template <typename Visit> void forEachRun(Visit visit) const;
  /// Chooses the steps. Returns the elements of the copy, or nothing if there
  /// are too many.
  std::optional<int64_t> chooseSteps(const Tensor4 &tensor,
                                     const Padding &padding);

  DeviceMemory memory;
  /// The memory of the tensor that this one is a view of, or 0.
  driver::DevicePointer shared = 0;
  size_t offset = 0;
  std::array<int64_t, 4> extents = {}, steps = {};
  /// Of a tensor in vectors; otherwise 0.
  int64_t vector = 0, vectorStep = 0;
  ElementType type = ElementType::BF16;
};

/// The byte of the padding: 0xFF repeated is a NaN in each element type.
constexpr int poisonByte = 0xff;

} // namespace fmha::runtime

#endif // FMHA_RUNTIME_TENSOR_H
