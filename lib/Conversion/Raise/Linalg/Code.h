//===- Code.h - Scalar code of elements of tensors --------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The computation of one element by elementwise ops, as a graph of scalar code.
// Equal code is one node, so nodes are compared by address.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_CONVERSION_RAISE_LINALG_CODE_H
#define FMHA_LIB_CONVERSION_RAISE_LINALG_CODE_H

#include "Linalg/Digits.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/FoldingSet.h"

#include <deque>

namespace fmha::raise {

/// The code of one value.
struct Code : llvm::FoldingSetNode {
  enum Kind {
    /// A number.
    Constant,
    /// A scalar that the program computes.
    Scalar,
    /// The index that `place` has.
    Position,
    /// The element of the tensor `value` at `place`.
    Load,
    /// An elementwise op on scalars.
    Op
  };
  Kind kind;
  mlir::Type type;
  mlir::TypedAttr constant;
  mlir::Value value;
  Place place;
  mlir::Operation *op = nullptr;
  llvm::SmallVector<Code *, 2> operands;
  /// The value of code without elements: a float, or an integer.
  std::optional<double> number;
  std::optional<int64_t> integer;
  /// Whether it reads elements of a reduction or a softmax.
  bool hasReduction = false;
  /// The length of the longest chain of ops.
  unsigned depth = 0;

  Code(Kind kind, mlir::Type type) : kind(kind), type(type) {}
  void Profile(llvm::FoldingSetNodeID &id) const;

  bool is(Kind other) const { return kind == other; }
  /// Returns whether it is an op of one of these types.
  template <typename... Ops> bool isOp() const {
    return kind == Op && mlir::isa<Ops...>(op);
  }
};

/// Owns code.
class CodeGraph {
public:
  Code *constant(mlir::TypedAttr value);
  Code *scalar(mlir::Value value);
  /// Returns an index; one without digits is the constant 0.
  Code *position(mlir::MLIRContext *context, const Index &index);
  Code *load(mlir::Value tensor, Place place);
  /// Returns what `op`, on scalars or tensors, computes from elements. Returns
  /// null if the code becomes too large, or an operand is null.
  Code *apply(mlir::Operation *op, llvm::ArrayRef<Code *> operands);

private:
  Code *intern(Code &&code);

  std::deque<Code> storage;
  llvm::FoldingSet<Code> unique;
};

/// Returns whether `code` converts between f16, bf16, f32 and f64.
bool isPreciseCast(const Code *code);
/// Returns `code` without conversions between f16, bf16, f32 and f64.
Code *withoutCasts(Code *code);
/// Returns whether the value of the code is `number`.
bool isNumber(const Code *code, double number);
/// Returns x and y of x - y, or nulls.
std::pair<Code *, Code *> differenceOf(Code *code);
/// Returns all code that `code` is made of, each once, operands first. The
/// operands of `leaf` are left out.
llvm::SmallVector<Code *> partsOf(Code *code, const Code *leaf = nullptr);
/// Returns the name of the op, or a description of other code.
std::string describe(const Code *code);

/// Returns whether `value` is the result of a reduction or softmax.
bool isReduction(mlir::Value value);

} // namespace fmha::raise

#endif // FMHA_LIB_CONVERSION_RAISE_LINALG_CODE_H
