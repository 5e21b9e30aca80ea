//===- GuardLoops.cpp - Guard loops by branches ---------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Common/PartitionFamily.h"
#include "Loops.h"
#include "TileFlow.h"
#include "fmha/Dialect/Tile/Transforms/Passes.h"
#include "fmha/Kernel/KernelInfo.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace fmha::tile {
#define GEN_PASS_DEF_TILEGUARDLOOPS
#include "fmha/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fmha::tile

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;

/// Whether `op` is a load that only the body of `loop` uses, so that it may
/// move into the branch.
static bool isOnlyFor(Operation &op, scf::ForOp loop) {
  return isa<LoadOp>(op) && llvm::all_of(op.getUsers(), [&](Operation *user) {
           return loop->isProperAncestor(user);
         });
}

/// %r = scf.for %i = %lb to %ub step %c1 iter_args(%x = %init) { ... }
/// ->
/// %r = scf.if %has { %s = scf.for ...; yield %s } else { yield %init }
static void guard(scf::ForOp loop, ArrayRef<Operation *> loads) {
  OpBuilder b(loop);
  Location loc = loop.getLoc();
  auto branch = scf::IfOp::create(b, loc, loop.getResultTypes(),
                                  hasIterations(loop), /*withElse=*/true);
  loop->replaceAllUsesWith(branch.getResults());
  OpBuilder then = branch.getThenBodyBuilder();
  OpBuilder otherwise = branch.getElseBodyBuilder();
  if (loop.getNumResults()) {
    then.setInsertionPoint(scf::YieldOp::create(then, loc, loop.getResults()));
    scf::YieldOp::create(otherwise, loc, loop.getInitArgs());
  }
  for (Operation *op : loads)
    op->moveBefore(then.getInsertionBlock(), then.getInsertionPoint());
  loop->moveBefore(then.getInsertionBlock(), then.getInsertionPoint());
}

namespace {
struct TileGuardLoopsPass
    : public fmha::tile::impl::TileGuardLoopsBase<TileGuardLoopsPass> {
  void runOnOperation() override {
    if (!isTiledKernel(getOperation()))
      return;
    FailureOr<bool> runsAhead = readRunsAhead(getOperation());
    if (failed(runsAhead))
      return signalPassFailure();
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) {
      bool hasTiles = loop->walk([](Operation *op) {
                            return isTileOp(op) ? WalkResult::interrupt()
                                                : WalkResult::advance();
                          })
                          .wasInterrupted();
      if (hasTiles && !alwaysRuns(loop) && !isGuarded(loop))
        loops.push_back(loop);
    });
    for (scf::ForOp loop : loops)
      guard(loop, loadsOf(loop, *runsAhead));
  }

private:
  /// Returns the loads that move into the branch: none if the numbers of
  /// messages continue from one output tile to the next, because then all
  /// messages are sent.
  static SmallVector<Operation *> loadsOf(scf::ForOp loop, bool runsAhead) {
    SmallVector<Operation *> loads;
    if (runsAhead)
      return loads;
    for (Operation &op : *loop->getBlock())
      if (isOnlyFor(op, loop))
        loads.push_back(&op);
    return loads;
  }
};
} // namespace
