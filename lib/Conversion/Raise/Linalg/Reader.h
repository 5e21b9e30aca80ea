//===- Reader.h - Read ops on tensors as scalar code ------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads what ops on tensors compute for one element. Nothing here changes the
// program.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_CONVERSION_RAISE_LINALG_READER_H
#define FMHA_LIB_CONVERSION_RAISE_LINALG_READER_H

#include "Linalg/Code.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/DenseSet.h"

namespace fmha::raise {

/// A structured op at one iteration: the index of each loop, if it has one.
struct Iteration {
  mlir::linalg::LinalgOp op;
  llvm::SmallVector<std::optional<Index>> loops;
};

/// The reduction of a row to one element.
struct Reduction {
  enum Kind { Sum, Max, Other };
  Kind kind = Other;
  /// The op that combines two elements.
  mlir::Operation *combiner = nullptr;
  /// An element of the row, and the initial value.
  Code *item = nullptr, *init = nullptr;
};

/// A product of two elements, summed.
struct Product {
  Code *left = nullptr, *right = nullptr;
};

class Reader {
public:
  explicit Reader(Digits &digits) : digits(digits) {}

  CodeGraph graph;
  Digits &digits;
  /// The ops that were read.
  llvm::DenseSet<mlir::Operation *> ops;

  /// Returns the code by which the producer of a Load computes it from its
  /// operands, or null if it is not elementwise.
  Code *step(Code *load);

  /// Returns `code` with each Load replaced by what computes it, as far as it
  /// is elementwise. A tensor that does not depend on a reduction stays one if
  /// a read of it is cheaper than its code.
  Code *expand(Code *code);

  /// Returns the reduction whose result is a Load, or nothing; its loops run
  /// over `reduced`, in order.
  std::optional<Reduction> reduction(Code *load, llvm::ArrayRef<Index> reduced);

  /// Returns the two elements that a sum of products multiplies, or nothing.
  std::optional<Product> product(const Reduction &sum);

private:
  std::optional<Iteration> iterationOf(mlir::linalg::LinalgOp op,
                                       mlir::OpResult result,
                                       const Place &place);
  std::optional<Place> placeOf(mlir::AffineMap map, const Iteration &at);
  std::optional<Index> indexOf(mlir::AffineExpr expression,
                               const Iteration &at);

  Code *scalar(mlir::Value value);
  Code *elementOf(mlir::OpOperand &operand, const Iteration &at);
  /// Returns the code of `wanted` in the body, which must not use
  /// `accumulator`.
  Code *bodyCode(const Iteration &at, mlir::Value wanted,
                 mlir::Value accumulator);

  Code *stepStructured(mlir::linalg::LinalgOp op, mlir::OpResult result,
                       const Place &place);
  Code *stepElementwise(mlir::Operation *op, const Place &place);
  Code *stepReshape(mlir::Operation *op, const Place &place);
  Code *stepOf(Code *load);

  Code *expandLoad(Code *load);
  bool mayInline(Code *load, Code *code);

  llvm::DenseMap<Code *, Code *> expanded;
  unsigned nesting = 0;
};

/// Returns whether `op` sums products over a loop, with floats or integers.
bool isProduct(mlir::Operation *op);

} // namespace fmha::raise

#endif // FMHA_LIB_CONVERSION_RAISE_LINALG_READER_H
