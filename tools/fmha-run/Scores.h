//===- Scores.h - Score modifications, from files ---------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FMHA_TOOLS_RUN_SCORES_H
#define FMHA_TOOLS_RUN_SCORES_H

#include "fmha/Options/ProblemFlags.h"
#include "fmha/Reference/Attention.h"
#include "fmha/Runtime/Attention.h"
#include "fmha/Runtime/Npy.h"

namespace fmha::tools {

struct Scores {
  std::optional<double> softcap;
  bool isApprox = false;
  /// float32 [q_heads]; float32 and bool of rank 1 to 4, the last dimensions of
  /// [batch, q_heads, q_len, kv_len].
  std::optional<runtime::NpyArray> alibi, bias, mask;
  /// The tensors that the op's region reads; empty: all dimensions.
  std::vector<schedule::Capture> wanted;

  /// Sets the types that the op's own score region reads, if it has one. Fails
  /// if an array has more dimensions.
  llvm::Error fit(const schedule::Problem &problem);
  /// Returns the captures of a launch, which point to these arrays.
  std::vector<runtime::CaptureData> captures() const;
  /// Returns the score modifications of the reference.
  reference::Score reference() const;
  /// Fails if an extent of a bias or a mask is neither 1 nor that of the
  /// problem.
  llvm::Error check(int64_t sequences, int64_t heads, int64_t rows,
                    int64_t keys) const;
};

/// Reads the files named by the flags.
llvm::Expected<Scores> readScores(const ProblemFlags &flags);

/// Fails if the op of an input file has a score region and no flag describes
/// it.
llvm::Error checkScores(const ProblemFlags &flags,
                        const schedule::Problem &problem);

} // namespace fmha::tools

#endif // FMHA_TOOLS_RUN_SCORES_H
