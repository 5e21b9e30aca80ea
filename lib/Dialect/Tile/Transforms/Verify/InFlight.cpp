//===- InFlight.cpp - Registers that a wgmma still uses -------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InFlight.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;

/// Whether `op` is an asynchronous product.
static bool begins(Operation *op) {
  auto dot = dyn_cast_or_null<DotOp>(op);
  return isa_and_nonnull<WgmmaOp>(op) || (dot && dot.getType().inFragments());
}

static Value accumulatorOf(Operation *product) {
  if (auto wgmma = dyn_cast<WgmmaOp>(product))
    return wgmma.getAcc();
  return cast<DotOp>(product).getAcc();
}

/// Returns A if it is in registers, otherwise null.
static Value factorOf(Operation *product) {
  Value a = product->getOperand(0);
  auto tile = dyn_cast<TileType>(a.getType());
  return isa<VectorType>(a.getType()) || (tile && tile.inFragments()) ? a
                                                                      : Value();
}

void tile::appendRegisters(Value value, SmallVectorImpl<Value> &registers) {
  Operation *op = value.getDefiningOp();
  Value acc = begins(op) ? accumulatorOf(op) : Value();
  if (acc && begins(acc.getDefiningOp()))
    return appendRegisters(acc, registers);
  if (isa_and_nonnull<vector::ExtractStridedSliceOp, SliceOp>(op))
    return appendRegisters(op->getOperand(0), registers);
  if (auto joined = dyn_cast_or_null<vector::InsertStridedSliceOp>(op)) {
    appendRegisters(joined.getValueToStore(), registers);
    return appendRegisters(joined.getDest(), registers);
  }
  registers.push_back(value);
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// Checks the uses of `value`, which a product may still write: as an
/// accumulator, in a wait, or in an insertion or extraction of a slice, for
/// whose result the same holds.
static LogicalResult checkUses(Value value) {
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    if (isa<WgmmaWaitOp, WaitDotsOp>(user))
      continue;
    if (begins(user) && accumulatorOf(user) == value &&
        use.getOperandNumber() != 0)
      continue;
    if (isa<vector::InsertStridedSliceOp, vector::ExtractStridedSliceOp>(
            user)) {
      if (failed(checkUses(user->getResult(0))))
        return failure();
      continue;
    }
    return user->emitError()
           << "Y1: uses registers that a product may still write: expected "
           << (isa<TileType>(value.getType()) ? "tile.wait_dots"
                                              : "tile.wgmma_wait")
           << " of them between";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Factors
//===----------------------------------------------------------------------===//

/// Appends the ops that use `value` or a part of it, without those that extract
/// or insert parts.
static void appendUsers(Value value, SmallVectorImpl<Operation *> &users) {
  for (Operation *user : value.getUsers()) {
    if (isa<vector::ExtractStridedSliceOp, vector::InsertStridedSliceOp,
            SliceOp>(user))
      appendUsers(user->getResult(0), users);
    else
      users.push_back(user);
  }
}

/// Whether `user` comes after `op` in an iteration of the loops around both.
static bool comesAfter(Operation *user, Operation *op) {
  for (; op; op = op->getParentOp())
    if (Operation *at = op->getBlock()->findAncestorOpInBlock(*user))
      return op->isBeforeInBlock(at);
  return false;
}

/// Checks the ops that use `a`, which `product` reads: between the product and
/// `waits`, one on each way, which return it, only products and waits may use
/// it, and after these no op may.
static LogicalResult checkTakers(Value a, Operation *product,
                                 ArrayRef<Operation *> waits,
                                 ArrayRef<Operation *> takers) {
  auto loop = product->getParentOfType<LoopLikeOpInterface>();
  if (loop && loop.isDefinedOutsideOfLoop(a))
    return product->emitError()
           << "Y1: reads A from registers that are the same in each iteration, "
              "and are copied while they are read: expected the loop "
              "to carry the result of the wait for this product";
  for (Operation *taker : takers) {
    bool isTogether = begins(taker) || isa<WgmmaWaitOp, WaitDotsOp>(taker);
    if (llvm::any_of(isTogether ? waits : ArrayRef(product),
                     [&](Operation *op) { return comesAfter(taker, op); }))
      return taker->emitError()
             << "Y1: uses registers that a product may still read: expected "
                "the result of the wait for the product";
  }
  return success();
}

/// Returns the waits for `product` among `takers`: the first one after it in
/// its block, or one in each branch of an op there; none if a way has none.
static SmallVector<Operation *> waitsFor(Operation *product,
                                         ArrayRef<Operation *> takers) {
  Operation *first = nullptr;
  SmallVector<Operation *> waits;
  for (Operation *taker : takers) {
    Operation *at = product->getBlock()->findAncestorOpInBlock(*taker);
    if (!isa<WgmmaWaitOp, WaitDotsOp>(taker) || !at ||
        !product->isBeforeInBlock(at))
      continue;
    if (!first || at->isBeforeInBlock(first)) {
      first = at;
      waits.clear();
    }
    if (at == first)
      waits.push_back(taker);
  }
  auto waitsIn = [&](Region &way) {
    return llvm::any_of(waits, [&](Operation *wait) {
      return way.isAncestor(wait->getParentRegion());
    });
  };
  if (first && !llvm::all_of(first->getRegions(), waitsIn))
    waits.clear();
  return waits;
}

/// Checks that the wait for a product also returns A, and so keeps its
/// registers until the product has read them.
static LogicalResult checkFactor(Operation *product) {
  Value a = factorOf(product);
  if (!a)
    return success();
  SmallVector<Value> registers;
  appendRegisters(a, registers);
  for (Value value : registers) {
    SmallVector<Operation *> takers;
    appendUsers(value, takers);
    SmallVector<Operation *> waits = waitsFor(product, takers);
    if (waits.empty())
      return product->emitError()
             << "Y1: reads A from registers that no wait hands on: expected "
                "the wait for this product to name them, so that nothing is "
                "written there before";
    if (failed(checkTakers(value, product, waits, takers)))
      return failure();
  }
  return success();
}

LogicalResult tile::checkRegistersInFlight(gpu::GPUFuncOp func) {
  WalkResult result = func.walk([](Operation *op) -> WalkResult {
    if (!begins(op))
      return WalkResult::advance();
    return failure(failed(checkUses(op->getResult(0))) ||
                   failed(checkFactor(op)));
  });
  return failure(result.wasInterrupted());
}
