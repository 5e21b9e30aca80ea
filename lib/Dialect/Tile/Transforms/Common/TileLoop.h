//===- TileLoop.h - Loops over the output tiles of a CTA --------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_TILE_TRANSFORMS_COMMON_TILELOOP_H
#define FMHA_LIB_DIALECT_TILE_TRANSFORMS_COMMON_TILELOOP_H

#include "PartitionFamily.h"
#include "TileNumbers.h"
#include "fmha/Dialect/Tile/IR/Tile.h"
#include "fmha/Kernel/KernelInfo.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fmha::tile {

/// Emits a barrier of the CTA, with a fence before and after it if the kernel
/// has tensor memory.
void syncAround(mlir::ImplicitLocOpBuilder &b, const KernelInfo &info);

/// Makes every role a loop over the tiles of its CTA, if the scheduler gives a
/// CTA several tiles.
class TileLoop {
public:
  TileLoop(mlir::ImplicitLocOpBuilder &b, const KernelInfo &info)
      : b(b), info(info) {}

  /// Whether a CTA computes several tiles, and roles have no loops over tiles
  /// yet (tile-loop-tiles makes those that run ahead).
  bool isNeeded() const {
    return info.schedule.scheduler != schedule::Scheduler::Single &&
           !runsAhead(info);
  }
  /// Reads `entry`, the block of the roles, and emits the ops that the loops
  /// need before the initialization of barriers.
  void prepare(mlir::Block &entry);
  /// Emits the loop of `role` around the ops that `body` builds. `leader` is
  /// the condition of the thread that executes the role, null if all threads
  /// do.
  void build(RoleOp role, mlir::Value leader, llvm::function_ref<void()> body);
  /// Erases the ops whose results no loop uses any more.
  void finish() { ofTile.eraseDead(); }

  /// Whether `role` chooses the next tile and reinitializes barriers.
  static bool isKeeper(RoleOp role) { return role.getName() == "load"; }

private:
  void askForTile();
  mlir::Value chooseNext(mlir::Value tile);
  void renewBarriers();
  mlir::Value handOver(mlir::Value tile, mlir::Value keeper);
  void ifThen(mlir::Value condition, llvm::function_ref<void()> body);
  bool isDynamic() const {
    return info.schedule.scheduler == schedule::Scheduler::Dynamic;
  }
  unsigned place(unsigned offset) const {
    return info.map.findSmem("next_tile")->offset + offset;
  }

  mlir::ImplicitLocOpBuilder &b;
  const KernelInfo &info;
  /// The first tile, and the values above the roles that depend on it.
  mlir::Value first;
  TileNumbers ofTile;
  mlir::SmallVector<BarrierOp> barriers;
  /// Signals the response to a request for a tile; null where none is made.
  mlir::Value answered;
};

} // namespace fmha::tile

#endif // FMHA_LIB_DIALECT_TILE_TRANSFORMS_COMMON_TILELOOP_H
