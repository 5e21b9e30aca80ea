//===- TileFlow.cpp - Definitions of tiles across control flow ------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileFlow.h"

#include "TileExtent.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fmha::tile;

namespace {

class SourceFinder {
public:
  void visit(Value value, TileSource path);
  SmallVector<TileSource> found;

private:
  void visitResult(OpResult result, TileSource path);
  void visitLoop(scf::ForOp loop, unsigned number, TileSource path,
                 SmallVector<scf::ForOp, 2> TileSource::*when);
  llvm::DenseSet<Value> visited;
};

void SourceFinder::visitLoop(scf::ForOp loop, unsigned number, TileSource path,
                             SmallVector<scf::ForOp, 2> TileSource::*when) {
  visit(loop.getInitArgs()[number], path);
  (path.*when).push_back(loop);
  visit(loop.getYieldedValues()[number], path);
}

void SourceFinder::visitResult(OpResult result, TileSource path) {
  unsigned number = result.getResultNumber();
  llvm::TypeSwitch<Operation *>(result.getOwner())
      .Case([&](scf::ForOp loop) {
        visitLoop(loop, number, path, &TileSource::last);
      })
      .Case([&](scf::IfOp branch) {
        visit(branch.thenYield().getOperand(number), path);
        visit(branch.elseYield().getOperand(number), path);
      })
      .Default([&](Operation *op) {
        if (isMemorySlice(op))
          return visit(op->getOperand(0), path);
        if (!isTileOp(op))
          return;
        path.value = result;
        found.push_back(std::move(path));
      });
}

void SourceFinder::visit(Value value, TileSource path) {
  if (!visited.insert(value).second)
    return;
  if (auto result = dyn_cast<OpResult>(value))
    return visitResult(result, std::move(path));
  auto argument = cast<BlockArgument>(value);
  if (auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp()))
    visitLoop(loop, argument.getArgNumber() - loop.getNumInductionVars(),
              std::move(path), &TileSource::previous);
}

} // namespace

SmallVector<TileSource> fmha::tile::sourcesOf(Value value) {
  SourceFinder finder;
  finder.visit(value, {});
  return std::move(finder.found);
}

bool fmha::tile::isInMemory(Value value) {
  auto type = dyn_cast<TileType>(value.getType());
  return type && (type.getSmem() || type.getTmem());
}

bool fmha::tile::isMemorySlice(Operation *op) {
  return isa<SliceOp>(op) && isInMemory(op->getOperand(0));
}

bool fmha::tile::isTileOp(Operation *op) {
  return isa_and_nonnull<TileDialect>(op->getDialect()) &&
         !isa<ViewOp, ChannelOp, WarpSpecializeOp, RoleOp, tile::YieldOp,
              ListLengthOp, ListEntryOp, FindSlotOp, AppendRowsOp,
              LoadRotatedOp, TileCountOp, SplitTripsOp>(op);
}

PartitionAttr fmha::tile::partitionOf(Operation *op) {
  return op->getAttrOfType<PartitionAttr>("tile.partition");
}

void fmha::tile::setPartition(Operation *op, PartitionAttr partition) {
  op->setAttr("tile.partition", partition);
}

StringRef fmha::tile::roleOf(Operation *op) {
  PartitionAttr partition = partitionOf(op);
  return partition ? partition.getRole() : "";
}

bool fmha::tile::comesFromOtherRole(Operation *op, Value tile) {
  return llvm::any_of(sourcesOf(tile), [&](const TileSource &source) {
    return roleOf(source.op()) != roleOf(op);
  });
}

/// Returns a mask in which bit s is set if `op` is or contains an op of `role`
/// and stage s.
static unsigned stagesOf(Operation *op, StringRef role) {
  unsigned stages = 0;
  op->walk([&](Operation *inner) {
    PartitionAttr partition = partitionOf(inner);
    if (partition && partition.getRole() == role)
      stages |= 1 << partition.getStage();
  });
  return stages;
}

bool fmha::tile::overlapsStages(scf::ForOp loop, StringRef role) {
  WalkResult walked = loop.getBody()->walk([&](scf::ForOp inner) {
    return stagesOf(inner, role) == 3 ? WalkResult::interrupt()
                                      : WalkResult::advance();
  });
  return !walked.wasInterrupted() && stagesOf(loop, role) == 3;
}

bool fmha::tile::isFreeBefore(Operation *product, ArrayRef<Operation *> later) {
  auto result = cast<TileType>(product->getResult(0).getType());
  auto readOf = [](Operation *op) {
    return cast<TileType>(cast<DotOp>(op).getA().getType());
  };
  return result.getTmem() && !later.empty() &&
         llvm::all_of(later, [&](Operation *op) {
           return readOf(op).getTmem() &&
                  !TileExtent::of(result).overlaps(TileExtent::of(readOf(op)));
         });
}
