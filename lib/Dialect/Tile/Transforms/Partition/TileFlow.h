//===- TileFlow.h - Which op makes a tile that another one uses -*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_TILE_TRANSFORMS_PARTITION_TILEFLOW_H
#define FMHA_LIB_DIALECT_TILE_TRANSFORMS_PARTITION_TILEFLOW_H

#include "fmha/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace fmha::tile {

/// A result of an op of the tile dialect that may reach a use.
struct TileSource {
  mlir::Value value;
  /// Loops whose iteration before the user's, or whose last iteration if the
  /// user stands after the loop, made it.
  llvm::SmallVector<mlir::scf::ForOp, 2> previous, last;

  mlir::Operation *op() const { return value.getDefiningOp(); }
  bool isOfThisIteration() const { return previous.empty() && last.empty(); }
};

/// Returns the tiles that may reach `value` through loops, branches and slices
/// of memory; a value without any, as ub.poison, is left out.
llvm::SmallVector<TileSource> sourcesOf(mlir::Value value);

/// Whether `op` takes a part of a tile in memory, where it is.
bool isMemorySlice(mlir::Operation *op);
/// Whether `value` is a tile in shared or tensor memory.
bool isInMemory(mlir::Value value);
/// Whether `op` works on tiles: one of the tile dialect that is no view,
/// channel or role.
bool isTileOp(mlir::Operation *op);

/// Whether the stages of `role` overlap in `loop`: its ops are of two stages,
/// and those in no loop inside of it. A loop around one whose stages overlap
/// runs as it is written.
bool overlapsStages(mlir::scf::ForOp loop, llvm::StringRef role);
/// Whether they do in the loop around `op`, of its role, so that `order`
/// counts.
bool isInRotatedLoop(mlir::Operation *op);

/// The `tile.partition` of `op`; null if it has none.
PartitionAttr partitionOf(mlir::Operation *op);
void setPartition(mlir::Operation *op, PartitionAttr partition);

} // namespace fmha::tile

#endif // FMHA_LIB_DIALECT_TILE_TRANSFORMS_PARTITION_TILEFLOW_H
