//===- BoundTensors.h - The tensors of one launch ---------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_RUNTIME_CAPI_BOUNDTENSORS_H
#define FMHA_LIB_RUNTIME_CAPI_BOUNDTENSORS_H

#include "Module.h"

namespace fmha::capi {

/// Tensors in the form that a kernel's parameters need.
struct BoundTensors {
  const DLTensor *const *tensors = nullptr;
  std::array<launch::View, launch::tensorCount> views;
  launch::RunValues values;
  /// For a launch with splits; at address 0 until there is a workspace.
  launch::PartViews parts;
  /// The size of the workspace in bytes. The tile counter is at its end.
  uint64_t workspaceBytes = 0;

  launch::View &view(launch::TensorName name) { return views[size_t(name)]; }
  const launch::View &view(launch::TensorName name) const {
    return views[size_t(name)];
  }
};

/// Checks number, devices, types and shapes, and computes all values that do
/// not depend on strides and addresses.
FmhaStatus bindShapes(const FmhaModuleImpl &module,
                      const DLTensor *const *tensors, size_t n, int64_t maxQLen,
                      BoundTensors &bound);

/// Checks addresses, strides and overlaps of tensors that passed bindShapes(),
/// and places them and the workspace.
FmhaStatus bindAddresses(const FmhaModuleImpl &module,
                         const FmhaLaunchOptions &options, BoundTensors &bound);

} // namespace fmha::capi

#endif // FMHA_LIB_RUNTIME_CAPI_BOUNDTENSORS_H
