//===- Score.h - Code between the first product and the softmax -*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_CONVERSION_RAISE_LINALG_SCORE_H
#define FMHA_LIB_CONVERSION_RAISE_LINALG_SCORE_H

#include "Linalg/Roles.h"

namespace fmha::raise {

/// The parts of the program that were read. Code on scores needs them until it
/// is created.
struct Source {
  Digits digits;
  std::unique_ptr<Reader> reader;
  Roles roles;
};

/// The scale, the mask and the code of fmha.attention between its products.
struct ScorePlan {
  double scale = 1;
  schedule::Mask mask;
  llvm::SmallVector<ScoreStep> steps;
  /// The steps whose tensor is to be made of a scalar.
  llvm::SmallVector<std::pair<size_t, mlir::Value>> scalars;

  /// Returns the steps with tensors of all scalars.
  llvm::SmallVector<ScoreStep> prepare(mlir::OpBuilder &b,
                                       mlir::Location location) const;
};

/// Sets the plan for scores that are computed from the elements `product` of
/// the first product, times `factor`, or returns why there is none.
std::optional<Refusal> planScore(std::shared_ptr<Source> source, Code *scores,
                                 Code *product, double factor,
                                 int64_t queryLength, int64_t keyLength,
                                 ScorePlan &plan);

} // namespace fmha::raise

#endif // FMHA_LIB_CONVERSION_RAISE_LINALG_SCORE_H
