//===- Readers.h - Readers of other dialects' attention ---------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_CONVERSION_RAISE_NAMED_READERS_H
#define FMHA_LIB_CONVERSION_RAISE_NAMED_READERS_H

#include "AttentionForm.h"

#include <functional>
#include <variant>

namespace fmha::raise {

/// Options of the pass on the meaning of ops.
struct ReadOptions {
  /// Whether onnx.Attention applies its soft cap after its mask.
  bool capAfterMask = false;
};

/// The attention that an op describes, and the code around it.
struct NamedForm {
  AttentionForm attention;
  /// Creates values that operands of the form stand for, if there are any.
  std::function<void(mlir::OpBuilder &, AttentionForm &)> prepare;
  /// Returns the results of the op; without it, the output.
  std::function<llvm::SmallVector<mlir::Value>(
      mlir::OpBuilder &, const AttentionForm &, const RaisedAttention &)>
      results;
};

/// A form, or the reason why the op has none.
using Reading = std::variant<NamedForm, Refusal>;

#define FMHA_NAMED_FORM(reader, from, name, callee, operands, meaning)         \
  Reading reader(mlir::Operation *op, const ReadOptions &options);
#include "fmha/Conversion/Raise/NamedForms.def"

/// Returns the tensor type of a value: a ranked tensor, or a value tensor of
/// PyTorch with known sizes and type. Returns null for others.
mlir::RankedTensorType tensorTypeOf(mlir::Value value);
/// Returns whether `value` stands for an operand that is absent.
bool isNone(mlir::Value value);
/// Returns the number of the attribute `name`, `fallback` if it is null, or why
/// it is no finite number.
std::variant<double, Refusal> readNumber(mlir::Attribute attribute,
                                         llvm::StringRef name, double fallback);
/// Returns why one of the attributes has a name that the reader does not know.
/// Names with the prefix of a dialect have no meaning for the op.
std::optional<Refusal> checkKnown(mlir::DictionaryAttr attributes,
                                  llvm::ArrayRef<llvm::StringRef> known);
/// Adds a mask to the form: floats are added, i1 keeps the scores. Returns why
/// it is neither.
std::optional<Refusal> addMask(AttentionForm &form, Capture mask);

/// Adds a soft cap to the form; 0 is none. Returns why `cap` is none in f32.
std::optional<Refusal> addSoftCap(AttentionForm &form, double cap,
                                  llvm::StringRef name);

/// Returns the number or flag of an attribute, a float or an integer, or
/// nothing.
std::optional<double> numberOf(mlir::Attribute attribute);
/// Returns the attribute of a constant, or null for other values.
mlir::Attribute constantOf(mlir::Value value);

/// Returns a view of `value`, or the reason why it is no tensor of that rank.
std::variant<TensorView, Refusal> viewOf(mlir::Value value,
                                         llvm::StringRef letters);

/// Sets query, key and value with `letters`, and the output with
/// `outputLetters`, or returns why one does not fit.
std::optional<Refusal> readViews(mlir::Operation *op, llvm::StringRef letters,
                                 llvm::StringRef outputLetters,
                                 AttentionForm &form);

/// Returns why a result is no tensor of a shape like that, or nothing.
std::optional<Refusal> checkResult(mlir::Value result,
                                   llvm::ArrayRef<int64_t> shape);

/// Returns the form of PyTorch's function of query, key and value, the first
/// operands, and of a mask (or null), which broadcasts. The caller sets the
/// scale and causal masks.
Reading readSdpa(mlir::Operation *op, mlir::Value mask);

/// Sets the mask of a form to causal, aligned top-left as in PyTorch.
void setCausalTopLeft(AttentionForm &form);

} // namespace fmha::raise

#endif // FMHA_LIB_CONVERSION_RAISE_NAMED_READERS_H
