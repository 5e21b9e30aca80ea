//===- RowMath.h - Arithmetic on statistics of rows -------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The arithmetic of softmax on statistics of rows, which is the same for every
// layout of rows: on scalars if a thread has one row, on vectors with one
// element per row if it has several.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_TILE_TRANSFORMS_COMMON_ROWMATH_H
#define FMHA_LIB_DIALECT_TILE_TRANSFORMS_COMMON_ROWMATH_H

#include "Distribute.h"

#include <utility>

namespace fmha::tile {

/// Returns a constant of `type`, a scalar or a vector, with `value` in all
/// elements.
mlir::Value constantOf(mlir::ImplicitLocOpBuilder &b, mlir::Type type,
                       float value);
/// Broadcasts one number per row to all elements of the rows.
using Spread = llvm::function_ref<mlir::Value(mlir::Value)>;

/// Whether differences are scaled, (x - max)·c, and not their terms. This is
/// needed if the product of a score and the scale is rounded too much to be
/// subtracted from another one: for large scales, and for a score_mod, which
/// may return very large scores, such as -1e9 for a hidden key. It is also
/// needed with an offset of P, which rounds the product once more, if sums are
/// written relative to the maximum.
bool scalesDifferences(const KernelInfo &info, float c);
/// Returns (x - max)·c + offset. Unless differences are scaled, max·c is
/// rounded once, and all values that depend on the maximum (P, alpha, the LSE)
/// use the same product, so that its rounding error cancels.
mlir::Value scaledDifference(mlir::ImplicitLocOpBuilder &b, mlir::Value x,
                             mlir::Value max, float c, bool scalesDifferences,
                             unsigned offset, Spread spread);
/// Returns the maximum that P is relative to: 0 in place of -inf (no key seen),
/// so that -inf - -inf never occurs.
mlir::Value seenMaximum(mlir::ImplicitLocOpBuilder &b, mlir::Value max);
/// Returns the new maximum and alpha of rows, where `row` is the maximum of the
/// scores of a block.
std::pair<mlir::Value, mlir::Value> raiseMaximum(mlir::ImplicitLocOpBuilder &b,
                                                 const KernelInfo &info,
                                                 RowMaxOp op, mlir::Value old,
                                                 mlir::Value row);
/// Returns the running sum after a block whose sum is `row`.
mlir::Value addToSum(mlir::ImplicitLocOpBuilder &b, RowSumOp op,
                     mlir::Value old, mlir::Value alpha, mlir::Value row);
/// Returns l + 2^(sink - m·c), or l if m is -inf. If the result is infinite,
/// the weights of the keys are 0.
mlir::Value addSink(mlir::ImplicitLocOpBuilder &b, AddSinkOp op,
                    mlir::Value sink, mlir::Value max, mlir::Value sum);
/// Returns (m·c + log2 l)·ln 2, which is -inf, not NaN, for a row without keys.
/// `sink` may be null; with a sink the sum includes 2^sink, which is computed
/// relative to the larger term h: h + log2(1 + 2^(g - h)).
mlir::Value logSumExp(mlir::ImplicitLocOpBuilder &b, LseOp op, mlir::Value max,
                      mlir::Value sum, mlir::Value sink);

/// The division of the rows of an accumulator by their sums. A row whose sum is
/// 0 has seen no key and becomes 0, whatever masked values added to it.
struct Quotient {
  mlir::Value unseen;
  /// The factor of rows; null if it is 1.
  mlir::Value factor;

  /// Creates the factors of rows with `afn`, the approximate reciprocal, whose
  /// error of 1 ulp is far below that of rounding P to 16 bits. They also
  /// remove the factor 2^offset, and multiply by `scale` unless that is null.
  Quotient(mlir::ImplicitLocOpBuilder &b, mlir::Value sum, mlir::Value scale,
           bool undivided, unsigned offset);
  /// Returns x times the factor of its row.
  mlir::Value multiplied(mlir::ImplicitLocOpBuilder &b, mlir::Value x,
                         Spread spread) const;
  /// Returns the same, and 0 in rows that see no key.
  mlir::Value finish(mlir::ImplicitLocOpBuilder &b, mlir::Value x,
                     Spread spread) const;

private:
  void multiply(mlir::ImplicitLocOpBuilder &b, mlir::Value by);
};

} // namespace fmha::tile

#endif // FMHA_LIB_DIALECT_TILE_TRANSFORMS_COMMON_ROWMATH_H
