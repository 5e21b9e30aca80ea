//===- KernelSoftmax.h - Online softmax of one query tile -------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_CONVERSION_FMHATOTILE_KERNELSOFTMAX_H
#define FMHA_LIB_CONVERSION_FMHATOTILE_KERNELSOFTMAX_H

#include "KernelKeys.h"

namespace fmha {

/// Running maximum, running sum and output accumulators of one query tile: one
/// for each consumer that has columns of O.
struct State {
  mlir::Value max, sum;
  llvm::SmallVector<mlir::Value> accs;

  /// Returns the state of query tile `tile`, whose values are among those of
  /// all `tiles`.
  static State of(mlir::ValueRange values, unsigned tile, unsigned tiles);
  llvm::SmallVector<mlir::Value> values() const;
};

/// Returns the factor of the scores in softmax, |scale|·log2 e. Scores that
/// have been multiplied by 0 need no further scale.
mlir::FloatAttr softmaxScale(KernelContext &k);

/// Builds the steps of online softmax.
class OnlineSoftmax {
public:
  OnlineSoftmax(KernelContext &k, const Coordinates &at, mlir::Value queryView)
      : k(k), at(at), queryView(queryView) {}

  /// Returns the states of all query tiles before the first step.
  llvm::SmallVector<mlir::Value> buildInitialState();
  /// Builds online softmax for one KV block and one query tile:
  ///   s = q·kᵀ; m' = max(m, rows of s); p = 2^((s - m')·c); l' = l·alpha + sum
  ///   p; acc' = acc·alpha + p·v.
  /// Each of several accumulators has its own columns of V.
  State buildStep(unsigned tile, mlir::Value query, const BlockTiles &block,
                  const KeyBlock &keys, State state);

private:
  struct Exponentials;

  mlir::Value buildScores(unsigned tile, mlir::Value query,
                          llvm::ArrayRef<mlir::Value> keys);
  mlir::Value buildScoreCode(unsigned tile, mlir::Value s,
                             const KeyBlock &keys);
  mlir::Value scaleOfValues(mlir::Value p, mlir::Value factors, int64_t first);
  Exponentials buildExponentials(unsigned tile, mlir::Value s,
                                 mlir::Value factors, tile::RowMaxOp max,
                                 mlir::Value oldSum);
  mlir::Value buildProduct(llvm::ArrayRef<mlir::Value> slices,
                           llvm::ArrayRef<mlir::Value> values, mlir::Value acc,
                           unsigned consumer);
  mlir::Value buildOutput(unsigned tile, llvm::ArrayRef<mlir::Value> slices,
                          llvm::ArrayRef<mlir::Value> values, mlir::Value alpha,
                          mlir::Value acc, unsigned consumer);

  KernelContext &k;
  const Coordinates &at;
  mlir::Value queryView;
  /// 1 / the scale of the output, if each page has scales; otherwise null.
  mlir::Value inverse;
};

} // namespace fmha

#endif // FMHA_LIB_CONVERSION_FMHATOTILE_KERNELSOFTMAX_H
