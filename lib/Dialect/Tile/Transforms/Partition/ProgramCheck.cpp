//===- ProgramCheck.cpp - Programs that roles can share -------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramCheck.h"

#include "TileFlow.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace fmha::tile;

/// Returns whether `op` is or contains an op on tiles.
static bool holdsTiles(Operation &op) {
  return op
      .walk([](Operation *inner) {
        return isTileOp(inner) ? WalkResult::interrupt()
                               : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Returns whether all threads of a CTA run the op before the roles start.
static bool isAboveRoles(Operation *op) {
  return isa<AppendRowsOp, LoadRotatedOp>(op);
}

/// Returns whether an op before `op` in its block works on tiles.
static bool followsTileOps(Operation *op) {
  return llvm::any_of(
      llvm::make_range(op->getBlock()->begin(), op->getIterator()), holdsTiles);
}

LogicalResult fmha::tile::checkProgram(gpu::GPUFuncOp func) {
  WalkResult walked = func.walk([&](Operation *op) -> WalkResult {
    if (isTileOp(op) &&
        !llvm::all_of(op->getResultTypes(), llvm::IsaPred<TileType>))
      return op->emitOpError()
             << "expected tiles as results before tile-insert-channels, got "
             << op->getResultTypes()
             << ": this op belongs to a level below the roles; remove it, or "
                "run the passes from tile-lower-channels on";
    if (isAboveRoles(op) && followsTileOps(op))
      return op->emitOpError()
             << "expected the op before all ops on tiles, since the threads of "
                "the CTA run it before the roles start, got it after one; move "
                "it up";
    if (isTileOp(op)) {
      Operation *around = op->getParentOp();
      while (isa<scf::ForOp, scf::IfOp>(around))
        around = around->getParentOp();
      if (around == func)
        return WalkResult::advance();
      return op->emitOpError() << "expected only scf.for and scf.if around ops "
                                  "on tiles, got "
                               << around->getName();
    }
    auto isOther = [](Type type) { return !isa<TileType>(type); };
    bool isControl = isa<scf::ForOp, scf::IfOp>(op) && holdsTiles(*op);
    auto loop = dyn_cast<scf::ForOp>(op);
    if (isControl && (llvm::any_of(op->getResultTypes(), isOther) ||
                      (loop && !loop.getInductionVar().getType().isIndex())))
      return op->emitOpError()
             << "expected an index as induction variable, and only tiles as "
                "results, of an scf.for or scf.if around ops on tiles";
    auto id = dyn_cast<gpu::BlockIdOp>(op);
    if (id && id.getDimension() != gpu::Dimension::x)
      return op->emitOpError() << "expected a grid of one dimension, x";
    if (isa<gpu::ThreadIdOp, gpu::LaneIdOp, gpu::SubgroupIdOp>(op))
      return op->emitOpError() << "expected no value that differs between the "
                                  "threads of a CTA: roles have threads of "
                                  "their own";
    bool isPlain = !op->getNumRegions() && op != func &&
                   !op->hasTrait<OpTrait::IsTerminator>() &&
                   !isa_and_nonnull<TileDialect>(op->getDialect());
    if (isPlain && !isMemoryEffectFree(op) &&
        !hasSingleEffect<MemoryEffects::Read>(op))
      return op->emitOpError() << "expected no effects except those of ops on "
                                  "tiles: no role would have them";
    return WalkResult::advance();
  });
  return failure(walked.wasInterrupted());
}
