//===- HostArray.h - Arrays in host memory ----------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_TOOLS_RUN_HOSTARRAY_H
#define FMHA_TOOLS_RUN_HOSTARRAY_H

#include "fmha/Runtime/Npy.h"
#include "fmha/Runtime/Tensor.h"

#include <array>
#include <functional>
#include <string>
#include <vector>

namespace fmha::tools {

/// A host tensor in the problem's type and layout, in memory of units of 16
/// bits. An array without `bits` is a view of another array, which must not
/// move.
struct HostArray {
  runtime::Tensor4 view;
  std::vector<uint16_t> bits;
  /// Shape as stored, for messages and files.
  std::vector<int64_t> shape;

  /// Returns the address of element n of the memory.
  const void *element(int64_t n) const {
    const auto *data = static_cast<const char *>(view.host);
    return data + n * int64_t(runtime::sizeOf(view.dtype));
  }
  /// Returns the number of elements.
  int64_t count() const {
    return view.dims[0] * view.dims[1] * view.dims[2] * view.dims[3];
  }
  /// Rounds `value` to element n of the memory.
  void set(int64_t n, float value);
  /// Returns the element at (batch, length, head, dim).
  float at(int64_t b, int64_t l, int64_t h, int64_t d) const;
  /// Returns all elements in memory order.
  std::vector<float> floats() const;
};

/// Returns an array of dimensions (batch, length, heads, dim), in the order of
/// `layout`. A packed one has no batch in its shape.
HostArray allocate(const std::array<int64_t, 4> &dims,
                   const std::string &layout, runtime::ElementType type,
                   bool isPacked);
/// Returns an array of keys in vectors, [batch, heads, dim / x, length, x].
HostArray allocateVectors(const std::array<int64_t, 4> &dims,
                          runtime::ElementType type);
/// Returns a copy with memory of its own.
HostArray copyOf(const HostArray &array);
/// Returns a view of the first `dim` columns of `whole`.
HostArray columnsOf(const HostArray &whole, int64_t dim);
/// Rounds the elements of a file to the type of `array`, or copies bytes
/// (uint8) to one of e4m3. Fails for another shape; the message names `name`,
/// and the dimensions of pages if the array `isCache`.
llvm::Error fillFromFile(HostArray &array, const runtime::NpyArray &file,
                         llvm::StringRef name, const std::string &layout,
                         bool isCache = false);
/// Returns the scale of the element at (batch or page, head).
using ScaleAt = std::function<float(int64_t batch, int64_t head)>;
/// Fills `array` with numbers of N(0, 1), which do not depend on the layout,
/// divided by their scales.
void fillRandom(HostArray &array, uint64_t seed, uint32_t stream,
                const ScaleAt &scaleAt = nullptr);

} // namespace fmha::tools

#endif // FMHA_TOOLS_RUN_HOSTARRAY_H
