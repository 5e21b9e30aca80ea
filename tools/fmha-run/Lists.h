//===- Lists.h - Lengths of sequences, from files ---------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FMHA_TOOLS_RUN_LISTS_H
#define FMHA_TOOLS_RUN_LISTS_H

#include "fmha/Options/ProblemFlags.h"
#include "fmha/Reference/Attention.h"
#include "fmha/Runtime/Attention.h"

namespace fmha::tools {

struct Lists {
  std::optional<std::vector<int32_t>> kvLens, cuSeqlensQ, cuSeqlensK,
      source2Lens;
  std::optional<std::vector<float>> sink;

  /// Whether sequences have lengths of their own.
  bool anyLengths() const {
    return kvLens || cuSeqlensQ || cuSeqlensK || source2Lens;
  }
  /// Batch, and the lengths of what is packed, where no flag gives them.
  void adoptExtents(ProblemFlags &flags) const;
  /// An error if a flag says another batch than the lists.
  llvm::Error checkBatch(const ProblemFlags &flags, int64_t sequences) const;
};

/// Reads the files that the flags name: int32, the sink's float32, of one
/// dimension.
llvm::Expected<Lists> readLists(const ProblemFlags &flags);

/// An error if the op of an input file reads a list and no flag names it.
llvm::Error checkLists(const Lists &lists, const schedule::Problem &problem);

/// What attends to what, for the reference; nothing if all of each batch does.
std::optional<std::vector<reference::Sequence>>
sequencesOf(const runtime::AttentionTensors &tensors);

} // namespace fmha::tools

#endif // FMHA_TOOLS_RUN_LISTS_H
