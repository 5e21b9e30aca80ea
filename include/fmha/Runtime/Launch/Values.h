//===- Values.h - The run-time values of a launch ---------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The run-time values of a manifest for given tensors, and the workspace of a
// kernel with splits.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_RUNTIME_LAUNCH_VALUES_H
#define FMHA_RUNTIME_LAUNCH_VALUES_H

#include "fmha/Runtime/Launch/View.h"

namespace fmha::launch {

/// Sets the strides of a tensor with rows of heads, such as q: `strideBatch`
/// and those of row and head after it, and of vectors of k.
void setMatrixStrides(RunValue strideBatch, const View &view,
                      RunValues &values);
/// Sets the strides of a tensor with one number per row: `strideBatch` and
/// those of head and row after it.
void setRowStrides(RunValue strideBatch, const View &rows, RunValues &values);

/// Output, maximum and sum of the parts, in f32, as views of the first part.
struct PartViews {
  View o, max, sum;
  /// Strides from one part to the next, in elements, in the same order.
  std::array<int64_t, 3> steps = {};
  uint64_t bytes = 0;
};
/// Returns dense parts of an output with the extents `dims`, consecutive from
/// `address` on. `bytes` is the size of all of them.
PartViews partsAt(uint64_t address, int64_t parts,
                  const std::array<int64_t, 4> &dims);
/// The bytes that a tile counter takes in a workspace. The first four are the
/// counter, the others are padding.
constexpr uint64_t tileCounterBytes = 16;
/// Sets the number of parts, and their strides.
void setPartStrides(int64_t parts, const PartViews &views, RunValues &values);

} // namespace fmha::launch

#endif // FMHA_RUNTIME_LAUNCH_VALUES_H
