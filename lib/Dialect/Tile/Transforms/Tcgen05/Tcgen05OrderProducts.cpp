//===- Tcgen05OrderProducts.cpp - Order the products of one thread --------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   mma %o, %p, %v                     mma %o, %p, %v
//   commit %done                       commit %done
//   commit %p_free             ->      wait %done        // mma_order = commit
//   wait %p_free                       mma %s, %q, %k
//   mma %s, %q, %k
//
// If only commits of one thread complete a barrier, a wait of that thread for
// it orders its own products. With mma_order = issue the pass drops such waits
// before products, since the tensor core executes products in the order of
// issue. With mma_order = commit, if no other thread waits for the barrier, the
// waits use another barrier that the same commits complete, if there is one.
// Commits to barriers for which no thread waits are dropped.
//
//===----------------------------------------------------------------------===//

#include "IssuingThread.h"
#include "fmha/Dialect/FMHA/Attributes/FMHAAttrs.h"
#include "fmha/Dialect/Tile/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/MapVector.h"

namespace fmha::tile {
#define GEN_PASS_DEF_TILETCGEN05ORDERPRODUCTS
#include "fmha/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fmha::tile

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;

namespace {

/// Returns whether threads or TMA arrive at a barrier, too.
bool hasOtherSignals(const BarrierUses &uses) {
  return !llvm::all_of(uses.others, llvm::IsaPred<InvalBarrierOp>);
}

/// Returns the branch of the thread whose commits are the only signals at a
/// barrier, or null.
scf::IfOp onlyCommitter(const BarrierUses &uses) {
  if (hasOtherSignals(uses) || uses.commits.empty())
    return nullptr;
  scf::IfOp thread = branchOfThread(uses.commits.front());
  bool isAlone = llvm::all_of(uses.commits, [&](CommitOp commit) {
    return branchOfThread(commit) == thread;
  });
  return isAlone ? thread : nullptr;
}

/// Returns the op with effects that comes before `op` in its block, or null.
Operation *previousEffect(Operation *op) {
  do
    op = op->getPrevNode();
  while (op && isComputation(op));
  return op;
}

/// Returns the op with effects that comes after `op` in its block, or null.
Operation *nextEffect(Operation *op) {
  do
    op = op->getNextNode();
  while (op && isComputation(op));
  return op;
}

/// Returns whether the next op that `wait` orders is a product.
bool ordersProduct(WaitOp wait) {
  Operation *next = nextEffect(wait);
  while (isa_and_nonnull<WaitOp, FenceOp>(next))
    next = nextEffect(next);
  return isa_and_nonnull<MmaOp>(next);
}

/// Returns whether `a` runs before every execution of `b`, and in no loop that
/// contains `b`.
bool isAlwaysBefore(Operation *a, Operation *b) {
  Block *block = a->getBlock();
  Operation *around = block->findAncestorOpInBlock(*b);
  while (!around && block->getParentOp()) {
    a = block->getParentOp();
    block = a->getBlock();
    around = block ? block->findAncestorOpInBlock(*b) : nullptr;
  }
  return around && a->isBeforeInBlock(around) &&
         !a->getParentOfType<LoopLikeOpInterface>();
}

/// Returns the commit to `barrier` that covers the same products as `commit`,
/// or none.
CommitOp twinOf(CommitOp commit, Value barrier) {
  for (bool forward : {false, true}) {
    Operation *op = commit;
    while (op && isa<CommitOp>(op)) {
      if (cast<CommitOp>(op).getBarrier() == barrier)
        return cast<CommitOp>(op);
      op = forward ? nextEffect(op) : previousEffect(op);
    }
  }
  return nullptr;
}

/// Reduces the waits and commits that order the products of a kernel.
class ProductOrder {
public:
  /// Takes the barriers in a fixed place that only one op names.
  explicit ProductOrder(gpu::GPUFuncOp func);
  /// Drops waits of a thread for its own products before it issues others.
  void dropWaits();
  /// Makes waits use another barrier that the same commits complete.
  void shareBarriers();
  /// Drops commits to barriers for which no thread waits.
  void dropCommits();

private:
  BarrierOp barrierLike(BarrierOp own, const BarrierUses &uses);

  SmallVector<BarrierOp> barriers;
};

ProductOrder::ProductOrder(gpu::GPUFuncOp func) {
  llvm::MapVector<unsigned, SmallVector<BarrierOp>> byOffset;
  func.walk([&](BarrierOp op) { byOffset[op.getOffset()].push_back(op); });
  for (auto &[offset, ops] : byOffset)
    if (ops.size() == 1 && !ops.front().getDistance())
      barriers.push_back(ops.front());
}

/// Returns whether `thread` does nothing but issue products: all that it waits
/// for orders products.
bool onlyIssues(scf::IfOp thread) {
  WalkResult walked = thread.getThenRegion().walk([](Operation *op) {
    bool fits = isa<MmaOp, CommitOp, WaitOp, FenceOp>(op) ||
                op->getNumRegions() || isComputation(op);
    return fits ? WalkResult::advance() : WalkResult::interrupt();
  });
  return !walked.wasInterrupted();
}

/// Returns whether only the thread that commits waits.
bool isOfOneThread(const BarrierUses &uses) {
  scf::IfOp thread = onlyCommitter(uses);
  return thread && llvm::all_of(uses.waits, [&](WaitOp wait) {
           return branchOfThread(wait) == thread;
         });
}

/// wait %kv; wait %p_free; fence; mma  ->  wait %kv; fence; mma
/// commit;   wait %p_free; fence; mma  ->  commit; mma
void dropWait(WaitOp wait) {
  Operation *before = previousEffect(wait);
  auto fence = dyn_cast_or_null<FenceOp>(nextEffect(wait));
  if (fence && fence.getKind() == FenceKind::Tcgen05After &&
      isa_and_nonnull<MmaOp, CommitOp>(before))
    fence.erase();
  wait.erase();
}

void ProductOrder::dropWaits() {
  for (BarrierOp barrier : barriers) {
    BarrierUses uses = usesOf(barrier);
    scf::IfOp thread = onlyCommitter(uses);
    if (!thread || barrier.getArrivals() != 1 || !onlyIssues(thread))
      continue;
    for (WaitOp wait : uses.waits)
      if (branchOfThread(wait) == thread && ordersProduct(wait))
        dropWait(wait);
  }
}

/// Returns a barrier whose n-th phase ends with the n-th phase of `own`, for
/// all phases of `own`, or none. It may have further phases
/// after those.
BarrierOp ProductOrder::barrierLike(BarrierOp own, const BarrierUses &uses) {
  auto isLike = [&](BarrierOp other) {
    BarrierUses others = usesOf(other);
    if (other == own || other.getType() != own.getType() ||
        other.getArrivals() != own.getArrivals() ||
        onlyCommitter(others) != onlyCommitter(uses))
      return false;
    llvm::DenseSet<Operation *> twins;
    for (CommitOp commit : uses.commits)
      twins.insert(twinOf(commit, other.getResult()));
    if (twins.contains(nullptr) || twins.size() != uses.commits.size())
      return false;
    return llvm::all_of(others.commits, [&](CommitOp commit) {
      auto isBefore = [&](Operation *op) { return isAlwaysBefore(op, commit); };
      return twins.contains(commit) || (llvm::all_of(uses.commits, isBefore) &&
                                        llvm::all_of(uses.waits, isBefore));
    });
  };
  BarrierOp *found = llvm::find_if(barriers, isLike);
  return found == barriers.end() ? BarrierOp() : *found;
}

void ProductOrder::shareBarriers() {
  for (BarrierOp barrier : barriers) {
    BarrierUses uses = usesOf(barrier);
    if (barrier.getType().getCount() != 1 || uses.waits.empty() ||
        !isOfOneThread(uses))
      continue;
    if (BarrierOp other = barrierLike(barrier, uses))
      for (WaitOp wait : uses.waits)
        wait.getBarrierMutable().assign(other.getResult());
  }
}

void ProductOrder::dropCommits() {
  for (BarrierOp barrier : barriers) {
    BarrierUses uses = usesOf(barrier);
    if (uses.waits.empty() && !hasOtherSignals(uses))
      for (CommitOp commit : uses.commits)
        commit.erase();
  }
}

struct TileTcgen05OrderProductsPass
    : public fmha::tile::impl::TileTcgen05OrderProductsBase<
          TileTcgen05OrderProductsPass> {
  void runOnOperation() override {
    gpu::GPUFuncOp func = getOperation();
    auto plan = func->getAttrOfType<ScheduleAttr>("fmha.schedule");
    ProductOrder order(func);
    if (plan && plan.getValue().mmaOrder == schedule::MmaOrder::Issue)
      order.dropWaits();
    else
      order.shareBarriers();
    order.dropCommits();
  }
};

} // namespace
