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
// A release of scores comes after the first message of the iteration: it would
// let all loads end before the row maximum begins, and the message could not be
// waited for at the end.
//
//===----------------------------------------------------------------------===//

#include "fmha/Dialect/FMHA/Attributes/FMHAAttrs.h"
#include "fmha/Dialect/Tile/IR/Tile.h"
#include "fmha/Dialect/Tile/Transforms/Passes.h"
#include "fmha/Schedule/Model/SoftmaxOrder.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
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

/// Returns whether no other thread can wait for what the effect does.
bool isQuiet(const SyncEffect &effect) {
  using Action = SyncEffect::Action;
  using Unit = SyncEffect::Unit;
  switch (effect.action) {
  case Action::Access:
    return llvm::is_contained({Unit::Threads, Unit::TmemLoad, Unit::TmemStore},
                              effect.unit);
  case Action::WaitParity:
  case Action::WaitCount:
  case Action::WaitLoads:
  case Action::WaitStores:
  case Action::FenceBefore:
  case Action::FenceAfter:
  case Action::FenceProxy:
  case Action::SyncWarp:
    return true;
  default:
    return false;
  }
}

/// Returns whether another thread may wait for what `root`, or an op inside it,
/// does.
bool signals(Operation *root) {
  WalkResult result = root->walk([](Operation *op) {
    if (op->getNumRegions() || isMemoryEffectFree(op))
      return WalkResult::advance();
    SmallVector<SyncEffect> effects;
    auto sync = dyn_cast<SyncOpInterface>(op);
    if (sync)
      sync.getSyncEffects(effects);
    return sync && llvm::all_of(effects, isQuiet) ? WalkResult::advance()
                                                  : WalkResult::interrupt();
  });
  return result.wasInterrupted();
}

/// Returns the wait before `arrive` in its block if nothing but computations
/// and accesses of memory are between them, or null.
WaitOp waitBefore(ArriveOp arrive) {
  for (Operation *op = arrive->getPrevNode(); op; op = op->getPrevNode()) {
    if (auto wait = dyn_cast<WaitOp>(op))
      return wait;
    if (op->getNumRegions() || signals(op))
      return nullptr;
  }
  return nullptr;
}

/// Returns whether an op of the iteration before `wait` signals. A consumer
/// could wait for that of the next iteration before it releases the slot.
bool signalsBefore(WaitOp wait) {
  for (Operation *op = wait->getPrevNode(); op; op = op->getPrevNode())
    if (signals(op))
      return true;
  return false;
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

/// Returns whether the first wait after a loop, before other threads can wait
/// for anything, is one for `barrier`.
bool waitsAfter(Operation *loop, Value barrier) {
  for (Operation *op = loop->getNextNode(); op; op = op->getNextNode()) {
    auto wait = dyn_cast<WaitOp>(op);
    if (wait && wait.getBarrier() == barrier)
      return true;
    if (signals(op))
      return false;
  }
  return false;
}

/// Returns whether `op` is in the same branch of an op with the condition of
/// `branch` as `inside`, an op in `branch`.
bool hasCondition(Operation *op, scf::IfOp branch, Operation *inside) {
  bool isThen = branch.getThenRegion().isAncestor(inside->getParentRegion());
  for (auto own = op->getParentOfType<scf::IfOp>(); own;
       own = own->getParentOfType<scf::IfOp>())
    if (own.getCondition() == branch.getCondition() &&
        own.getThenRegion().isAncestor(op->getParentRegion()) == isThen)
      return true;
  return false;
}

/// Returns whether `receipt` is executed once in each iteration of `loop`: its
/// own loop has the same iterations, and its branches in it have conditions
/// that `loop` has as well.
bool receivesAll(WaitOp receipt, scf::ForOp loop) {
  Operation *parent = receipt->getParentOp();
  while (auto branch = dyn_cast<scf::IfOp>(parent)) {
    if (!hasCondition(loop, branch, receipt))
      return false;
    parent = branch->getParentOp();
  }
  auto own = dyn_cast<scf::ForOp>(parent);
  auto same = [](Value a, Value b) {
    return isEqualConstantIntOrValue(getAsOpFoldResult(a),
                                     getAsOpFoldResult(b));
  };
  return own && same(own.getLowerBound(), loop.getLowerBound()) &&
         same(own.getUpperBound(), loop.getUpperBound()) &&
         same(own.getStep(), loop.getStep());
}

/// Returns a receipt of the message of `release` that some iterations of `loop`
/// may not have, or null.
WaitOp partialReceipt(WaitOp wait, scf::ForOp loop) {
  for (Operation *user : wait.getBarrier().getUsers()) {
    auto release = dyn_cast<ArriveOp>(user);
    WaitOp receipt = release ? waitBefore(release) : WaitOp();
    if (receipt && !receivesAll(receipt, loop))
      return receipt;
  }
  return nullptr;
}

/// Returns the arrival that publishes the message for whose slot `wait` waits,
/// if the consumers release it as soon as they have received it, or null. They
/// then wait for nothing else that comes after the message. If they do not
/// release every message, the code after the loop has to wait for the slot of
/// the last one, too.
ArriveOp messageOf(WaitOp wait) {
  ArriveOp message;
  llvm::SmallPtrSet<Operation *, 4> receipts;
  Value barrier;
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
    barrier = receipt.getBarrier();
    receipts.insert(receipt);
  }
  bool releasesAll =
      barrier && llvm::all_of(barrier.getUsers(), [&](Operation *user) {
        return !isa<WaitOp>(user) || receipts.contains(user);
      });
  return releasesAll || waitsAfter(wait->getParentOp(), wait.getBarrier())
             ? message
             : ArriveOp();
}

/// Returns the last op in the block of `wait` for which other threads may wait.
Operation *lastSignal(WaitOp wait) {
  Operation *last = nullptr;
  for (Operation &op : *wait->getBlock())
    if (signals(&op))
      last = &op;
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
    if (op->getNumRegions() || !isMemoryEffectFree(op) ||
        llvm::any_of(op->getOperands(), isOfLoop))
      return std::nullopt;
  if (llvm::any_of(wait->getOperands(), isOfLoop))
    return std::nullopt;
  return made;
}

void rotate(LoopWait &made, Operation *last) {
  scf::ForOp loop = made.loop;
  OpBuilder b(loop);
  made.emit(b, loop.getLowerBound());
  b.setInsertionPointAfter(last);
  Value next = arith::AddIOp::create(b, made.wait.getLoc(),
                                     loop.getInductionVar(), loop.getStep());
  made.emit(b, next);
  made.wait->erase();
}

/// Returns the first op of the block from `op` on that signals, or null.
Operation *nextSignal(Operation *op) {
  while (op && !signals(op))
    op = op->getNextNode();
  return op;
}

/// Returns whether `message` publishes a store after `release`, and all waits
/// between them are for its slot.
bool publishesStore(ArriveOp release, ArriveOp message) {
  bool stores = false, waitsForOthers = false;
  for (Operation *op = release->getNextNode(); op != message;
       op = op->getNextNode()) {
    stores |= isa<LLVM::StoreOp>(op);
    op->walk([&](WaitOp wait) {
      waitsForOthers |= wait != op || messageOf(wait) != message;
    });
  }
  return stores && !waitsForOthers;
}

/// Moves the release of a tile that the threads have loaded from tensor memory
/// after the first message of the iteration:
///   %s = tmem_wait load              %s = tmem_wait load
///   fence tcgen05_before             %m = max %s
///   arrive %free               ->    arrive %max
///   %m = max %s                      fence tcgen05_before
///   arrive %max                      arrive %free
/// Before it, all loads would have to end before the first use of one, and the
/// tile is not needed again before the next iteration. The message publishes
/// what is stored after the release, and not the loads; other waits between
/// the two are for its own slot, whose consumers wait for nothing else.
void sinkRelease(Block &block) {
  auto release = dyn_cast_or_null<ArriveOp>(nextSignal(&block.front()));
  auto fence =
      release ? dyn_cast_or_null<FenceOp>(release->getPrevNode()) : FenceOp();
  if (!fence || fence.getKind() != FenceKind::Tcgen05Before)
    return;
  Operation *before = fence->getPrevNode();
  while (before && isMemoryEffectFree(before))
    before = before->getPrevNode();
  auto loads = dyn_cast_or_null<TmemWaitOp>(before);
  auto message = dyn_cast_or_null<ArriveOp>(nextSignal(release->getNextNode()));
  if (!loads || !loads->getNumResults() || !message ||
      !publishesStore(release, message))
    return;
  release->moveAfter(message);
  fence->moveAfter(message);
}

/// Rotates the wait unless it would be one for a message that no consumer
/// receives. Code after the loop that waits for the slot of the last message
/// waits for it in any case.
void rotateIfReceived(LoopWait &made, Operation *last) {
  if (waitsAfter(made.loop, made.wait.getBarrier()) ||
      !partialReceipt(made.wait, made.loop))
    rotate(made, last);
}

struct TileRotateWaitsPass
    : public fmha::tile::impl::TileRotateWaitsBase<TileRotateWaitsPass> {
  void runOnOperation() override {
    auto plan = getOperation()->getAttrOfType<ScheduleAttr>("fmha.schedule");
    if (!plan || !schedule::ordersSoftmaxByStores(plan.getValue()))
      return;
    getOperation().walk([](scf::ForOp loop) { sinkRelease(*loop.getBody()); });
    SmallVector<WaitOp> waits;
    getOperation().walk([&](WaitOp wait) { waits.push_back(wait); });
    for (WaitOp wait : waits) {
      std::optional<LoopWait> made = numbersOf(wait);
      ArriveOp message =
          made && !signalsBefore(wait) ? messageOf(wait) : ArriveOp();
      Operation *last = message ? lastSignal(wait) : nullptr;
      if (message && message != last)
        rotateIfReceived(*made, last);
    }
  }
};

} // namespace
