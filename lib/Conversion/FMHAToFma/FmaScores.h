//===- FmaScores.h - The scores of an fma kernel ----------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_CONVERSION_FMHATOFMA_FMASCORES_H
#define FMHA_LIB_CONVERSION_FMHATOFMA_FMASCORES_H

#include "FmaAppend.h"

namespace fmha {

/// Emits the products of queries and keys.
class FmaScores : protected FmaAppend {
protected:
  using FmaAppend::FmaAppend;

  /// A block: its first key, its number of keys, and the first element of its
  /// scores.
  struct Block {
    Value first, keys, scores;
  };
  void loadQueries();
  /// Emits what all blocks share. Returns the thread's vectors of the queries,
  /// row by row, if they fit its registers.
  Values prepareScores();
  /// Emits the scores of a block, in log2 units. Returns the maxima of the
  /// thread's, one per row; `queries` are those of prepareScores().
  Values buildScores(const Block &block, mlir::ArrayRef<Value> queries);
  Value scoreAt(const Block &block, unsigned row, Value key);
  /// Returns how many vectors of 16 bytes a thread loads before it waits for
  /// the first.
  unsigned loadsAtOnce() const;
  void barrier();

private:
  /// A key that a thread has loaded its part of: the place of its score in the
  /// block, the scale of its page, if it has one, and where it is.
  struct KeyLoad {
    Value place, pageScale;
    KeyPlace key;
    Value row;
    Values vectors;
  };
  /// Returns the thread's number among those that share a key, and the number
  /// of its key. They are neighbors, or, if keys are in vectors, neighbors have
  /// the same vector of neighboring keys.
  Value partOfKey();
  Value keyOfThread();
  Value queryVector(unsigned row, unsigned n);
  Values loadQueryVectors();
  Values multiplyKey(mlir::ArrayRef<Value> vectors,
                     mlir::ArrayRef<Value> queries);
  KeyLoad loadKey(const Block &block, Value place);
  Values rotatedVectors(const KeyLoad &load);
  Values buildScoresAt(const Block &block, Value first, unsigned keys,
                       mlir::ArrayRef<Value> queries, mlir::ValueRange max);
  /// Returns the factor of scores in log2 units, without scales of pages.
  Value scoreFactor();
  /// Returns the elements of a vector that are multiplied at once.
  unsigned lanesOfSums() const;
  /// Returns whether queries fit the registers of a thread.
  bool keepsQueries() const;

  /// That of scoreFactor().
  Value factor;
};

} // namespace fmha

#endif // FMHA_LIB_CONVERSION_FMHATOFMA_FMASCORES_H
