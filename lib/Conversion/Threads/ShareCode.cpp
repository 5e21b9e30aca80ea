//===- ShareCode.cpp - Slots that sequences share by their lengths --------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ShareCode.h"

#include "fmha/Schedule/Model/SplitShares.h"
#include "fmha/Target/Target.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fmha;

static constexpr int32_t lanes = target::warpThreads;

static Value acrossLanes(ImplicitLocOpBuilder &b, Value mine,
                         NVVM::ReduxKind kind) {
  Value all = arith::ConstantIntOp::create(b, -1, 32);
  return NVVM::ReduxOp::create(b, mine.getType(), mine, kind, all,
                               /*abs=*/false, /*nan=*/false);
}

ShareCode::ShareCode(ImplicitLocOpBuilder &b, Value lengths, Value sequences,
                     unsigned splits, unsigned keys)
    : b(b), lengths(lengths), sequences(sequences), splits(splits), keys(keys) {
  lane = NVVM::LaneIdOp::create(b, b.getI32Type());
  Value bits = math::CountLeadingZerosOp::create(b, sequences);
  Value most = make<arith::ShLIOp>(i32(1), bits);
  mostWeight = make<arith::MinUIOp>(make<arith::SubIOp>(most, i32(1)),
                                    i32(schedule::mostShareWeight));
  // All lanes read, so that the loads of warps do not diverge.
  Value last = make<arith::SubIOp>(sequences, i32(1));
  Value weight = weightOf(make<arith::MinUIOp>(lane, last));
  Value exists = compare(arith::CmpIPredicate::ult, lane, sequences);
  firstWeight = select(exists, weight, i32(0));
  blocks = blocksOf(decideBlocks());
}

Value ShareCode::i32(int64_t value) {
  return arith::ConstantIntOp::create(b, value, 32);
}

Value ShareCode::compare(arith::CmpIPredicate predicate, Value lhs, Value rhs) {
  return arith::CmpIOp::create(b, predicate, lhs, rhs);
}

Value ShareCode::select(Value condition, Value yes, Value no) {
  return arith::SelectOp::create(b, condition, yes, no);
}

Value ShareCode::oneIf(Value condition) {
  return arith::ExtUIOp::create(b, b.getI32Type(), condition);
}

Value ShareCode::weightOf(Value sequence) {
  Value wide = arith::ExtUIOp::create(b, b.getI64Type(), sequence);
  Value address = LLVM::GEPOp::create(b, lengths.getType(), b.getI32Type(),
                                      lengths, ArrayRef<LLVM::GEPArg>{wide});
  auto length = LLVM::LoadOp::create(b, b.getI32Type(), address);
  length.setInvariant(true);
  Value own = make<arith::MaxSIOp>(length, i32(1));
  return make<arith::MinUIOp>(make<arith::CeilDivUIOp>(own, i32(keys)),
                              mostWeight);
}

ShareCode::Blocks ShareCode::blocksOf(Value number) {
  Value real = arith::UIToFPOp::create(b, b.getF32Type(), number);
  return {number, NVVM::RcpApproxFtzF32Op::create(b, b.getF32Type(), real)};
}

/// Returns ceil(w / c). The truncated quotient q in f32 is off by at most 1:
///   r = w - q·c, in (-c, 2c);  ceil(w / c) = q + (r > 0) + (r > c)
Value ShareCode::partsOf(Value weight, const Blocks &each) {
  Value real = arith::UIToFPOp::create(b, b.getF32Type(), weight);
  Value quotient = arith::FPToUIOp::create(
      b, b.getI32Type(), make<arith::MulFOp>(real, each.inverse));
  Value rest =
      make<arith::SubIOp>(weight, make<arith::MulIOp>(quotient, each.number));
  Value more = oneIf(compare(arith::CmpIPredicate::sgt, rest, i32(0)));
  Value evenMore = oneIf(compare(arith::CmpIPredicate::sgt, rest, each.number));
  return make<arith::AddIOp>(quotient, make<arith::AddIOp>(more, evenMore));
}

/// Lane l has sequences l, l + 32, ... A batch of up to 32 needs no loop.
ShareCode::Values
ShareCode::overSequences(Values init,
                         function_ref<Values(Value, Value, Values)> body) {
  Values first = body(lane, firstWeight, init);
  auto loop = scf::ForOp::create(b, make<arith::AddIOp>(lane, i32(lanes)),
                                 sequences, i32(lanes), first);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value n = loop.getInductionVar();
  scf::YieldOp::create(b,
                       body(n, weightOf(n), Values(loop.getRegionIterArgs())));
  return Values(loop.getResults());
}

Value ShareCode::countTooSmall(ArrayRef<Value> numbers, Value slots) {
  SmallVector<Blocks> tried;
  for (Value number : numbers)
    tried.push_back(blocksOf(number));
  Values needed = overSequences(
      Values(numbers.size(), i32(0)), [&](Value, Value weight, Values sofar) {
        for (auto [sum, each] : llvm::zip(sofar, tried))
          sum = make<arith::AddIOp>(sum, partsOf(weight, each));
        return sofar;
      });
  Value count = i32(0);
  for (Value mine : needed) {
    Value all = acrossLanes(b, mine, NVVM::ReduxKind::ADD);
    count = make<arith::AddIOp>(
        count, oneIf(compare(arith::CmpIPredicate::ugt, all, slots)));
  }
  return count;
}

/// Tries three numbers at a time: k = 3, 7 and 11, then those between two of
/// them. If a number suffices, all above it do.
Value ShareCode::decideBlocks() {
  static_assert(schedule::shareSteps == 16, "two digits to the base of 4");
  Value total = acrossLanes(
      b,
      overSequences({i32(0)},
                    [&](Value, Value weight, Values sofar) {
                      return Values{make<arith::AddIOp>(sofar[0], weight)};
                    })
          .front(),
      NVVM::ReduxKind::ADD);
  Value slots = make<arith::MulIOp>(sequences, i32(splits));
  Value least = make<arith::CeilDivUIOp>(total, slots);
  Value most =
      make<arith::CeilDivUIOp>(total, make<arith::SubIOp>(slots, sequences));
  Value step = make<arith::CeilDivUIOp>(make<arith::SubIOp>(most, least),
                                        i32(schedule::shareSteps - 1));
  for (int32_t digit : {4, 1}) {
    SmallVector<Value> numbers;
    for (int32_t n : {1, 2, 3}) {
      Value steps = make<arith::MulIOp>(step, i32(n * digit - 1));
      numbers.push_back(make<arith::AddIOp>(least, steps));
    }
    Value past = make<arith::MulIOp>(countTooSmall(numbers, slots),
                                     make<arith::MulIOp>(step, i32(digit)));
    least = make<arith::AddIOp>(least, past);
  }
  return least;
}

Value ShareCode::sumOfLanesBefore(Value mine) {
  Value sum = mine;
  for (int32_t distance = 1; distance < lanes; distance *= 2) {
    Value other =
        NVVM::ShflOp::create(b, b.getI32Type(), i32(-1), sum, i32(distance),
                             i32(0), NVVM::ShflKind::up, UnitAttr());
    Value reached = compare(arith::CmpIPredicate::uge, lane, i32(distance));
    sum = make<arith::AddIOp>(sum, select(reached, other, i32(0)));
  }
  return make<arith::SubIOp>(sum, mine);
}

ShareCode::Found ShareCode::find(function_ref<Value(const Found &)> isIt) {
  Values mine = overSequences({i32(0)}, [&](Value, Value weight, Values sofar) {
    return Values{make<arith::AddIOp>(sofar[0], partsOf(weight, blocks))};
  });
  Values init = {sumOfLanesBefore(mine[0]), i32(-1), i32(-1), i32(-1)};
  Values found = overSequences(init, [&](Value n, Value weight, Values sofar) {
    Found own = {n, sofar[0], partsOf(weight, blocks)};
    Value is = isIt(own);
    return Values{make<arith::AddIOp>(sofar[0], own.parts),
                  select(is, own.sequence, sofar[1]),
                  select(is, own.first, sofar[2]),
                  select(is, own.parts, sofar[3])};
  });
  auto any = [&](Value one) {
    return acrossLanes(b, one, NVVM::ReduxKind::MAX);
  };
  return {any(found[1]), any(found[2]), any(found[3])};
}

ShareCode::Slot ShareCode::slotOf(Value number) {
  Found found = find([&](const Found &own) {
    Value part = make<arith::SubIOp>(number, own.first);
    return compare(arith::CmpIPredicate::ult, part, own.parts);
  });
  // A slot that no sequence needs has part 1 of 1, which has no keys.
  Value none = compare(arith::CmpIPredicate::slt, found.sequence, i32(0));
  return {make<arith::MaxSIOp>(found.sequence, i32(0)),
          select(none, i32(1), make<arith::SubIOp>(number, found.first)),
          make<arith::MaxSIOp>(found.parts, i32(1))};
}

ShareCode::Share ShareCode::shareOf(Value sequence) {
  Found found = find([&](const Found &own) {
    return compare(arith::CmpIPredicate::eq, own.sequence, sequence);
  });
  return {found.first, found.parts};
}
