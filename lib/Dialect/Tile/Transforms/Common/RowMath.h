//===- RowMath.h - What becomes of the numbers of rows ----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The arithmetic of softmax on statistics of rows, which is the same however
// rows are given to threads: a number where a thread has one row, a vector of
// as many where it has several.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_TILE_TRANSFORMS_COMMON_ROWMATH_H
#define FMHA_LIB_DIALECT_TILE_TRANSFORMS_COMMON_ROWMATH_H

#include "Distribute.h"

#include <utility>

namespace fmha::tile {

/// `value` in all elements of `type`, a number or a vector.
mlir::Value constantOf(mlir::ImplicitLocOpBuilder &b, mlir::Type type,
                       float value);
/// A number a row for all elements of a row.
using Spread = llvm::function_ref<mlir::Value(mlir::Value)>;

/// Whether differences are scaled, (x - max)·c, and not their terms. Above a
/// limit of the scale the product of a score and the scale is too coarse to be
/// subtracted from another one; so it is where code on scores may make very
/// large ones, -1e9 for a key that is hidden; and an offset of P rounds the
/// product once more, which shows in sums that are written relative to the
/// maximum.
bool scalesDifferences(const KernelInfo &info, float c);
/// (x - max)·c + offset. Unless differences are scaled, max·c is rounded once,
/// and everything that depends on the maximum (P, alpha, the LSE) uses that
/// same number, so that its rounding cancels.
mlir::Value scaledDifference(mlir::ImplicitLocOpBuilder &b, mlir::Value x,
                             mlir::Value max, float c, bool scalesDifferences,
                             unsigned offset, Spread spread);
/// The maximum that P is relative to: -inf (no key seen) counts as 0, so that
/// -inf - -inf never occurs.
mlir::Value seenMaximum(mlir::ImplicitLocOpBuilder &b, mlir::Value max);
/// Maximum and alpha of rows whose scores of a block have the maximum `row`.
std::pair<mlir::Value, mlir::Value> raiseMaximum(mlir::ImplicitLocOpBuilder &b,
                                                 const KernelInfo &info,
                                                 RowMaxOp op, mlir::Value old,
                                                 mlir::Value row);
/// The sum with that of a block, `row`.
mlir::Value addToSum(mlir::ImplicitLocOpBuilder &b, RowSumOp op,
                     mlir::Value old, mlir::Value alpha, mlir::Value row);
/// l + 2^(sink - m·c), and l where m is -inf. An infinite sum is one beside
/// which the keys count for nothing.
mlir::Value addSink(mlir::ImplicitLocOpBuilder &b, AddSinkOp op,
                    mlir::Value sink, mlir::Value max, mlir::Value sum);
/// (m·c + log2 l)·ln 2; m and l of a row without keys give -inf, not NaN. With
/// a sink, which may be null, log2(2^t + 2^sink), from the larger one on:
/// h + log2(1 + 2^(g - h)).
mlir::Value logSumExp(mlir::ImplicitLocOpBuilder &b, LseOp op, mlir::Value max,
                      mlir::Value sum, mlir::Value sink);

/// What becomes of the rows of an accumulator. A row whose sum is 0 saw no key
/// and becomes 0, whatever a masked value did to it.
struct Quotient {
  mlir::Value unseen;
  /// What rows are multiplied by; null where that is 1.
  mlir::Value factor;

  /// `afn` asks for the approximate reciprocal, 1 ulp: far below the rounding
  /// of P to 16 bits. The factor 2^offset leaves rows with it.
  Quotient(mlir::ImplicitLocOpBuilder &b, mlir::Value sum, bool undivided,
           unsigned offset);
  mlir::Value finish(mlir::ImplicitLocOpBuilder &b, mlir::Value x,
                     Spread spread) const;
};

} // namespace fmha::tile

#endif // FMHA_LIB_DIALECT_TILE_TRANSFORMS_COMMON_ROWMATH_H
