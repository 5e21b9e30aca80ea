//===- LeaderOps.cpp - Ops that one thread of a warp executes -------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   tile.wait %free[%s]            %e = memref.load %pages[%n]
//   %e = memref.load %pages[%n]    scf.if %leader {
//   tile.arrive_expect_tx ...        tile.wait %free[%s]
//   tile.in_lanes 4 { ... }    ->    tile.arrive_expect_tx ...
//                                  }
//                                  tile.in_lanes 4 { ... }
//
// Numbers, loops and branches stay with all threads: they are the same for all.
//
//===----------------------------------------------------------------------===//

#include "Distribute.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;

bool tile::hasLanes(Region &region) {
  return region.walk([](InLanesOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

/// Whether all threads of the warp have to enter the regions of `op`, because
/// some op in them, or the number that it returns, is for all of them.
static bool isSharedControl(Operation *op) {
  return op->getNumRegions() &&
         (op->getNumResults() || llvm::any_of(op->getRegions(), hasLanes));
}

/// Whether each thread of the warp executes `op`: lists are not written, and
/// statements of the whole warp are converged.
static bool isForAll(Operation *op) {
  return isMemoryEffectFree(op) || isSharedControl(op) ||
         isa<InLanesOp, memref::LoadOp, UniformOp, RereadOp, ElectOp,
             SyncWarpOp>(op) ||
         op->hasTrait<OpTrait::IsTerminator>();
}

/// if (leader) { ops }, in place of the last of them.
static void guard(SmallVectorImpl<Operation *> &ops, Value leader) {
  if (ops.empty())
    return;
  ImplicitLocOpBuilder b(ops.back()->getLoc(), ops.back());
  auto branch = scf::IfOp::create(b, leader, /*withElseRegion=*/false);
  for (Operation *op : ops)
    op->moveBefore(branch.thenYield());
  ops.clear();
}

/// Passes the result of `op`, which only the leader executes, to all threads:
///   %n = scf.if %leader { op } else { 0 }; tile.broadcast %n from %leader
static LogicalResult shareResult(Operation *op, Value leader) {
  ImplicitLocOpBuilder b(op->getLoc(), op);
  if (op->getNumResults() != 1 ||
      !op->getResult(0).getType().isSignlessInteger(32))
    return op->emitOpError()
           << "expected one result of type i32, or none, of an op of one "
              "thread "
              "in a role that loads from pages; give it a role of its own";
  auto branch = scf::IfOp::create(b, b.getI32Type(), leader,
                                  /*withElseRegion=*/true);
  Value shared =
      BroadcastOp::create(b, b.getI32Type(), branch.getResult(0), leader);
  op->getResult(0).replaceAllUsesWith(shared);
  b.setInsertionPointToStart(branch.thenBlock());
  op->moveBefore(scf::YieldOp::create(b, op->getResult(0)));
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, ValueRange{constantI32(b, 0)});
  return success();
}

LogicalResult tile::leaveToLeader(Block &block, Value leader) {
  SmallVector<Operation *> own;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (isMemoryEffectFree(&op) || isa<memref::LoadOp>(op))
      continue;
    if (!isForAll(&op) && !op.getNumResults()) {
      own.push_back(&op);
      continue;
    }
    guard(own, leader);
    if (!isForAll(&op) && failed(shareResult(&op, leader)))
      return failure();
    if (isSharedControl(&op))
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          if (failed(leaveToLeader(inner, leader)))
            return failure();
  }
  guard(own, leader);
  return success();
}
