//===- RotateWaits.cpp - Wait for a free slot at the end of an iteration --===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   scf.for %n {                      wait %free parity f(0)
//     ...                             scf.for %n {
//     wait %free parity f(%n)           ...
//     store                   ->        store
//     arrive %full                      arrive %full
//     ...                               ...
//     arrive %other                     arrive %other
//   }                                   wait %free parity f(%n + 1)
//                                     }
//
//===----------------------------------------------------------------------===//

#include "fmha/Dialect/FMHA/Attributes/FMHAAttrs.h"
#include "fmha/Dialect/Tile/IR/Tile.h"
#include "fmha/Dialect/Tile/Transforms/Passes.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace fmha::tile {
#define GEN_PASS_DEF_TILEROTATEWAITS
#include "fmha/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fmha::tile

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;

namespace {

/// Returns the wait before `arrive` in its block if nothing but computations
/// and accesses of memory are between them, or null.
WaitOp waitBefore(ArriveOp arrive) {
  for (Operation *op = arrive->getPrevNode(); op; op = op->getPrevNode()) {
    if (auto wait = dyn_cast<WaitOp>(op))
      return wait;
    if (op->getNumRegions() || isa<ArriveOp, CommitOp, SyncNamedOp>(op))
      return nullptr;
  }
  return nullptr;
}

/// Returns the only arrival at `barrier` in `block` after `op`, or null.
ArriveOp onlyArrivalAfter(Operation *op, Value barrier) {
  ArriveOp found;
  for (Operation *user : barrier.getUsers()) {
    auto arrive = dyn_cast<ArriveOp>(user);
    if (!arrive || arrive->getBlock() != op->getBlock())
      continue;
    if (found || !op->isBeforeInBlock(arrive))
      return nullptr;
    found = arrive;
  }
  return found;
}

/// Returns the arrival that publishes the message for whose slot `wait` waits,
/// if the consumers release it as soon as they have received it, or null. They
/// then wait for nothing else that comes after the message.
ArriveOp messageOf(WaitOp wait) {
  ArriveOp message;
  for (Operation *user : wait.getBarrier().getUsers()) {
    if (isa<WaitOp, InitBarrierOp, InvalBarrierOp>(user))
      continue;
    auto release = dyn_cast<ArriveOp>(user);
    WaitOp receipt = release ? waitBefore(release) : WaitOp();
    ArriveOp published =
        receipt ? onlyArrivalAfter(wait, receipt.getBarrier()) : ArriveOp();
    if (!published || (message && message != published))
      return nullptr;
    message = published;
  }
  return message;
}

/// Returns the last arrival in the block of `op`.
ArriveOp lastArrival(Operation *op) {
  ArriveOp last;
  for (auto arrive : op->getBlock()->getOps<ArriveOp>())
    last = arrive;
  return last;
}

/// A wait in a loop, and the ops that compute its stage and parity.
struct LoopWait {
  WaitOp wait;
  scf::ForOp loop;
  SetVector<Operation *> numbers;

  /// Emits the wait of iteration `index`.
  void emit(OpBuilder &b, Value index) {
    IRMapping values;
    values.map(loop.getInductionVar(), index);
    for (Operation *op : numbers)
      b.clone(*op, values);
    b.clone(*wait.getOperation(), values);
  }
};

/// Returns the ops in the loop that compute the operands of `wait` from the
/// index of the loop, or none if they need anything else of the loop.
std::optional<LoopWait> numbersOf(WaitOp wait) {
  auto loop = dyn_cast<scf::ForOp>(wait->getParentOp());
  if (!loop)
    return std::nullopt;
  LoopWait made{wait, loop, {}};
  BackwardSliceOptions options;
  options.filter = [&](Operation *op) {
    return op->getBlock() == wait->getBlock();
  };
  if (failed(getBackwardSlice(wait.getOperation(), &made.numbers, options)))
    return std::nullopt;
  auto isOfLoop = [&](Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument && argument.getOwner() == loop.getBody() &&
           argument != loop.getInductionVar();
  };
  for (Operation *op : made.numbers)
    if (!isMemoryEffectFree(op) || llvm::any_of(op->getOperands(), isOfLoop))
      return std::nullopt;
  if (llvm::any_of(wait->getOperands(), isOfLoop))
    return std::nullopt;
  return made;
}

void rotate(LoopWait &made, ArriveOp last) {
  scf::ForOp loop = made.loop;
  OpBuilder b(loop);
  made.emit(b, loop.getLowerBound());
  b.setInsertionPointAfter(last);
  Value next = arith::AddIOp::create(b, made.wait.getLoc(),
                                     loop.getInductionVar(), loop.getStep());
  made.emit(b, next);
  made.wait->erase();
}

struct TileRotateWaitsPass
    : public fmha::tile::impl::TileRotateWaitsBase<TileRotateWaitsPass> {
  void runOnOperation() override {
    auto plan = getOperation()->getAttrOfType<ScheduleAttr>("fmha.schedule");
    if (!plan || !plan.getValue().exp2EmulatedPercent)
      return;
    SmallVector<WaitOp> waits;
    getOperation().walk([&](WaitOp wait) { waits.push_back(wait); });
    for (WaitOp wait : waits) {
      std::optional<LoopWait> made = numbersOf(wait);
      ArriveOp message = made ? messageOf(wait) : ArriveOp();
      ArriveOp last = message ? lastArrival(wait) : ArriveOp();
      if (message && message != last)
        rotate(*made, last);
    }
  }
};

} // namespace
