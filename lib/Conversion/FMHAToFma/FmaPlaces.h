//===- FmaPlaces.h - Where the rows of an fma kernel are --------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_CONVERSION_FMHATOFMA_FMAPLACES_H
#define FMHA_LIB_CONVERSION_FMHATOFMA_FMAPLACES_H

#include "FmaVectors.h"
#include "fmha/Dialect/FMHA/IR/FMHA.h"
#include "fmha/Schedule/Model/FmaThreads.h"

namespace fmha {

/// What a CTA computes, and the addresses of its operands and of its shared
/// memory.
class FmaPlaces : protected FmaVectors {
protected:
  FmaPlaces(mlir::LLVM::LLVMFuncOp func, AttentionOp op);

  /// Emits the coordinates of the CTA and the keys that it reads.
  void decode();
  /// Returns the query head of a row of the CTA, the last one of the group for
  /// rows that do not exist, and whether the row exists.
  Value headOf(Value row);
  Value isLive(unsigned row);
  /// Returns the query of a row.
  Value queryRow(Value row);
  /// Returns whether the CTA is the first one of its sequence and KV head.
  Value isFirstOfKvHead();
  /// Returns the element of `row` in an output, with strides in the order of
  /// batch, row and head.
  Value outputRow(const std::string &tensor, unsigned row, mlir::Type element);
  /// Loads a vector of 16 bytes of a query.
  Value loadQueryVector(Value row, Value vector) {
    return loadVector(row, times(vector, i32(all.queryElements)), element);
  }
  /// Returns entry `index` of a vector of scales.
  Value loadScale(const std::string &scale, Value index);
  /// Returns entry `index` of a list of numbers.
  Value loadNumber(const std::string &list, Value index);
  /// Returns element `index` of f32 of a region of shared memory, counted from
  /// stage `stage` on.
  Value shared(const char *region, Value index, unsigned stage = 0);

  const schedule::Schedule &plan;
  schedule::Problem problem;
  schedule::FmaThreads all;
  schedule::MemoryMap map;
  double scale;
  /// The elements of queries, of keys and values, and of the output.
  mlir::Type element, keyElement, outElement;
  Value thread, query, kvHead, batch;
  /// The batch in outputs, which includes the part.
  Value outputBatch;
  /// The keys of the CTA, [begin, end), none if end <= begin.
  Value begin, end;
  /// The first key that is new, with `append`; negative if there are more new
  /// keys than keys.
  Value firstNew;
  /// The position of the first query, with `rotary`; it may be negative.
  Value firstQuery;
  /// The first entry of the query's list in topk, and the keys that there are
  /// for it; null without lists. `begin` and `end` then count its entries.
  Value firstListed, listable;

private:
  void decodeGrid();
  Value keysOfSequence();
  Value keysOfList();
  void decodeKeys(Value part);

  /// The number of query heads of a KV head, and the first one of the CTA.
  Value group, firstMember;
  Value part, parts;
  Value sharedBase;
};

} // namespace fmha

#endif // FMHA_LIB_CONVERSION_FMHATOFMA_FMAPLACES_H
