//===- Merge.h - Run a compiled merge of parts ------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As Attention.h, for a kernel of fmha.merge.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_RUNTIME_MERGE_H
#define FMHA_RUNTIME_MERGE_H

#include "fmha/Runtime/Attention.h"

namespace fmha::runtime {

/// o [parts * batch, length, heads, dim], max and sum [parts * batch, length,
/// heads, 1] in f32, part behind part; out [batch, length, heads, dim] of the
/// type that the kernel was compiled for, and as far as they are given lse,
/// rowMax and rowSum [batch, length, heads, 1] are written.
struct MergeTensors {
  int64_t parts = 0;
  Tensor4 o, max, sum, out;
  std::optional<Tensor4> lse, rowMax, rowSum;
  std::optional<std::vector<float>> sink;
};

/// The sentence that says how `tensors` disagree with each other or with the
/// kernel, as an error.
llvm::Error checkMerge(const MergeManifest &manifest,
                       const MergeTensors &tensors);

llvm::Expected<LaunchReport> runMerge(const MergeManifest &manifest,
                                      const std::string &ptx, Device &device,
                                      MergeTensors &tensors,
                                      const RunOptions &options);

} // namespace fmha::runtime

#endif // FMHA_RUNTIME_MERGE_H
