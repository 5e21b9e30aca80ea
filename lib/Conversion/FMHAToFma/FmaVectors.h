//===- FmaVectors.h - Vectors in registers of an fma kernel -----*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_CONVERSION_FMHATOFMA_FMAVECTORS_H
#define FMHA_LIB_CONVERSION_FMHATOFMA_FMAVECTORS_H

#include "Threads/RowCode.h"

namespace fmha {

/// Emits loads of vectors of 16 bytes, and what makes f32 of them.
class FmaVectors : protected RowCode {
protected:
  using RowCode::RowCode;

  /// Returns the type of `element` in memory: bytes for 8 bits.
  mlir::Type storageOf(mlir::Type element);
  /// Loads a vector of `element`, `offset` elements after `row`.
  Value loadVector(Value row, Value offset, mlir::Type element);
  /// Returns a vector of `element` in f32.
  Value widen(Value vector, mlir::Type element);
  /// Returns elements [first, first + count) of a vector.
  Value slice(Value vector, unsigned first, unsigned count);
  /// Returns a vector of `count` times that number of f32.
  Value broadcast(Value number, unsigned count);
  static mlir::VectorType vectorOf(mlir::Type element, unsigned count) {
    return mlir::VectorType::get({int64_t(count)}, element);
  }
  Value plus(Value lhs, Value rhs) {
    return make<mlir::arith::AddIOp>(lhs, rhs);
  }
  Value times(Value lhs, Value rhs) {
    return make<mlir::arith::MulIOp>(lhs, rhs);
  }
};

} // namespace fmha

#endif // FMHA_LIB_CONVERSION_FMHATOFMA_FMAVECTORS_H
