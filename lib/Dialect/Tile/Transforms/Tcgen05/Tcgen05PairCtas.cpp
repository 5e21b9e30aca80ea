//===- Tcgen05PairCtas.cpp - Share an MMA role between two CTAs -----------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   each CTA                    even CTA                   both CTAs
//     wait %full         ->       wait %full pair
//     mma ... pair                mma ... pair
//     commit %done                commit %done pair both
//     arrive %full                                           arrive %full pair
//
//===----------------------------------------------------------------------===//

#include "IssuingThread.h"
#include "fmha/Dialect/Tile/IR/Tile.h"
#include "fmha/Dialect/Tile/Transforms/Passes.h"
#include "fmha/Schedule/Model/CtaPair.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include "llvm/ADT/TypeSwitch.h"

namespace fmha::tile {
#define GEN_PASS_DEF_TILETCGEN05PAIRCTAS
#include "fmha/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fmha::tile

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;
using fmha::schedule::ctasOfPair;

namespace {

class Pairing {
public:
  explicit Pairing(gpu::GPUFuncOp func) : func(func) {}

  LogicalResult run() {
    if (failed(checkAlone()) || failed(findRole()))
      return failure();
    if (!role)
      return success();
    if (failed(checkRole()))
      return failure();
    WalkResult walked = func.walk([&](BarrierOp barrier) {
      return succeeded(share(barrier)) ? WalkResult::advance()
                                       : WalkResult::interrupt();
    });
    if (walked.wasInterrupted() || failed(checkSyncs()))
      return failure();
    shareMemory();
    syncCluster();
    leaveToEven();
    return success();
  }

private:
  LogicalResult checkAlone();
  LogicalResult findRole();
  LogicalResult checkRole();
  LogicalResult checkSignals(const BarrierUses &uses);
  LogicalResult share(BarrierOp barrier);
  LogicalResult checkSyncs();
  void shareMemory();
  void syncCluster();
  void leaveToEven();

  gpu::GPUFuncOp func;
  /// The branch of the thread that issues the products of the pair.
  scf::IfOp role;
};

/// Returns whether `op` acts on the barrier or the tensor memory of a pair.
bool isShared(Operation *op) {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<ArriveOp, ArriveExpectTxOp, TmaLoadOp, WaitOp, CommitOp,
            TmemAllocOp, TmemDeallocOp>([](auto one) { return one.getPair(); })
      .Default(false);
}

/// Refuses a kernel that is already shared by a pair: its barriers would count
/// four CTAs.
LogicalResult Pairing::checkAlone() {
  WalkResult walked = func.walk([&](Operation *op) -> WalkResult {
    if (!isShared(op))
      return WalkResult::advance();
    return op->emitOpError()
           << "expected `pair` on products alone, got it here; "
              "tile-tcgen05-pair-ctas has been run on this kernel already";
  });
  return failure(walked.wasInterrupted());
}

/// Finds the branch of the products with `pair`. All products of a kernel have
/// the same cta_group (PTX ISA, tcgen05).
LogicalResult Pairing::findRole() {
  SmallVector<MmaOp> alone;
  WalkResult walked = func.walk([&](MmaOp product) {
    if (!product.getPair()) {
      alone.push_back(product);
      return WalkResult::advance();
    }
    scf::IfOp branch = branchOfThread(product);
    if (branch && (!role || role == branch)) {
      role = branch;
      return WalkResult::advance();
    }
    product.emitOpError() << "expected the products of a pair of CTAs in one "
                             "branch of one elected thread, got "
                          << (branch ? "a second branch" : "none");
    return WalkResult::interrupt();
  });
  if (walked.wasInterrupted())
    return failure();
  if (role && !alone.empty())
    return alone.front().emitOpError()
           << "expected `pair` on all products of a kernel or on none, got a "
              "product without `pair`";
  return success();
}

/// Returns whether the other CTA needs no `op` of its own: products, and what
/// orders them, are those of the pair, and what only computes or reads serves
/// them.
bool isOfPair(Operation *op) {
  if (isa<MmaOp, CommitOp, WaitOp, FenceOp>(op) || isComputation(op) ||
      op->hasTrait<OpTrait::HasRecursiveMemoryEffects>())
    return true;
  auto effects = getEffectsRecursively(op);
  return effects && llvm::all_of(*effects, [](auto &effect) {
           return isa<MemoryEffects::Read>(effect.getEffect());
         });
}

/// The branch and its election move into the even CTA, so that the odd one runs
/// none of its ops.
LogicalResult Pairing::checkRole() {
  if (role.getNumResults() || !role.getCondition().hasOneUse() ||
      !role.getElseRegion().empty())
    return role.emitOpError()
           << "expected the branch of the products of a pair of CTAs to have "
              "no results and no else region, and an election of its own";
  WalkResult walked =
      role.getThenRegion().walk([](Operation *op) -> WalkResult {
        if (isOfPair(op))
          return WalkResult::advance();
        return op->emitOpError()
               << "is in the branch of the products of a pair of CTAs, which "
                  "only the even CTA runs: expected tile.mma, tile.commit, "
                  "tile.wait, tile.fence and ops without effects";
      });
  return failure(walked.wasInterrupted());
}

/// Refuses signals that cannot reach the barrier of the even CTA.
LogicalResult Pairing::checkSignals(const BarrierUses &uses) {
  for (Operation *user : uses.others) {
    bool inRole = role->isProperAncestor(user);
    if (inRole || !isa<ArriveOp, ArriveExpectTxOp, TmaLoadOp>(user))
      return user->emitOpError()
             << "expected the barriers of a pair of CTAs to be signaled by "
                "tile.commit, or in other roles by tile.arrive, "
                "tile.arrive_expect_tx or tile.tma_load, got "
             << user->getName() << (inRole ? " in the MMA role" : "");
  }
  return success();
}

/// Sets `pair` on ops that act on the barrier of the even CTA.
void setPair(Operation *op) {
  llvm::TypeSwitch<Operation *>(op)
      .Case<ArriveOp, ArriveExpectTxOp, TmaLoadOp, WaitOp, CommitOp>(
          [](auto one) { one.setPair(true); });
}

LogicalResult Pairing::share(BarrierOp barrier) {
  BarrierUses uses = usesOf(barrier);
  if (failed(checkSignals(uses)))
    return failure();
  auto inRole = [&](WaitOp wait) { return role->isProperAncestor(wait); };
  bool othersWait = !llvm::all_of(uses.waits, inRole);
  for (CommitOp commit : uses.commits) {
    commit.setPair(true);
    commit.setBoth(othersWait);
  }
  if (llvm::none_of(uses.waits, inRole) || uses.others.empty())
    return success();
  if (othersWait || !uses.commits.empty())
    return barrier.emitOpError()
           << "expected only other roles to signal a barrier that the MMA role "
              "of a pair of CTAs waits for, and none of them to wait for it, "
              "got "
           << (othersWait ? "a wait in another role"
                          : "a tile.commit of the MMA role");
  barrier.setArrivals(barrier.getArrivals() * ctasOfPair);
  for (InitBarrierOp init : uses.inits)
    init.setArrivals(init.getArrivals() * ctasOfPair);
  for (WaitOp wait : uses.waits)
    setPair(wait);
  for (Operation *arrival : uses.others)
    setPair(arrival);
  return success();
}

/// Refuses a kernel in which a CTA could signal a barrier of the other one
/// before it is initialized, or after that CTA has exited: syncCluster()
/// replaces the barriers of all threads in the entry block alone.
LogicalResult Pairing::checkSyncs() {
  Block &entry = func.getBody().front();
  auto syncs = entry.getOps<SyncCtaOp>();
  WalkResult walked = func.walk([&](Operation *op) -> WalkResult {
    if (!isShared(op))
      return WalkResult::advance();
    Operation *outer = entry.findAncestorOpInBlock(*op);
    auto isBefore = [&](SyncCtaOp sync) {
      return sync->isBeforeInBlock(outer);
    };
    if (outer && llvm::any_of(syncs, isBefore) &&
        !llvm::all_of(syncs, isBefore))
      return WalkResult::advance();
    return op->emitOpError()
           << "signals or waits for the other CTA of a pair: expected a "
              "tile.sync_cta before and after it in the entry block of the "
              "kernel, got none "
           << (outer && llvm::any_of(syncs, isBefore) ? "after" : "before")
           << " it";
  });
  return failure(walked.wasInterrupted());
}

void Pairing::shareMemory() {
  func.walk([](TmemAllocOp alloc) { alloc.setPair(true); });
  func.walk([](TmemDeallocOp dealloc) { dealloc.setPair(true); });
}

/// Replaces the barriers of all threads of the CTA: after the first one all
/// barriers of the pair are initialized, and after the last one neither CTA
/// signals the other one any more.
void Pairing::syncCluster() {
  for (Operation &op : llvm::make_early_inc_range(func.getBody().front()))
    if (isa<SyncCtaOp>(op)) {
      OpBuilder b(&op);
      SyncClusterOp::create(b, op.getLoc());
      op.erase();
    }
}

/// Moves the role into a branch of the even CTA. The number of a CTA in its
/// cluster of two is its number in the grid modulo 2.
void Pairing::leaveToEven() {
  ImplicitLocOpBuilder b(role.getLoc(), role);
  Value number = arith::IndexCastOp::create(
      b, b.getI32Type(), gpu::BlockIdOp::create(b, gpu::Dimension::x));
  auto i32 = [&](int32_t value) -> Value {
    return arith::ConstantOp::create(b, b.getI32IntegerAttr(value));
  };
  Value rank = arith::AndIOp::create(b, number, i32(ctasOfPair - 1));
  Value isEven =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, rank, i32(0));
  auto branch = scf::IfOp::create(b, isEven, /*withElseRegion=*/false);
  Operation *elect = role.getCondition().getDefiningOp();
  role->moveBefore(branch.thenBlock()->getTerminator());
  elect->moveBefore(role);
}

struct TileTcgen05PairCtasPass
    : public fmha::tile::impl::TileTcgen05PairCtasBase<
          TileTcgen05PairCtasPass> {
  void runOnOperation() override {
    if (failed(Pairing(getOperation()).run()))
      signalPassFailure();
  }
};

} // namespace
