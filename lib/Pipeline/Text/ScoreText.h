//===- ScoreText.h - A score region from flags ------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PIPELINE_SCORETEXT_H
#define FMHA_LIB_PIPELINE_SCORETEXT_H

#include "fmha/Pipeline/Compiler.h"

namespace fmha {

/// A memref that the region reads, by the name of the function's argument.
struct ScoreOperand {
  std::string name, type;
};
/// Returns the operands in the order of the op's captures.
std::vector<ScoreOperand> scoreOperands(const ScoreSpec &score);

/// Returns the region `score` of the op of `problem`, empty without steps. With
/// two KV segments only the cap applies to both.
std::string scoreText(const ScoreSpec &score, const schedule::Problem &problem);

} // namespace fmha

#endif // FMHA_LIB_PIPELINE_SCORETEXT_H
