//===- ScoreSteps.h - Code on scores of raised attention --------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_CONVERSION_RAISE_SCORESTEPS_H
#define FMHA_LIB_CONVERSION_RAISE_SCORESTEPS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

#include <functional>
#include <string>

namespace fmha::raise {

/// The place at which a step adds code: the end of a region `score`.
struct ScorePlace {
  mlir::OpBuilder &b;
  mlir::Location location;
  mlir::Value batch, head, row, key, qLen, kvLen;
  /// Query heads per KV head, or 0 if no type gives them.
  int64_t group = 0;

  /// Returns a constant, f32 or an index.
  mlir::Value number(double value) const;
  mlir::Value index(int64_t value) const;
  /// Returns the index that a letter stands for: b (batch), h (query head),
  /// k (KV head), g (query head in its group), i (row), j (key), 0.
  mlir::Value at(char letter) const;
  /// Returns the element of `tensor` at the indices that the letters stand for.
  mlir::Value read(mlir::Value tensor, llvm::StringRef letters) const;
  /// Returns `score`, or -inf where `seen` is false.
  mlir::Value keep(mlir::Value seen, mlir::Value score) const;
};

/// A tensor that a step reads.
struct Capture {
  /// Its value, and the type that it has or converts to.
  mlir::Value value;
  mlir::RankedTensorType type;
  /// The indices of its dimensions, as letters of ScorePlace::at.
  std::string letters;
  /// Whether there may be fewer columns than keys; another step then hides the
  /// other keys.
  bool partial = false;
};

/// Code that makes a new score of a score, and may read a tensor.
struct ScoreStep {
  std::optional<Capture> capture;
  /// Creates the code and returns the new score; `tensor` is the captured one.
  std::function<mlir::Value(const ScorePlace &, mlir::Value score,
                            mlir::Value tensor)>
      code;
};

/// Returns the step score * factor[...].
ScoreStep multiplyBy(Capture factor);
/// Returns the step cap * tanh(score / cap).
ScoreStep softCap(double cap);
/// Returns the step score + bias[...].
ScoreStep addBias(Capture bias);
/// Returns the step that keeps the score where the lowest bit of the integer
/// mask[...] is 1, and makes it -inf elsewhere.
ScoreStep keepWhere(Capture mask);
/// The same where key < limit[...].
ScoreStep keepKeysBefore(Capture limit);
/// The same where row < limit[...].
ScoreStep keepRowsBefore(Capture limit);
/// The same where key <= row + offset[...].
ScoreStep keepCausalFrom(Capture offset);

/// Returns the letters that broadcast a mask to [batch, query heads, rows,
/// keys], aligned at the right, as in NumPy.
std::string maskLetters(int64_t rank);

} // namespace fmha::raise

#endif // FMHA_LIB_CONVERSION_RAISE_SCORESTEPS_H
