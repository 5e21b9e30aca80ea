//===- ElideZeroFills.cpp - Begin accumulators with a product -------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChannelPlan.h"
#include "Loops.h"
#include "TileFlow.h"
#include "fmha/Dialect/Tile/Transforms/Passes.h"
#include "fmha/Kernel/KernelInfo.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

namespace fmha::tile {
#define GEN_PASS_DEF_TILEELIDEZEROFILLS
#include "fmha/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fmha::tile

using namespace mlir;
using namespace fmha::tile;

namespace {

/// An accumulator of a loop whose initial value is a fill with 0.
class Elision {
public:
  Elision(FillOp fill, OpOperand &init)
      : fill(fill), loop(cast<scf::ForOp>(init.getOwner())),
        argument(loop.getTiedLoopRegionIterArg(&init)),
        result(loop.getTiedLoopResult(&init)) {}
  LogicalResult run();

private:
  Value notFirst();
  bool isUnderChange(Operation *yield);
  LogicalResult checkConditions();
  LogicalResult startIn(Value accumulator);
  void skipFirst(RescaleOp op);
  LogicalResult useAfter(Operation *user);
  LogicalResult useSlice(SliceOp slice);
  void branchOn(Operation *user, function_ref<Value(OpBuilder &)> zero);

  FillOp fill;
  scf::ForOp loop;
  BlockArgument argument;
  OpResult result;
  Value condition;
};

/// Returns whether the iteration is not the first one, so that the accumulator
/// has been written.
Value Elision::notFirst() {
  if (condition)
    return condition;
  OpBuilder b = OpBuilder::atBlockBegin(loop.getBody());
  return condition = arith::CmpIOp::create(
             b, fill.getLoc(), arith::CmpIPredicate::sgt,
             loop.getInductionVar(), loop.getLowerBound());
}

/// %b = tile.rescale %acc, %alpha
/// ->
/// %b = scf.if %not_first { %r = tile.rescale %acc, %alpha; yield %r }
///      else { yield %acc }
void Elision::skipFirst(RescaleOp op) {
  OpBuilder b(op);
  Value acc = op.getInput();
  auto branch = scf::IfOp::create(
      b, op.getLoc(), notFirst(),
      [&](OpBuilder &b, Location loc) {
        Operation *own = b.clone(*op.getOperation());
        scf::YieldOp::create(b, loc, own->getResults());
      },
      [&](OpBuilder &b, Location loc) { scf::YieldOp::create(b, loc, acc); });
  op.getResult().replaceAllUsesWith(branch.getResult(0));
  op.erase();
}

/// Whether `yield` ends a branch on a condition that may differ from iteration
/// to iteration, so that the first product may be in a later iteration.
bool Elision::isUnderChange(Operation *yield) {
  auto branch = dyn_cast<scf::IfOp>(yield->getParentOp());
  return branch && branch.getCondition() != condition &&
         !loop.isDefinedOutsideOfLoop(branch.getCondition());
}

/// Makes the first product overwrite `accumulator` in the first iteration.
LogicalResult Elision::startIn(Value accumulator) {
  for (Operation *user : llvm::make_early_inc_range(accumulator.getUsers())) {
    if (auto rescale = dyn_cast<RescaleOp>(user)) {
      Operation *next = rescale->getNextNode();
      skipFirst(rescale);
      if (failed(startIn(next->getPrevNode()->getResult(0))))
        return failure();
    } else if (auto dot = dyn_cast<DotOp>(user);
               dot && dot.getAcc() == accumulator && !dot.getAccumulate()) {
      dot.getAccumulateMutable().assign(notFirst());
    } else if (!isa<scf::YieldOp>(user) || isUnderChange(user)) {
      return user->emitOpError()
             << "expected a product to be the first op on an accumulator in "
                "tensor memory that begins with 0, since no op fills tensor "
                "memory";
    }
  }
  return success();
}

/// Makes `user` use zeros if the loop has no iteration. Slices of memory, which
/// are its operands, go with it.
///   %o = tile.normalize %acc, %sum
/// ->
///   %o = scf.if %has { %n = tile.normalize %acc, %sum; yield %n }
///        else { %z = tile.fill 0.0; yield %z }
void Elision::branchOn(Operation *user, function_ref<Value(OpBuilder &)> zero) {
  OpBuilder b(user);
  Location loc = user->getLoc();
  auto branch = scf::IfOp::create(b, loc, user->getResultTypes(),
                                  hasIterations(loop), /*withElse=*/true);
  OpBuilder then = branch.getThenBodyBuilder();
  IRMapping inside;
  for (Value operand : user->getOperands())
    if (Operation *slice = operand.getDefiningOp();
        slice && isMemorySlice(slice))
      then.clone(*slice, inside);
  Operation *own = then.clone(*user, inside);
  OpBuilder otherwise = branch.getElseBodyBuilder();
  Value zeros = zero(otherwise);
  if (user->getNumResults()) {
    scf::YieldOp::create(then, loc, own->getResults());
    scf::YieldOp::create(otherwise, loc, zeros);
  }
  user->replaceAllUsesWith(branch.getResults());
  user->erase();
}

/// Makes the users of `slice`, which only names columns, use zeros.
LogicalResult Elision::useSlice(SliceOp slice) {
  for (Operation *user : llvm::make_early_inc_range(slice->getUsers()))
    if (failed(useAfter(user)))
      return failure();
  slice.erase();
  return success();
}

LogicalResult Elision::useAfter(Operation *user) {
  PartitionAttr partition = partitionOf(user);
  auto marked = [&](Operation *made) {
    if (partition)
      setPartition(made, partition);
    return made;
  };
  return llvm::TypeSwitch<Operation *, LogicalResult>(user)
      .Case<NormalizeOp, MoveOp>([&](auto op) {
        Type type = op.getType();
        branchOn(op, [&](OpBuilder &b) {
          return marked(FillOp::create(b, op.getLoc(), type,
                                       b.getF32FloatAttr(0.0f)))
              ->getResult(0);
        });
        return success();
      })
      .Case([&](WriteOp op) {
        branchOn(op, [&](OpBuilder &b) {
          auto zeros = cast<WriteOp>(b.clone(*op.getOperation()));
          zeros.getValueMutable().clear();
          zeros.getSumMutable().clear();
          zeros.getScaleMutable().clear();
          return Value();
        });
        return success();
      })
      .Case([&](SliceOp slice) { return useSlice(slice); })
      .Default([&](Operation *other) {
        return other->emitOpError()
               << "expected a tile.normalize, tile.write or tile.move of an "
                  "accumulator in tensor memory that may never have been "
                  "written";
      });
}

/// Checks the products under a condition that the kernel does not change, which
/// may never run: uses of the accumulator after the loop must be under the same
/// condition.
LogicalResult Elision::checkConditions() {
  WalkResult walked = loop.walk([&](scf::IfOp branch) {
    bool isOwn = branch.getCondition() != condition &&
                 llvm::any_of(branch.getResults(), [&](Value value) {
                   return value.getType() == argument.getType();
                 });
    if (!isOwn)
      return WalkResult::advance();
    for (Operation *user : result.getUsers())
      if (!isUnderSameCondition(branch, user)) {
        user->emitOpError()
            << "takes an accumulator in tensor memory that a product under a "
               "condition initializes: expected the use under it, too";
        return WalkResult::interrupt();
      }
    return WalkResult::advance();
  });
  return failure(walked.wasInterrupted());
}

LogicalResult Elision::run() {
  if (failed(startIn(argument)) || failed(checkConditions()))
    return failure();
  if (!alwaysRuns(loop))
    for (Operation *user : llvm::make_early_inc_range(result.getUsers()))
      if (failed(useAfter(user)))
        return failure();
  return success();
}

struct TileElideZeroFillsPass
    : public fmha::tile::impl::TileElideZeroFillsBase<TileElideZeroFillsPass> {
  void runOnOperation() override {
    if (!isTiledKernel(getOperation()))
      return;
    SmallVector<FillOp> fills;
    getOperation().walk([&](FillOp fill) {
      if (fill.getType().getTmem() && fill.getValue().isZero())
        fills.push_back(fill);
    });
    for (FillOp fill : fills)
      if (failed(elide(fill)))
        return signalPassFailure();
  }

private:
  static LogicalResult elide(FillOp fill) {
    for (OpOperand &use : llvm::make_early_inc_range(fill->getUses())) {
      if (auto dot = dyn_cast<DotOp>(use.getOwner())) {
        dot.getAccMutable().clear();
        continue;
      }
      auto loop = dyn_cast<scf::ForOp>(use.getOwner());
      if (!loop)
        return use.getOwner()->emitOpError()
               << "expected a product or a loop to take an accumulator in "
                  "tensor memory that begins with 0, since no op fills tensor "
                  "memory";
      if (failed(Elision(fill, use).run()))
        return failure();
    }
    OpBuilder b(fill);
    Value nothing = ub::PoisonOp::create(b, fill.getLoc(), fill.getType());
    fill.getResult().replaceAllUsesWith(nothing);
    fill.erase();
    return success();
  }
};

} // namespace
