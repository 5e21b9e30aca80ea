//===- Fold.h - The patterns of fmha-fold -----------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Three groups of patterns, one file each: for producers of query, key and
// value, for consumers of results, and for producers of tensors that the score
// region reads.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_FMHA_TRANSFORMS_FOLD_H
#define FMHA_LIB_DIALECT_FMHA_TRANSFORMS_FOLD_H

#include "mlir/IR/PatternMatch.h"
#include <optional>

namespace fmha {

/// An elementwise op on one tensor, which may permute its dimensions.
struct ElementwiseStep {
  enum Kind { Copy, Scale, Truncate };
  Kind kind = Copy;
  mlir::Value input;
  /// Dimension n of the result is dimension permutation[n] of the input.
  llvm::SmallVector<int64_t> permutation;
  /// The factor of a Scale.
  double factor = 1.0;
  /// The destination of the result; null if the op has none.
  mlir::Value destination;

  bool permutes() const;
  /// Whether the last dimension, which must be contiguous, stays the last.
  bool keepsLast() const;
};

/// Returns `op` as such a step, or nothing if it does anything else. Supports
/// structured ops on tensors, named or generic, and elementwise ops of arith on
/// tensors.
std::optional<ElementwiseStep> matchStep(mlir::Operation *op);

/// Returns the constant that every element of `value` has, or nothing.
std::optional<double> constantElement(mlir::Value value);

void populateFoldOperandPatterns(mlir::RewritePatternSet &patterns);
void populateFoldResultPatterns(mlir::RewritePatternSet &patterns);
void populateFoldScorePatterns(mlir::RewritePatternSet &patterns);

} // namespace fmha

#endif // FMHA_LIB_DIALECT_FMHA_TRANSFORMS_FOLD_H
