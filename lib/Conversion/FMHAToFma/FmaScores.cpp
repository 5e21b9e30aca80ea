//===- FmaScores.cpp - The scores of an fma kernel ------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FmaScores.h"

#include "fmha/Target/Target.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace mlir;
using namespace fmha;

/// Sums of several rows leave registers for fewer.
unsigned FmaScores::loadsAtOnce() const { return all.rows <= 2 ? 8 : 4; }

void FmaScores::barrier() { NVVM::BarrierOp::create(b); }

/// More would leave too few registers for the keys.
unsigned FmaScores::lanesOfSums() const {
  return std::min(all.vectorElements, 8u);
}

bool FmaScores::keepsQueries() const {
  constexpr unsigned mostRegisters = 64;
  return all.rows == 1 &&
         all.vectorsPerThread * all.vectorElements <= mostRegisters;
}

Value FmaScores::partOfKey() {
  Value place = make<arith::DivUIOp>(thread, i32(all.partStep));
  return make<arith::RemUIOp>(place, i32(all.threadsPerKey));
}

Value FmaScores::keyOfThread() {
  unsigned step = all.partStep;
  Value high = make<arith::DivUIOp>(thread, i32(step * all.threadsPerKey));
  Value low = make<arith::RemUIOp>(thread, i32(step));
  return plus(times(high, i32(step)), low);
}

/// Emits q in f32: row r from element r * head_dim on.
void FmaScores::loadQueries() {
  Value vectors = i32(all.queryVectors);
  loop(thread, i32(all.rows * all.queryVectors), int32_t(all.threads),
       ValueRange(), [&](Value at, ValueRange) {
         Value row = make<arith::DivUIOp>(at, vectors);
         Value vector = make<arith::RemUIOp>(at, vectors);
         Value place = shared("Q", times(at, i32(all.queryElements)));
         Value from = queryRow(row);
         Value loaded = loadQueryVector(from, vector);
         if (problem.rotates())
           loaded = rotated(loaded, vector, from, plus(firstQuery, query));
         LLVM::StoreOp::create(b, widen(loaded, element), place,
                               /*alignment=*/16);
         return Values();
       });
  barrier();
}

/// Loads vector `n` of the thread's part of a query.
Value FmaScores::queryVector(unsigned row, unsigned n) {
  Value mine = partOfKey();
  unsigned first =
      row * problem.headDim + n * all.threadsPerKey * all.vectorElements;
  Value at = plus(times(mine, i32(all.vectorElements)), i32(first));
  return LLVM::LoadOp::create(b, vectorOf(b.getF32Type(), all.vectorElements),
                              shared("Q", at), /*alignment=*/16);
}

FmaScores::Values FmaScores::loadQueryVectors() {
  Values vectors;
  for (unsigned row = 0; row < all.rows; ++row)
    for (unsigned n = 0; n < all.vectorsPerThread; ++n)
      vectors.push_back(queryVector(row, n));
  return vectors;
}

/// Returns the products of a key with each row, in all threads of the key.
FmaScores::Values FmaScores::multiplyKey(ArrayRef<Value> vectors,
                                         ArrayRef<Value> queries) {
  unsigned lanes = lanesOfSums();
  Values sums(all.rows, broadcast(zero, lanes));
  for (unsigned n = 0; n < all.vectorsPerThread; ++n) {
    Value wide = widen(vectors[n], keyElement);
    for (unsigned row = 0; row < all.rows; ++row) {
      Value query = queries.empty() ? queryVector(row, n)
                                    : queries[row * all.vectorsPerThread + n];
      for (unsigned at = 0; at < all.vectorElements; at += lanes)
        sums[row] = math::FmaOp::create(b, slice(query, at, lanes),
                                        slice(wide, at, lanes), sums[row]);
    }
  }
  return llvm::map_to_vector(sums, [&](Value sum) {
    Value product = vector::ExtractOp::create(b, sum, 0);
    for (unsigned n = 1; n < lanes; ++n)
      product =
          make<arith::AddFOp>(product, vector::ExtractOp::create(b, sum, n));
    return acrossLanes<arith::AddFOp>(product, all.threadsPerKey, all.partStep);
  });
}

/// The scores of a row follow those of the previous one.
Value FmaScores::scoreAt(const Block &block, unsigned row, Value key) {
  return shared("S", plus(block.scores, plus(i32(row * plan.kvBlock), key)));
}

/// Loads the thread's part of a key. Threads of a warp stay together: beyond
/// the last key of the block they load that one again.
FmaScores::KeyLoad FmaScores::loadKey(const Block &block, Value place) {
  Value mine = partOfKey();
  Value last = make<arith::SubIOp>(block.keys, i32(1));
  KeyPlace key = placeOf(plus(block.first, make<arith::MinSIOp>(place, last)));
  Value row = keyRow("k", key);
  KeyLoad load{place, pageScale("k_scale", key), key, row, {}};
  for (unsigned v = 0; v < all.vectorsPerThread; ++v)
    load.vectors.push_back(
        loadKeyVector(key, row, plus(mine, i32(v * all.threadsPerKey))));
  return load;
}

/// Returns the vectors of a key, rotated if it is new.
FmaScores::Values FmaScores::rotatedVectors(const KeyLoad &load) {
  Value mine = partOfKey();
  Values vectors;
  for (auto [v, vector] : llvm::enumerate(load.vectors))
    vectors.push_back(
        rotatedIfNew(vector, plus(mine, i32(int64_t(v) * all.threadsPerKey)),
                     load.row, load.key));
  return vectors;
}

/// Emits the scores of `keys` keys, keysAtOnce apart, from key `first` of the
/// block on. A key that is loaded again does not change the maximum, and
/// nothing is stored for it.
FmaScores::Values FmaScores::buildScoresAt(const Block &block, Value first,
                                           unsigned keys,
                                           ArrayRef<Value> queries,
                                           ValueRange max) {
  SmallVector<KeyLoad> loads;
  for (unsigned n = 0; n < keys; ++n)
    loads.push_back(loadKey(block, plus(first, i32(n * all.keysAtOnce))));
  Value isFirst = compare(arith::CmpIPredicate::eq, partOfKey(), i32(0));
  Values most(max);
  for (const KeyLoad &key : loads) {
    Values scores = multiplyKey(
        problem.rotates() ? rotatedVectors(key) : key.vectors, queries);
    Value own =
        key.pageScale ? make<arith::MulFOp>(factor, key.pageScale) : factor;
    for (auto [score, best] : llvm::zip_equal(scores, most)) {
      score = make<arith::MulFOp>(score, own);
      best = make<arith::MaxNumFOp>(best, score);
    }
    Value exists = compare(arith::CmpIPredicate::slt, key.place, block.keys);
    ifThen(make<arith::AndIOp>(isFirst, exists), [&] {
      for (unsigned row = 0; row < all.rows; ++row)
        LLVM::StoreOp::create(b, scores[row], scoreAt(block, row, key.place));
    });
  }
  return most;
}

/// Returns the maxima of the thread's scores.
FmaScores::Values FmaScores::buildScores(const Block &block,
                                         ArrayRef<Value> queries) {
  unsigned keys = std::clamp(loadsAtOnce() / all.vectorsPerThread, 1u, 4u);
  Value mine = keyOfThread();
  return loop(i32(0), block.keys, int32_t(keys * all.keysAtOnce),
              ValueRange(Values(all.rows, none)),
              [&](Value at, ValueRange max) {
                return buildScoresAt(block, plus(at, mine), keys, queries, max);
              });
}

Value FmaScores::scoreFactor() {
  Value factor = f32(scale * llvm::numbers::log2e);
  if (problem.qScale)
    factor = make<arith::MulFOp>(factor, loadScale("q_scale", i32(0)));
  if (Value keys = sharedScale("k_scale"))
    factor = make<arith::MulFOp>(factor, keys);
  return factor;
}

FmaScores::Values FmaScores::prepareScores() {
  Values queries = keepsQueries() ? loadQueryVectors() : Values();
  factor = scoreFactor();
  return queries;
}
