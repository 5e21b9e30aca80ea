//===- Inputs.h - The arrays of one problem ---------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FMHA_TOOLS_RUN_INPUTS_H
#define FMHA_TOOLS_RUN_INPUTS_H

#include "HostArray.h"
#include "Lists.h"
#include "RunFlags.h"
#include "Scores.h"

namespace fmha::tools {

/// If q, or k and v, are packed, their batch is 1, whatever `batch`, the number
/// of sequences, is, and the length is that of all sequences.
struct Shape {
  int64_t batch = 1, qHeads = 1, kvHeads = 1, qLen = 128, kvLen = 128;
  int64_t headDim = 128, headDimV = 128;
  /// Of a second KV segment; 0 without one.
  int64_t kvLen2 = 0;
  /// For paged caches; otherwise 0.
  int64_t pages = 0, pageSize = 0;
};

struct HostProblem {
  Shape shape;
  HostArray q, k, v, o;
  /// Whether the kernel has a second KV segment.
  bool hasSource2 = false;
  HostArray k2, v2;
  /// [batch, q_heads, q_len]; nullopt if not requested.
  std::optional<std::vector<float>> lse, rowMax, rowSum;
  /// Inputs of the kernel other than the tensors.
  Lists lists;
  Scores scores;

  /// New keys and values that the kernel appends to k and v; nullopt if it
  /// appends none.
  std::optional<runtime::Tensor4> keyNew, valueNew, cos, sin;

  /// Returns all outputs per row, requested or not.
  std::array<std::optional<std::vector<float>> *, 3> rows() {
    return {&lse, &rowMax, &rowSum};
  }
  /// Returns views of the arrays for a launch.
  runtime::AttentionTensors tensors() const;
  /// Fills the outputs with NaN, so that elements that the kernel does not
  /// write are visible.
  void poisonOutputs();
};

/// Arrays read from files, if any, before their shapes are checked.
struct InputFiles {
  std::optional<runtime::NpyArray> q, k, v, k2, v2;
  Lists lists;
  Scores scores;
};
llvm::Expected<InputFiles> readInputs(const RunFlags &flags);

/// Sets extents that no flag gives from the files.
void adoptExtents(ProblemFlags &flags, const InputFiles &files);

/// Checks the shape (heads divide, the memory suffices), and fills the arrays
/// from the files or with N(0,1) numbers of `seed`: for tensor i of q, k, v,
/// k2, v2 a std::mt19937_64 seeded with std::seed_seq{low half, high half of
/// seed, i}; Box-Muller on its draws, in the order batch, length, head, dim,
/// whatever the layout; rounded to the type. Random rows outside of all
/// sequences are NaN, which must not reach a result; files are used unchanged.
/// If no file gives a block table, it is a random permutation of more pages
/// than it has entries.
llvm::Expected<HostProblem> makeProblem(const RunFlags &flags,
                                        const schedule::Problem &spec,
                                        const InputFiles &files);

/// Writes the output and LSE if the flags request them.
llvm::Error writeOutputs(const RunFlags &flags, const HostProblem &problem);

} // namespace fmha::tools

#endif // FMHA_TOOLS_RUN_INPUTS_H
