//===- FmaBlocks.h - The loop over keys of an fma kernel --------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_CONVERSION_FMHATOFMA_FMABLOCKS_H
#define FMHA_LIB_CONVERSION_FMHATOFMA_FMABLOCKS_H

#include "FmaPlaces.h"

namespace fmha {

/// The state of the rows in one thread: the maximum of all scores of the row so
/// far, in log2 units, and the thread's shares of the sum and of the output.
struct FmaState {
  mlir::SmallVector<mlir::Value> max, sum, acc;
};

/// Emits the loop over blocks of keys.
class FmaBlocks : protected FmaPlaces {
protected:
  using FmaPlaces::FmaPlaces;

  void loadQueries();
  FmaState buildLoop();
  /// Combines values of all threads by OpTy, and returns the result to all.
  template <typename OpTy> Values acrossThreads(Values mine, unsigned stage);
  void barrier();
  Value lane();
  Value broadcast(Value number);
  /// Returns `max`, or 0 for that of no score, from which scores are
  /// subtracted.
  Value shiftOf(Value max) { return select(isNone(max), zero, max); }

private:
  /// A block: its first key, its number of keys, and the first element of its
  /// scores.
  struct Block {
    Value first, keys, scores;
  };
  /// Return the thread's number among those that share a key, and the number of
  /// its key. They are neighbors, or, if keys are in vectors, neighbors have
  /// the same vector of neighboring keys.
  Value partOfKey();
  Value keyOfThread();
  Value scoreAt(const Block &block, unsigned row, Value key);
  Value loadQueryVector(unsigned row, unsigned n);
  /// Returns the thread's vectors of the queries, row by row.
  Values loadQueryVectors();
  Values multiplyKey(mlir::ArrayRef<Value> vectors,
                     mlir::ArrayRef<Value> queries);
  Values buildScores(const Block &block, mlir::ArrayRef<Value> queries);
  Values buildScoresAt(const Block &block, Value first, unsigned keys,
                       mlir::ArrayRef<Value> queries, mlir::ValueRange max);
  Values buildProbabilities(const Block &block, mlir::ArrayRef<Value> shifts,
                            mlir::ValueRange sums);
  Values buildOutput(const Block &block, mlir::ValueRange acc);
  Values addValues(const Block &block, Value first, unsigned keys,
                   mlir::ValueRange acc);
  FmaState buildBlock(const Block &block, mlir::ArrayRef<Value> queries,
                      const FmaState &before);
  /// Whether queries fit the registers of a thread.
  bool keepsQueries() const;
};

} // namespace fmha

#endif // FMHA_LIB_CONVERSION_FMHATOFMA_FMABLOCKS_H
