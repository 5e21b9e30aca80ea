//===- FmaBlocks.h - The loop over keys of an fma kernel --------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_CONVERSION_FMHATOFMA_FMABLOCKS_H
#define FMHA_LIB_CONVERSION_FMHATOFMA_FMABLOCKS_H

#include "FmaScores.h"

namespace fmha {

/// The state of the rows in one thread: the maximum of all scores of the row so
/// far, in log2 units, and the thread's shares of the sum and of the output.
struct FmaState {
  mlir::SmallVector<mlir::Value> max, sum, acc;
};

/// Emits the loop over blocks of keys.
class FmaBlocks : protected FmaScores {
protected:
  using FmaScores::FmaScores;

  FmaState buildLoop();
  /// Combines values of all threads by OpTy, and returns the result to all.
  template <typename OpTy> Values acrossThreads(Values mine, unsigned stage);
  Value lane();
  /// Returns `max`, or 0 for that of no score, from which scores are
  /// subtracted.
  Value shiftOf(Value max) { return select(isNone(max), zero, max); }

private:
  Values buildProbabilities(const Block &block, mlir::ArrayRef<Value> shifts,
                            mlir::ValueRange sums);
  Values buildOutput(const Block &block, mlir::ValueRange acc);
  Values addValues(const Block &block, Value first, unsigned keys,
                   mlir::ValueRange acc);
  FmaState buildBlock(const Block &block, mlir::ArrayRef<Value> queries,
                      const FmaState &before);
};

} // namespace fmha

#endif // FMHA_LIB_CONVERSION_FMHATOFMA_FMABLOCKS_H
