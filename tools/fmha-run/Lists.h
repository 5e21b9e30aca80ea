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
  /// Factors of numbers of 8 bits; empty if random ones are wanted.
  std::optional<std::vector<float>> kScale, vScale, qScale;
  /// One row of `maxPages` entries per sequence.
  std::optional<std::vector<int32_t>> blockTables;
  int64_t maxPages = 0;
  /// A list of `topkLen` entries per query.
  std::optional<std::vector<int32_t>> topk;
  int64_t topkLen = 0;
  /// The batch and queries that a file has lists for.
  std::optional<std::pair<int64_t, int64_t>> topkShape;

  /// Lists of blocks and their counts.
  std::optional<runtime::IntegerTensor> kvNumBlocks, kvIndices, fullKvNumBlocks,
      fullKvIndices;

  /// Returns whether lists name keys, or blocks of them.
  bool anyKeys() const { return topk || kvIndices; }
  /// Returns whether sequences have individual lengths.
  bool anyLengths() const {
    return kvLens || cuSeqlensQ || cuSeqlensK || source2Lens;
  }
  /// Sets batch, and the lengths of packed tensors, unless flags give them.
  void adoptExtents(ProblemFlags &flags) const;
  /// Fails if a flag gives a different batch than the metadata.
  llvm::Error checkBatch(const ProblemFlags &flags, int64_t sequences) const;
};

/// Reads the files named by the flags: one-dimensional int32 arrays, a
/// two-dimensional one for block tables, those of three or four dimensions for
/// topk and blocks, and float32 for the sink and scales. A scale may be a
/// number in place of a file.
llvm::Expected<Lists> readLists(const ProblemFlags &flags);

/// Fails if the op of an input file reads varlen metadata and no flag names it.
llvm::Error checkLists(const Lists &lists, const schedule::Problem &problem);

/// Returns which rows attend to which keys, for the reference; nullopt if all
/// of each batch do.
std::optional<std::vector<reference::Sequence>>
sequencesOf(const runtime::AttentionTensors &tensors);

} // namespace fmha::tools

#endif // FMHA_TOOLS_RUN_LISTS_H
