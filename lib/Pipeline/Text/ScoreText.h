//===- ScoreText.h - Code on scores from flags ------------------*- C++ -*-===//
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
/// In the order of the op's captures.
std::vector<ScoreOperand> scoreOperands(const ScoreSpec &score);

/// The op's region `score`, empty where nothing is done; rows sit at their own
/// number in keys if `topLeft`. Of two sources only the cap is of both.
std::string scoreText(const ScoreSpec &score, bool topLeft, bool twoSources);

} // namespace fmha

#endif // FMHA_LIB_PIPELINE_SCORETEXT_H
