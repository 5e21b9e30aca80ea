//===- FmaPlaces.h - Where the rows of an fma kernel are --------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_CONVERSION_FMHATOFMA_FMAPLACES_H
#define FMHA_LIB_CONVERSION_FMHATOFMA_FMAPLACES_H

#include "Threads/RowCode.h"
#include "fmha/Dialect/FMHA/IR/FMHA.h"
#include "fmha/Schedule/Model/FmaThreads.h"

namespace fmha {

/// What a CTA computes, and the addresses of its operands and of its shared
/// memory.
class FmaPlaces : protected RowCode {
protected:
  FmaPlaces(mlir::LLVM::LLVMFuncOp func, AttentionOp op);

  /// Emits the coordinates of the CTA and the keys that it reads.
  void decode();
  /// Return the query head of a row of the CTA, the last one of the group for
  /// rows that do not exist, and whether the row exists.
  Value headOf(Value row);
  Value isLive(unsigned row);
  /// Returns the query of a row.
  Value queryRow(Value row);
  /// Returns key or value `key` ("k" or "v").
  Value keyRow(const std::string &tensor, Value key);
  /// Returns the element of `row` in an output, with strides in the order of
  /// batch, row and head.
  Value outputRow(const std::string &tensor, unsigned row, mlir::Type element);
  /// Loads a vector of 16 bytes, of a key and of other rows.
  Value loadKeyVector(Value row, Value vector);
  Value loadVector(Value row, Value vector);
  /// Returns a vector in f32.
  Value widen(Value vector);
  /// Returns element `index` of f32 of a region of shared memory, counted from
  /// stage `stage` on.
  Value shared(const char *region, Value index, unsigned stage = 0);
  mlir::VectorType vectorOf(mlir::Type element) {
    return mlir::VectorType::get({int64_t(all.vectorElements)}, element);
  }
  Value plus(Value lhs, Value rhs) {
    return make<mlir::arith::AddIOp>(lhs, rhs);
  }
  Value times(Value lhs, Value rhs) {
    return make<mlir::arith::MulIOp>(lhs, rhs);
  }

  const schedule::Schedule &plan;
  schedule::Problem problem;
  schedule::FmaThreads all;
  schedule::MemoryMap map;
  double scale;
  mlir::Type element;
  Value thread, query, kvHead, batch;
  /// The batch in outputs, which includes the part.
  Value outputBatch;
  /// The keys of the CTA, [begin, end), none if end <= begin.
  Value begin, end;

private:
  void decodeGrid();
  Value keysOfSequence();
  void decodeKeys(Value part);
  Value loadNumber(const std::string &list, Value index);

  /// The number of query heads of a KV head, and the first one of the CTA.
  Value group, firstMember;
  Value part;
  Value sharedBase;
};

} // namespace fmha

#endif // FMHA_LIB_CONVERSION_FMHATOFMA_FMAPLACES_H
