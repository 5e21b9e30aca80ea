//===- Tcgen05WidenRoles.cpp - Run the MMA role in a whole warp -----------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   if (elected) {             wait %full
//     wait %full               %d = descriptor
//     %d = descriptor     ->   if (elected) { mma %d; commit }
//     mma %d
//     commit
//   }
//
// ptxas knows that the branches of a role of a whole warp are uniform, so it
// keeps stages and descriptors in uniform registers, from which tcgen05.mma
// reads them, and computes them before the wait.
//
//===----------------------------------------------------------------------===//

#include "IssuingThread.h"
#include "fmha/Dialect/Tile/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace fmha::tile {
#define GEN_PASS_DEF_TILETCGEN05WIDENROLES
#include "fmha/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fmha::tile

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;

namespace {

/// Returns whether all threads of a warp may execute `op` instead of one:
/// waits, fences and computations.
bool isForAll(Operation *op) {
  return isa<WaitOp, FenceOp>(op) || isComputation(op);
}

/// Moves what one thread issues into branches on `leader`. Ops without effects
/// between issues move before the branch. A branch ends after its
/// commits, so that the operands of later ops are computed after it.
class Widener {
public:
  explicit Widener(Value leader) : leader(leader) {}

  void widen(Block &block) {
    guard = nullptr;
    for (Operation &op : llvm::make_early_inc_range(block.without_terminator()))
      widen(op);
    guard = nullptr;
  }

private:
  void widen(Operation &op) {
    if (op.getNumRegions()) {
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          widen(inner);
    } else if (isComputation(&op)) {
      if (endsWithCommit)
        guard = nullptr;
      if (guard)
        op.moveBefore(guard);
    } else if (isForAll(&op)) {
      guard = nullptr;
    } else {
      issue(op);
    }
  }

  void issue(Operation &op) {
    bool isCommit = isa<CommitOp>(op);
    if (!guard || (endsWithCommit && !isCommit)) {
      OpBuilder b(&op);
      guard = scf::IfOp::create(b, op.getLoc(), leader,
                                /*withElseRegion=*/false);
    }
    op.moveBefore(guard.thenBlock()->getTerminator());
    endsWithCommit = isCommit;
  }

  Value leader;
  /// The branch that the next op to issue continues, or none.
  scf::IfOp guard;
  bool endsWithCommit = false;
};

/// Returns the number of uniform registers of the operands of `op`: two of a
/// descriptor, one of an address in tensor memory.
unsigned uniformRegistersOf(MmaOp op) {
  unsigned count = 0;
  for (Value operand : {Value(op.getA()), Value(op.getB())})
    count += isa<IntegerType>(operand.getType()) ? 2 : 1;
  return count;
}

/// Returns the most uniform registers that the products between two waits or
/// commits need if all operands are computed before the first product.
unsigned mostUniformRegisters(Region &region) {
  unsigned most = 0;
  for (Block &block : region) {
    unsigned count = 0;
    for (Operation &op : block) {
      if (auto mma = dyn_cast<MmaOp>(op))
        count += uniformRegistersOf(mma);
      else if (isa<WaitOp, CommitOp>(op) || op.getNumRegions())
        count = 0;
      most = std::max(most, count);
      for (Region &inner : op.getRegions())
        most = std::max(most, mostUniformRegisters(inner));
    }
  }
  return most;
}

/// Returns whether the body of `branch` issues MMAs whose operands between two
/// waits or commits fit in 40 of the 63 uniform registers; the role needs the
/// others for addresses and stages. With more operands, ptxas 13.0 spills
/// values that other roles use, too. Returns false if an op other than a loop
/// or branch has both effects and results, since the other threads would lack
/// the results.
bool canWiden(scf::IfOp branch) {
  constexpr unsigned mostOperands = 40;
  if (mostUniformRegisters(branch.getThenRegion()) > mostOperands)
    return false;
  bool issues = false;
  WalkResult walked = branch.getThenRegion().walk([&](Operation *op) {
    issues |= isa<MmaOp>(op);
    bool isControl = isa<scf::ForOp, scf::IfOp, scf::WhileOp, scf::YieldOp,
                         scf::ConditionOp>(op);
    return isControl || isForAll(op) || op->getNumResults() == 0
               ? WalkResult::advance()
               : WalkResult::interrupt();
  });
  return issues && !walked.wasInterrupted();
}

struct TileTcgen05WidenRolesPass
    : public fmha::tile::impl::TileTcgen05WidenRolesBase<
          TileTcgen05WidenRolesPass> {
  void runOnOperation() override {
    SmallVector<scf::IfOp> branches;
    getOperation()->walk([&](scf::IfOp branch) {
      if (isOfOneThread(branch) && branch.getElseRegion().empty() &&
          canWiden(branch))
        branches.push_back(branch);
    });
    for (scf::IfOp branch : branches) {
      Widener(branch.getCondition()).widen(*branch.thenBlock());
      IRRewriter rewriter(branch);
      branch.thenBlock()->getTerminator()->erase();
      rewriter.inlineBlockBefore(branch.thenBlock(), branch);
      branch.erase();
    }
  }
};

} // namespace
