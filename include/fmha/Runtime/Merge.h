//===- Merge.h - Run a compiled fmha.merge ----------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The counterpart of Attention.h for kernels of fmha.merge.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_RUNTIME_MERGE_H
#define FMHA_RUNTIME_MERGE_H

#include "fmha/Runtime/Attention.h"

namespace fmha::runtime {

/// The inputs are o [parts * batch, length, heads, dim], and max and sum [parts
/// * batch, length, heads, 1] in f32, with consecutive parts. The kernel writes
/// out [batch, length, heads, dim] in the type that it was compiled for, and
/// lse, rowMax and rowSum [batch, length, heads, 1] if they are given.
struct MergeTensors {
  int64_t parts = 0;
  Tensor4 o, max, sum, out;
  std::optional<Tensor4> lse, rowMax, rowSum;
  std::optional<std::vector<float>> sink;
};

/// Returns an error if `tensors` do not fit each other or the kernel.
llvm::Error checkMerge(const MergeManifest &manifest,
                       const MergeTensors &tensors);

/// Checks `tensors`, copies them to the device, runs the kernel and copies the
/// outputs back.
llvm::Expected<LaunchReport> runMerge(const MergeManifest &manifest,
                                      const std::string &ptx, Device &device,
                                      MergeTensors &tensors,
                                      const RunOptions &options);

} // namespace fmha::runtime

#endif // FMHA_RUNTIME_MERGE_H
