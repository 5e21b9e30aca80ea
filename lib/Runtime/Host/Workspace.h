//===- Workspace.h - The parts of a split -----------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_RUNTIME_HOST_WORKSPACE_H
#define FMHA_LIB_RUNTIME_HOST_WORKSPACE_H

#include "fmha/Runtime/Attention.h"

#include <array>

namespace fmha::runtime {

/// What kernels hand to the one that combines it: f32 output, maximum and sum
/// of each part.
class Workspace {
public:
  /// For `parts` of an output of these dims; filled with NaN.
  static llvm::Expected<Workspace> create(Device &device, int64_t parts,
                                          const std::array<int64_t, 4> &dims,
                                          const Padding &padding);
  /// That of `tensors`, whose host memory has the parts, one behind the other
  /// in the batch.
  static llvm::Expected<Workspace> copy(Device &device, int64_t parts,
                                        const std::array<Tensor4, 3> &tensors,
                                        const Padding &padding);

  /// Null for other tensors.
  const DeviceTensor *find(TensorName name) const;
  /// The number of parts, and the strides.
  void fill(RunValues &values) const;
  /// Finds what was written beside the elements.
  llvm::Error check(Device &device, LaunchReport &report) const;

private:
  int64_t parts = 0;
  std::array<DeviceTensor, 3> tensors;
};

} // namespace fmha::runtime

#endif // FMHA_LIB_RUNTIME_HOST_WORKSPACE_H
