//===- RotaryCode.h - Rotary embedding of rows ------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Products, sums and differences are those of IEEE in any kernel: neither
// contracted nor flushed to 0. So kernels of attention and of fmha.append, and
// fmha-decompose-to-linalg, give the same bits.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_CONVERSION_THREADS_ROTARYCODE_H
#define FMHA_LIB_CONVERSION_THREADS_ROTARYCODE_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <optional>

namespace fmha {

/// Emits the rotation of vectors of a row.
class RotaryCode {
public:
  /// Rotates the first `dim` columns, in pairs of columns 2j and 2j + 1 if
  /// `isInterleaved`, or j and j + dim / 2. A vector has `count` elements of
  /// type `element`: f16, bf16 or f32.
  RotaryCode(mlir::ImplicitLocOpBuilder &b, bool isInterleaved, unsigned dim,
             mlir::Type element, unsigned count)
      : b(b), isInterleaved(isInterleaved), dim(int32_t(dim)), element(element),
        count(int32_t(count)) {}

  /// A row in device memory, and the angles of its position.
  struct Row {
    /// The addresses of the first elements of the row and of its angles.
    mlir::Value address, cos, sin;
    /// Whether the position has angles; the row does not rotate otherwise.
    mlir::Value hasAngles;
    /// Whether the row begins at a multiple of 16 bytes, and whether the angles
    /// do, if that is known.
    bool isAligned = true;
    std::optional<bool> areAnglesAligned = std::nullopt;
  };
  /// Returns `vector`, the elements from column `column` on, an i32, rotated.
  mlir::Value rotated(mlir::Value vector, mlir::Value column, const Row &row);
  /// Returns whether the angles of a vector are loaded 16 bytes at a time where
  /// they are aligned.
  bool hasAngleVectors() const {
    return pairsOfVector() % perLoad == 0 && pairs() % pairsOfVector() == 0;
  }

private:
  using Value = mlir::Value;
  using Values = mlir::SmallVector<Value>;
  /// The angles that one load of 16 bytes has.
  static constexpr int32_t perLoad = 4;

  int32_t pairs() const { return dim / 2; }
  int32_t pairsOfVector() const { return isInterleaved ? count / 2 : count; }
  mlir::VectorType vectorOf(mlir::Type type) const {
    return mlir::VectorType::get({count}, type);
  }
  Value i32(int64_t n);
  template <typename OpTy> Value make(Value lhs, Value rhs) {
    return OpTy::create(b, lhs, rhs);
  }
  Value isBelow(Value column, int32_t bound);
  Value addressOf(Value base, Value place, mlir::Type type);
  Value elementOf(Value vector, int32_t n);
  /// Emits a branch that returns a vector of `type`.
  Value branch(mlir::Type type, Value condition,
               mlir::function_ref<Value()> yes, mlir::function_ref<Value()> no);

  Value partners(Value vector, Value column, const Row &row);
  Value load(const Row &row, Value column);
  Value pairOf(Value column);
  Value isFirstOfPair(Value column, int32_t n);
  Value angles(Value table, Value column, bool isAligned);
  Value angles(Value table, Value column, const Row &row);
  Value widened(Value narrow);
  Value turned(Value own, Value other, Value cos, Value sin, Value isFirst);

  mlir::ImplicitLocOpBuilder &b;
  bool isInterleaved;
  int32_t dim;
  mlir::Type element;
  int32_t count;
};

/// The tables of angles of a kernel, and the number of positions that they
/// have.
struct AngleTables {
  mlir::Value cos, sin, cosStride, sinStride, positions;
};
/// Returns the angles of `position`, an i32; a negative one has none. The
/// caller sets `address`.
RotaryCode::Row rowOfAngles(mlir::ImplicitLocOpBuilder &b,
                            const AngleTables &tables, mlir::Value position);

} // namespace fmha

#endif // FMHA_LIB_CONVERSION_THREADS_ROTARYCODE_H
