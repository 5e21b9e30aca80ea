//===- IndexMath.h - Index arithmetic and views of memrefs ------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_DIALECT_FMHA_TRANSFORMS_INDEXMATH_H
#define FMHA_DIALECT_FMHA_TRANSFORMS_INDEXMATH_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

#include <optional>

namespace fmha {

/// Builds unsigned index arithmetic and folds constants.
struct IndexMath {
  mlir::OpBuilder &b;
  mlir::Location loc;

  mlir::Value constant(int64_t value);
  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value sub(mlir::Value x, mlir::Value y);
  mlir::Value mul(mlir::Value x, mlir::Value y);
  /// Returns x / y, rounded down.
  mlir::Value div(mlir::Value x, mlir::Value y);
  mlir::Value rem(mlir::Value x, mlir::Value y);
  /// Returns x / divisor, rounded up.
  mlir::Value ceilDiv(mlir::Value x, int64_t divisor);
  mlir::Value min(mlir::Value x, mlir::Value y);
  mlir::Value max(mlir::Value x, mlir::Value y);
  /// Returns an i1, which is constant if both operands are.
  mlir::Value compare(mlir::arith::CmpIPredicate predicate, mlir::Value x,
                      mlir::Value y);
  mlir::Value both(mlir::Value x, mlir::Value y);
  mlir::Value either(mlir::Value x, mlir::Value y);
  mlir::Value select(mlir::Value condition, mlir::Value yes, mlir::Value no);
  /// Returns `value` as an integer of `bits` bits.
  mlir::Value cast(mlir::Value value, unsigned bits);
};

/// Returns the constant value of `value`, or nothing.
std::optional<int64_t> knownNumber(mlir::Value value);

/// A memref's first element, its extents, and its strides in elements.
struct TensorView {
  mlir::Value address;
  llvm::SmallVector<mlir::Value, 5> sizes, strides;
  unsigned elementBytes = 0;
};

/// Returns constants if the type of `memref` has them, else values read from
/// the memref.
TensorView viewOf(IndexMath math, mlir::Value memref);

/// Returns an i1 that is true if two tensors may share a byte: their address
/// ranges overlap, and no stride of `a` keeps them apart as it does slices of
/// one packed tensor. False means that they share none.
mlir::Value mayOverlap(IndexMath math, const TensorView &a,
                       const TensorView &b);

} // namespace fmha

#endif // FMHA_DIALECT_FMHA_TRANSFORMS_INDEXMATH_H
