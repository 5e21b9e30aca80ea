//===- OpCosts.cpp - What ops on tiles take -------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpCosts.h"

#include "TileFlow.h"
#include "fmha/Target/Target.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;
using namespace fmha::schedule::modulo;

static double elementsOf(Value tile) {
  auto type = cast<TileType>(tile.getType());
  return double(type.getRows()) * double(type.getColumns());
}

static double bytesOf(Value tile) {
  auto type = cast<TileType>(tile.getType());
  return elementsOf(tile) * type.getElementType().getIntOrFloatBitWidth() / 8;
}

static OpTime timeOfMove(MoveOp op, const OpTimes &times) {
  for (Value tile : {op.getInput(), op.getResult()}) {
    auto type = cast<TileType>(tile.getType());
    if (type.getTmem())
      return times.tmem(bytesOf(tile));
    if (type.getSmem())
      return times.smem(bytesOf(tile));
  }
  return {};
}

static OpTime timeOfDot(DotOp op, const OpTimes &times) {
  auto type = op.getResult().getType();
  auto a = cast<TileType>(op.getA().getType());
  return times.product(double(type.getRows()), double(type.getColumns()),
                       double(a.getColumns()), bool(a.getSmem()));
}

/// Instructions of the region of a score_mod, one for each of its ops.
static double instructionsOf(ModifyOp op) {
  return double(llvm::range_size(op.getBody().front().without_terminator()));
}

OpTime fmha::tile::timeOf(Operation *op, const OpTimes &times) {
  constexpr double percent = 100;
  return llvm::TypeSwitch<Operation *, OpTime>(op)
      .Case([&](DotOp dot) { return timeOfDot(dot, times); })
      .Case([&](MoveOp move) { return timeOfMove(move, times); })
      .Case([&](LoadOp load) { return times.copy(bytesOf(load.getResult())); })
      .Case(
          [&](StoreOp store) { return times.copy(bytesOf(store.getValue())); })
      .Case([&](RowMaxOp max) {
        return times.maxima(elementsOf(max.getOld()),
                            elementsOf(max.getInput()));
      })
      .Case([&](Exp2Op exp) {
        return times.exponentials(elementsOf(exp.getInput()),
                                  exp.getEmulated() / percent);
      })
      .Case(
          [&](RowSumOp sum) { return times.sums(elementsOf(sum.getInput())); })
      .Case([&](CastOp cast) {
        return times.conversions(elementsOf(cast.getInput()));
      })
      .Case(
          [&](MaskOp mask) { return times.mask(elementsOf(mask.getInput())); })
      .Case([&](RescaleOp scale) {
        return times.rescale(elementsOf(scale.getInput()),
                             isInMemory(scale.getInput()));
      })
      .Case([&](ModifyOp modify) {
        return times.arithmetic(elementsOf(modify.getInput()),
                                instructionsOf(modify));
      })
      .Case<SliceOp, JoinOp, FillOp>([](Operation *) { return OpTime(); })
      .Default([&](Operation *other) {
        double elements = 0;
        for (Value result : other->getResults())
          elements = std::max(elements, elementsOf(result));
        return times.arithmetic(elements, 1);
      });
}

bool fmha::tile::reducesRows(Operation *op) { return isa<RowMaxOp>(op); }

Executor fmha::tile::executorOf(Operation *op) {
  if (isa<DotOp>(op))
    return Executor::Mma;
  return isa<LoadOpInterface, StoreOp>(op) ? Executor::Tma : Executor::Threads;
}

unsigned fmha::tile::registersOf(Value tile) {
  auto type = dyn_cast<TileType>(tile.getType());
  if (!type || type.getShape().size() != 2 || isInMemory(tile))
    return 0;
  constexpr double registerBytes = 4;
  return unsigned(bytesOf(tile) / registerBytes / target::warpgroupThreads);
}
