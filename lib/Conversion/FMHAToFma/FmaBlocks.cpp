//===- FmaBlocks.cpp - The loop over keys of an fma kernel ----------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FmaBlocks.h"

#include "fmha/Target/Target.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace mlir;
using namespace fmha;

/// Returns how many vectors of 16 bytes a thread loads before it waits for the
/// first. Sums of several rows leave registers for fewer.
static unsigned loadsAtOnce(unsigned rows) { return rows <= 2 ? 8 : 4; }

void FmaBlocks::barrier() { NVVM::BarrierOp::create(b); }

Value FmaBlocks::lane() {
  return make<arith::AndIOp>(thread, i32(target::warpThreads - 1));
}

Value FmaBlocks::broadcast(Value number) {
  return vector::BroadcastOp::create(b, vectorOf(b.getF32Type()), number);
}

bool FmaBlocks::keepsQueries() const {
  constexpr unsigned mostRegisters = 64;
  return all.rows == 1 &&
         all.vectorsPerThread * all.vectorElements <= mostRegisters;
}

Value FmaBlocks::partOfKey() {
  Value place = make<arith::DivUIOp>(thread, i32(all.partStep));
  return make<arith::RemUIOp>(place, i32(all.threadsPerKey));
}

Value FmaBlocks::keyOfThread() {
  unsigned step = all.partStep;
  Value high = make<arith::DivUIOp>(thread, i32(step * all.threadsPerKey));
  Value low = make<arith::RemUIOp>(thread, i32(step));
  return plus(times(high, i32(step)), low);
}

/// Emits q in f32: row r from element r * head_dim on.
void FmaBlocks::loadQueries() {
  Value vectors = i32(all.keyVectors);
  loop(thread, i32(all.rows * all.keyVectors), int32_t(all.threads),
       ValueRange(), [&](Value at, ValueRange) {
         Value row = make<arith::DivUIOp>(at, vectors);
         Value vector = make<arith::RemUIOp>(at, vectors);
         Value place = shared("Q", times(at, i32(all.vectorElements)));
         LLVM::StoreOp::create(b, widen(loadVector(queryRow(row), vector)),
                               place, /*alignment=*/16);
         return Values();
       });
  barrier();
}

/// Loads vector `n` of the thread's part of a query.
Value FmaBlocks::loadQueryVector(unsigned row, unsigned n) {
  Value mine = partOfKey();
  unsigned first =
      row * problem.headDim + n * all.threadsPerKey * all.vectorElements;
  Value at = plus(times(mine, i32(all.vectorElements)), i32(first));
  return LLVM::LoadOp::create(b, vectorOf(b.getF32Type()), shared("Q", at),
                              /*alignment=*/16);
}

FmaBlocks::Values FmaBlocks::loadQueryVectors() {
  Values vectors;
  for (unsigned row = 0; row < all.rows; ++row)
    for (unsigned n = 0; n < all.vectorsPerThread; ++n)
      vectors.push_back(loadQueryVector(row, n));
  return vectors;
}

/// Returns the products of a key with each row, in all threads of the key.
FmaBlocks::Values FmaBlocks::multiplyKey(ArrayRef<Value> vectors,
                                         ArrayRef<Value> queries) {
  Values sums(all.rows, broadcast(zero));
  for (unsigned n = 0; n < all.vectorsPerThread; ++n) {
    Value wide = widen(vectors[n]);
    for (unsigned row = 0; row < all.rows; ++row) {
      Value query = queries.empty() ? loadQueryVector(row, n)
                                    : queries[row * all.vectorsPerThread + n];
      sums[row] = math::FmaOp::create(b, query, wide, sums[row]);
    }
  }
  return llvm::map_to_vector(sums, [&](Value sum) {
    Value product = vector::ExtractOp::create(b, sum, 0);
    for (unsigned n = 1; n < all.vectorElements; ++n)
      product =
          make<arith::AddFOp>(product, vector::ExtractOp::create(b, sum, n));
    return acrossLanes<arith::AddFOp>(product, all.threadsPerKey, all.partStep);
  });
}

/// The scores of a row follow those of the previous one.
Value FmaBlocks::scoreAt(const Block &block, unsigned row, Value key) {
  return shared("S", plus(block.scores, plus(i32(row * plan.kvBlock), key)));
}

/// Emits the scores of `keys` keys, keysAtOnce apart, from key `first` of the
/// block on. Threads of a warp stay together: beyond the last key they compute
/// that one again, which does not change the maximum, and store nothing.
FmaBlocks::Values FmaBlocks::buildScoresAt(const Block &block, Value first,
                                           unsigned keys,
                                           ArrayRef<Value> queries,
                                           ValueRange max) {
  Value mine = partOfKey();
  Value last = make<arith::SubIOp>(block.keys, i32(1));
  Values places;
  SmallVector<Values> loaded;
  for (unsigned n = 0; n < keys; ++n) {
    places.push_back(plus(first, i32(n * all.keysAtOnce)));
    Value key = make<arith::MinSIOp>(places.back(), last);
    Value row = keyRow("k", plus(block.first, key));
    loaded.emplace_back();
    for (unsigned v = 0; v < all.vectorsPerThread; ++v)
      loaded.back().push_back(
          loadKeyVector(row, plus(mine, i32(v * all.threadsPerKey))));
  }
  Values most(max);
  for (unsigned n = 0; n < keys; ++n) {
    Values scores = multiplyKey(loaded[n], queries);
    for (auto [score, best] : llvm::zip_equal(scores, most)) {
      score = make<arith::MulFOp>(score, f32(scale * llvm::numbers::log2e));
      best = make<arith::MaxNumFOp>(best, score);
    }
    Value isFirst = compare(arith::CmpIPredicate::eq, mine, i32(0));
    Value exists = compare(arith::CmpIPredicate::slt, places[n], block.keys);
    ifThen(make<arith::AndIOp>(isFirst, exists), [&] {
      for (unsigned row = 0; row < all.rows; ++row)
        LLVM::StoreOp::create(b, scores[row], scoreAt(block, row, places[n]));
    });
  }
  return most;
}

/// Returns the maxima of the thread's scores.
FmaBlocks::Values FmaBlocks::buildScores(const Block &block,
                                         ArrayRef<Value> queries) {
  unsigned keys =
      std::clamp(loadsAtOnce(all.rows) / all.vectorsPerThread, 1u, 4u);
  Value mine = keyOfThread();
  return loop(i32(0), block.keys, int32_t(keys * all.keysAtOnce),
              ValueRange(Values(all.rows, none)),
              [&](Value at, ValueRange max) {
                return buildScoresAt(block, plus(at, mine), keys, queries, max);
              });
}

/// Emits the exponentials in place of the scores. Returns the sums, with those
/// of the thread's.
FmaBlocks::Values FmaBlocks::buildProbabilities(const Block &block,
                                                ArrayRef<Value> shifts,
                                                ValueRange sums) {
  return loop(thread, block.keys, int32_t(all.threads), sums,
              [&](Value key, ValueRange sofar) {
                Values next;
                for (unsigned row = 0; row < all.rows; ++row) {
                  Value at = scoreAt(block, row, key);
                  Value p = exp2(make<arith::SubFOp>(load(at), shifts[row]));
                  LLVM::StoreOp::create(b, p, at);
                  next.push_back(make<arith::AddFOp>(sofar[row], p));
                }
                return next;
              });
}

/// Adds the products of `keys` values, valueSlots apart.
FmaBlocks::Values FmaBlocks::addValues(const Block &block, Value first,
                                       unsigned keys, ValueRange acc) {
  Value column = make<arith::RemUIOp>(thread, i32(all.valueVectors));
  Values places, loaded, sums(acc);
  for (unsigned n = 0; n < keys; ++n) {
    places.push_back(plus(first, i32(n * all.valueSlots)));
    loaded.push_back(
        loadVector(keyRow("v", plus(block.first, places[n])), column));
  }
  for (unsigned n = 0; n < keys; ++n) {
    Value value = widen(loaded[n]);
    for (unsigned row = 0; row < all.rows; ++row)
      sums[row] = math::FmaOp::create(
          b, broadcast(load(scoreAt(block, row, places[n]))), value, sums[row]);
  }
  return sums;
}

/// Adds P times V, for the thread's keys and columns: first several keys at a
/// time, then the others one by one.
FmaBlocks::Values FmaBlocks::buildOutput(const Block &block, ValueRange acc) {
  auto keysAtOnce = int32_t(loadsAtOnce(all.rows) / 2);
  Value slots = i32(all.valueSlots);
  Value slot = make<arith::DivUIOp>(thread, i32(all.valueVectors));
  Value rest = make<arith::SubIOp>(block.keys, slot);
  Value count =
      make<arith::CeilDivUIOp>(make<arith::MaxSIOp>(rest, i32(0)), slots);
  count =
      select(compare(arith::CmpIPredicate::slt, slot, slots), count, i32(0));
  Value whole = make<arith::AndIOp>(count, i32(-keysAtOnce));
  auto add = [&](int32_t keys) {
    return [&, keys](Value at, ValueRange sofar) {
      return addValues(block, plus(slot, times(at, slots)), keys, sofar);
    };
  };
  Values most = loop(i32(0), whole, keysAtOnce, acc, add(keysAtOnce));
  return loop(whole, count, 1, most, add(1));
}

template <typename OpTy>
FmaBlocks::Values FmaBlocks::acrossThreads(Values mine, unsigned stage) {
  Value warp = make<arith::DivUIOp>(thread, i32(target::warpThreads));
  for (Value &value : mine)
    value = acrossLanes<OpTy>(value, target::warpThreads);
  ifThen(compare(arith::CmpIPredicate::eq, lane(), i32(0)), [&] {
    for (auto [row, value] : llvm::enumerate(mine))
      LLVM::StoreOp::create(
          b, value, shared("stats", plus(warp, i32(row * all.warps)), stage));
  });
  barrier();
  for (auto [row, value] : llvm::enumerate(mine))
    for (unsigned n = 0; n < all.warps; ++n) {
      Value one = load(shared("stats", i32(row * all.warps + n), stage));
      value = n ? make<OpTy>(value, one) : one;
    }
  return mine;
}
template FmaBlocks::Values
FmaBlocks::acrossThreads<arith::AddFOp>(Values mine, unsigned stage);

FmaState FmaBlocks::buildBlock(const Block &block, ArrayRef<Value> queries,
                               const FmaState &before) {
  FmaState state = before;
  Values most = acrossThreads<arith::MaxNumFOp>(buildScores(block, queries), 0);
  Values shifts;
  for (unsigned row = 0; row < all.rows; ++row) {
    state.max[row] = make<arith::MaxNumFOp>(before.max[row], most[row]);
    shifts.push_back(shiftOf(state.max[row]));
    Value factor = exp2(make<arith::SubFOp>(before.max[row], shifts[row]));
    state.sum[row] = make<arith::MulFOp>(before.sum[row], factor);
    state.acc[row] = make<arith::MulFOp>(before.acc[row], broadcast(factor));
  }
  state.sum = buildProbabilities(block, shifts, state.sum);
  barrier();
  state.acc = buildOutput(block, state.acc);
  return state;
}

FmaState FmaBlocks::buildLoop() {
  unsigned rows = all.rows;
  Values queries = keepsQueries() ? loadQueryVectors() : Values();
  // The stage of the scores, then max, sum and acc of all rows.
  Values init = {i32(0)};
  init.append(rows, none);
  init.append(rows, zero);
  init.append(rows, broadcast(zero));
  auto part = [&](ValueRange values, unsigned n) {
    return Values(values.slice(1 + n * rows, rows));
  };
  Values last = loop(
      begin, end, int32_t(plan.kvBlock), init, [&](Value at, ValueRange sofar) {
        Value keys = make<arith::MinSIOp>(make<arith::SubIOp>(end, at),
                                          i32(plan.kvBlock));
        FmaState state =
            buildBlock({at, keys, sofar[0]}, queries,
                       {part(sofar, 0), part(sofar, 1), part(sofar, 2)});
        Value other = make<arith::SubIOp>(i32(rows * plan.kvBlock), sofar[0]);
        Values next = {other};
        next.append(state.max);
        next.append(state.sum);
        next.append(state.acc);
        return next;
      });
  return {part(last, 0), part(last, 1), part(last, 2)};
}
