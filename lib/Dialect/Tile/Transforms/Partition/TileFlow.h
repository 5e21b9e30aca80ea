//===- TileFlow.h - Definitions of tiles across control flow ----*- C++ -*-===//
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
  /// Loops whose previous iteration, as seen from the user, defines the tile;
  /// and loops before the user whose last iteration does.
  llvm::SmallVector<mlir::scf::ForOp, 2> previous, last;

  mlir::Operation *op() const { return value.getDefiningOp(); }
  bool isOfThisIteration() const { return previous.empty() && last.empty(); }
};

/// Returns the tiles that may reach `value` through loops, branches and slices
/// of memory. A value that is no tile of an op, such as ub.poison, is omitted.
llvm::SmallVector<TileSource> sourcesOf(mlir::Value value);

/// Whether `op` is a slice of a tile in memory.
bool isMemorySlice(mlir::Operation *op);
/// Whether `value` is a tile in shared or tensor memory.
bool isInMemory(mlir::Value value);
/// Whether `op` is an op on tiles that a role executes: one of the tile
/// dialect, except views, channels, roles, and ops of all threads above the
/// roles.
bool isTileOp(mlir::Operation *op);

/// Whether the stages of `role` overlap in `loop`: it has ops of two stages,
/// and no loop inside of it has. A loop around one whose stages overlap keeps
/// its order.
bool overlapsStages(mlir::scf::ForOp loop, llvm::StringRef role);

/// Returns whether the slot of the result of `product` is free before `later`
/// run: they read tiles from tensor memory, none of which lies over it.
bool isFreeBefore(mlir::Operation *product,
                  llvm::ArrayRef<mlir::Operation *> later);

/// Returns the `tile.partition` of `op`; null if it has none.
PartitionAttr partitionOf(mlir::Operation *op);
void setPartition(mlir::Operation *op, PartitionAttr partition);
/// Returns the role of `op`, "" if it has none yet.
llvm::StringRef roleOf(mlir::Operation *op);
/// Returns whether a role other than that of `op` makes `tile`.
bool comesFromOtherRole(mlir::Operation *op, mlir::Value tile);

} // namespace fmha::tile

#endif // FMHA_LIB_DIALECT_TILE_TRANSFORMS_PARTITION_TILEFLOW_H
