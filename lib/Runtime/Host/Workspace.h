//===- Workspace.h - The partial results of split-KV ------------*- C++ -*-===//
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

/// The data that kernels pass to the kernel that combines it: f32 output,
/// maximum and sum of each part.
class Workspace {
public:
  /// Creates `parts` of an output with these dims, filled with NaN.
  static llvm::Expected<Workspace> create(Device &device, int64_t parts,
                                          const std::array<int64_t, 4> &dims,
                                          const Padding &padding);
  /// Copies `tensors`, whose host memory has consecutive parts in the batch.
  static llvm::Expected<Workspace> copy(Device &device, int64_t parts,
                                        const std::array<Tensor4, 3> &tensors,
                                        const Padding &padding);

  /// Returns the tensor, or null for tensors outside the workspace.
  const DeviceTensor *find(TensorName name) const;
  /// Sets the number of parts, and the strides.
  void fill(RunValues &values) const;
  /// Reports writes outside of the elements.
  llvm::Error check(Device &device, LaunchReport &report) const;

private:
  int64_t parts = 0;
  std::array<DeviceTensor, 3> tensors;
};

/// The counter from which CTAs draw tiles.
class TileCounter {
public:
  /// Creates a counter that is 0, with poison around it.
  static llvm::Expected<TileCounter> create(Device &device,
                                            const Padding &padding);

  const DeviceTensor &tensor() const { return number; }
  /// Reports whether the counter is not 0 after a launch, and whether the
  /// kernel wrote to memory around it.
  llvm::Error check(Device &device, LaunchReport &report) const;

private:
  DeviceTensor number;
};

/// The memory that a launch has in addition to its tensors: partial results,
/// and the counter from which CTAs draw tiles.
struct Scratch {
  static llvm::Expected<Scratch> create(const Manifest &manifest,
                                        Device &device,
                                        const AttentionTensors &tensors,
                                        const RunOptions &options);
  /// Returns the buffer of that name, or null.
  const DeviceTensor *find(TensorName name) const {
    if (counter && name == TensorName::TileCounter)
      return &counter->tensor();
    return workspace ? workspace->find(name) : nullptr;
  }
  /// Adds a finding for what a launch must not leave there.
  llvm::Error check(Device &device, LaunchReport &report) {
    if (workspace)
      if (llvm::Error error = workspace->check(device, report))
        return error;
    return counter ? counter->check(device, report) : llvm::Error::success();
  }

  std::optional<Workspace> workspace;
  std::optional<TileCounter> counter;
};

} // namespace fmha::runtime

#endif // FMHA_LIB_RUNTIME_HOST_WORKSPACE_H
