//===- ScoreSteps.h - Code on scores of an attention that is raised -*- C++
//-*-===//
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

/// Where the code of a step stands: at the end of a region `score`.
struct ScorePlace {
  mlir::OpBuilder &b;
  mlir::Location location;
  mlir::Value batch, head, row, key, qLen, kvLen;
  /// Query heads per KV head, or 0 if no type gives them.
  int64_t group = 0;

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
  /// What the indices of its dimensions are, see ScorePlace::at.
  std::string letters;
  /// Whether there may be fewer columns than keys, which another step hides.
  bool partial = false;
};

/// One step from a score to the next, which may read a tensor.
struct ScoreStep {
  std::optional<Capture> capture;
  /// Returns the new score; `tensor` is that of the capture.
  std::function<mlir::Value(const ScorePlace &, mlir::Value score,
                            mlir::Value tensor)>
      code;
};

/// score * factor[...]
ScoreStep multiplyBy(Capture factor);
/// cap * tanh(score / cap)
ScoreStep softCap(double cap);
/// score + bias[...]
ScoreStep addBias(Capture bias);
/// score where the integer mask[...] has its lowest bit, else -inf
ScoreStep keepWhere(Capture mask);
/// score where key < limit[...], else -inf
ScoreStep keepKeysBefore(Capture limit);
/// score where row < limit[...], else -inf
ScoreStep keepRowsBefore(Capture limit);
/// score where key <= row + offset[...], else -inf
ScoreStep keepCausalFrom(Capture offset);

/// Adds a mask: addBias for floats, else keepWhere.
ScoreStep applyMask(Capture mask);

/// Returns the letters that broadcast a mask to [batch, query heads, rows,
/// keys], aligned at the right, as in NumPy.
std::string maskLetters(int64_t rank);

} // namespace fmha::raise

#endif // FMHA_LIB_CONVERSION_RAISE_SCORESTEPS_H
