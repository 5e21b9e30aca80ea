//===- IssuingThread.h - Ops of a thread that issues products ---*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_TILE_TRANSFORMS_TCGEN05_ISSUINGTHREAD_H
#define FMHA_LIB_DIALECT_TILE_TRANSFORMS_TCGEN05_ISSUINGTHREAD_H

#include "fmha/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace fmha::tile {

/// Returns whether `op` only computes. Descriptors do, although MLIR treats
/// them as having effects so that CSE does not merge them.
inline bool isComputation(mlir::Operation *op) {
  return mlir::isa<DescriptorOp>(op) || mlir::isMemoryEffectFree(op);
}

/// Returns whether one elected thread takes `branch`.
inline bool isOfOneThread(mlir::scf::IfOp branch) {
  return bool(branch.getCondition().getDefiningOp<ElectOp>());
}

/// Returns the branch that one elected thread takes and that contains `op`, or
/// none. All other threads run the else region.
inline mlir::scf::IfOp branchOfThread(mlir::Operation *op) {
  auto branch = op->getParentOfType<mlir::scf::IfOp>();
  while (branch && !(isOfOneThread(branch) &&
                     branch.getThenRegion().isAncestor(op->getParentRegion())))
    branch = branch->getParentOfType<mlir::scf::IfOp>();
  return branch;
}

/// The ops that use a barrier.
struct BarrierUses {
  llvm::SmallVector<InitBarrierOp> inits;
  llvm::SmallVector<WaitOp> waits;
  llvm::SmallVector<CommitOp> commits;
  /// Arrivals of threads and copies, and whatever else signals it.
  llvm::SmallVector<mlir::Operation *> others;
};

/// Returns the ops that use `barrier`, by kind.
inline BarrierUses usesOf(BarrierOp barrier) {
  BarrierUses uses;
  for (mlir::Operation *user : barrier->getUsers()) {
    if (auto init = mlir::dyn_cast<InitBarrierOp>(user))
      uses.inits.push_back(init);
    else if (auto wait = mlir::dyn_cast<WaitOp>(user))
      uses.waits.push_back(wait);
    else if (auto commit = mlir::dyn_cast<CommitOp>(user))
      uses.commits.push_back(commit);
    else
      uses.others.push_back(user);
  }
  return uses;
}

} // namespace fmha::tile

#endif // FMHA_LIB_DIALECT_TILE_TRANSFORMS_TCGEN05_ISSUINGTHREAD_H
