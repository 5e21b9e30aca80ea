//===- AttentionForm.h - An attention that other ops describe ---*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What fmha-raise-named and fmha-raise-linalg read from the program, before
// they change it: check() says whether fmha.attention can compute it, and
// buildAttention() creates that op with views around it.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_CONVERSION_RAISE_ATTENTIONFORM_H
#define FMHA_LIB_CONVERSION_RAISE_ATTENTIONFORM_H

#include "Refusal.h"
#include "ScoreSteps.h"

#include "fmha/Schedule/Model/Mask.h"

#include "mlir/IR/BuiltinTypes.h"

#include <string>

namespace fmha::raise {

/// The treatment of operands of f32.
enum class Compute { Refuse, Keep, F16, BF16 };

/// Returns what the word of the option compute= stands for, or nothing.
std::optional<Compute> computeOf(llvm::StringRef word);

/// A tensor with a letter for each dimension: b (batch), l (length), h (head)
/// or d (head dim). Several dimensions with one letter form one dimension, in
/// which the first of them varies slowest. An absent letter is a dimension of
/// extent 1.
struct TensorView {
  mlir::Value value;
  /// The type of `value`, or of the tensor that it converts to.
  mlir::RankedTensorType type;
  std::string letters;
  /// If not 0, the last dimension of `type` is split into that many heads and
  /// the head dim, and `letters` has two letters for it.
  int64_t splitHeads = 0;

  /// Returns the shape after the split of the last dimension.
  llvm::SmallVector<int64_t> shape() const;
  /// Returns the product of the extents with that letter, or the dynamic size.
  int64_t extent(char letter) const;
};

/// An attention as other ops describe it.
struct AttentionForm {
  TensorView query, key, value;
  /// The output, without a value.
  TensorView output;
  std::optional<double> scale;
  schedule::Mask mask;
  /// i32 or i64 [batch]: the number of keys of each sequence; null if all
  /// count.
  mlir::Value kvLens;
  /// Code on the scaled scores, in this order, before the mask.
  llvm::SmallVector<ScoreStep> score;
  /// Whether the log-sum-exp, f32 [batch, heads, length], is wanted.
  bool lse = false;
};

/// The results of buildAttention; `lse` is null if none is wanted.
struct RaisedAttention {
  mlir::Value output, lse;
};

/// Returns why fmha.attention cannot compute `form`, or nothing.
std::optional<Refusal> check(const AttentionForm &form, Compute compute);

/// Creates fmha.attention and the views around it, for a form that check()
/// accepts.
RaisedAttention buildAttention(mlir::OpBuilder &b, mlir::Location location,
                               const AttentionForm &form, Compute compute);

} // namespace fmha::raise

#endif // FMHA_LIB_CONVERSION_RAISE_ATTENTIONFORM_H
