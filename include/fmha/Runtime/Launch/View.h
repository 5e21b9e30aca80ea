//===- View.h - Tensors in device memory ------------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_RUNTIME_LAUNCH_VIEW_H
#define FMHA_RUNTIME_LAUNCH_VIEW_H

#include "fmha/Runtime/Launch/Names.h"

namespace fmha::launch {

/// A tensor in device memory. Dimensions are always (batch, length, heads,
/// dim), regardless of their order in memory; strides are in elements. Tensors
/// with one number per row (LSE) have dim = 1.
struct View {
  uint64_t address = 0;
  std::array<int64_t, 4> dims = {0, 0, 0, 0};
  std::array<int64_t, 4> strides = {0, 0, 0, 1};
  /// Elements from one vector of 16 bytes of dim to the next; 0 if dim is
  /// contiguous.
  int64_t vectorStride = 0;
};

} // namespace fmha::launch

#endif // FMHA_RUNTIME_LAUNCH_VIEW_H
