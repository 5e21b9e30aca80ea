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

Value FmaBlocks::lane() {
  return make<arith::AndIOp>(thread, i32(target::warpThreads - 1));
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
  Values places, loaded, scales, sums(acc);
  for (unsigned n = 0; n < keys; ++n) {
    places.push_back(plus(first, i32(n * all.valueSlots)));
    KeyPlace key = placeOf(plus(block.first, places[n]));
    loaded.push_back(loadValueVector(keyRow("v", key), column));
    scales.push_back(pageScale("v_scale", key));
  }
  for (unsigned n = 0; n < keys; ++n) {
    Value value = widen(loaded[n], keyElement);
    for (unsigned row = 0; row < all.rows; ++row) {
      Value p = load(scoreAt(block, row, places[n]));
      if (scales[n])
        p = make<arith::MulFOp>(p, scales[n]);
      sums[row] = math::FmaOp::create(b, broadcast(p, all.vectorElements),
                                      value, sums[row]);
    }
  }
  return sums;
}

/// Adds P times V, for the thread's keys and columns: first several keys at a
/// time, then the others one by one.
FmaBlocks::Values FmaBlocks::buildOutput(const Block &block, ValueRange acc) {
  auto keysAtOnce = int32_t(loadsAtOnce() / 2);
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
    state.acc[row] = make<arith::MulFOp>(before.acc[row],
                                         broadcast(factor, all.vectorElements));
  }
  state.sum = buildProbabilities(block, shifts, state.sum);
  barrier();
  state.acc = buildOutput(block, state.acc);
  return state;
}

FmaState FmaBlocks::buildLoop() {
  unsigned rows = all.rows;
  Values queries = prepareScores();
  // The stage of the scores, then max, sum and acc of all rows.
  Values init = {i32(0)};
  init.append(rows, none);
  init.append(rows, zero);
  init.append(rows, broadcast(zero, all.vectorElements));
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
