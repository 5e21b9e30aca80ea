//===- Scores.h - What becomes of scores, from files ------------*- C++ -*-===//
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
  /// float32 [q_heads]; float32 and bool of rank 1 to 4, the last dimensions
  /// of [batch, q_heads, q_len, kv_len].
  std::optional<runtime::NpyArray> alibi, bias, mask;
  /// The tensors that the op's region reads; empty: all dimensions.
  std::vector<schedule::Capture> wanted;

  /// Takes the types that code of the op's own reads, if it has any; an error
  /// if an array has more.
  llvm::Error fit(const schedule::Problem &problem);
  /// As a launch takes them; they lie here.
  std::vector<runtime::CaptureData> captures() const;
  /// As the reference takes them.
  reference::Score reference() const;
  /// An error if an extent of a bias or a mask is neither 1 nor that of the
  /// problem.
  llvm::Error check(int64_t sequences, int64_t heads, int64_t rows,
                    int64_t keys) const;
};

/// Reads the files that the flags name.
llvm::Expected<Scores> readScores(const ProblemFlags &flags);

/// An error if the op of an input file has code on scores and no flag says what
/// it does.
llvm::Error checkScores(const ProblemFlags &flags,
                        const schedule::Problem &problem);

} // namespace fmha::tools

#endif // FMHA_TOOLS_RUN_SCORES_H
