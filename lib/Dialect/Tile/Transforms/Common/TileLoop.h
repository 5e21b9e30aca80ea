//===- TileLoop.h - The output tiles that a CTA does ------------*- C++ -*-===//
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

/// A barrier of the CTA, with the fences that stand around it where there is
/// tensor memory.
void syncAround(mlir::ImplicitLocOpBuilder &b, const KernelInfo &info);

/// Makes every role a loop over the tiles of its CTA, where the scheduler gives
/// a CTA several.
class TileLoop {
public:
  TileLoop(mlir::ImplicitLocOpBuilder &b, const KernelInfo &info)
      : b(b), info(info) {}

  /// Whether a CTA does more than the tile of its number, and roles have no
  /// loops over tiles yet (WgmmaLoopTiles.cpp makes some).
  bool isNeeded() const {
    return info.schedule.scheduler != schedule::Scheduler::Single &&
           !partitionFamilyOf(info.schedule).keepsBarriers;
  }
  /// Reads `entry`, above the roles, and makes there what the loops need: ahead
  /// of all barriers' initialisation.
  void prepare(mlir::Block &entry);
  /// The loop of `role`, where `b` stands, around what `body` builds. `leader`
  /// is the thread that issues, null where all threads do the role's work.
  void build(RoleOp role, mlir::Value leader, llvm::function_ref<void()> body);
  /// Erases what no loop is left to use.
  void finish() { ofTile.eraseDead(); }

  /// The role that says which tile is next, and makes barriers anew.
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
  /// The first tile, and what above the roles follows from it.
  mlir::Value first;
  TileNumbers ofTile;
  mlir::SmallVector<BarrierOp> barriers;
  /// Signals the response to a request for a tile; null where none is made.
  mlir::Value answered;
};

} // namespace fmha::tile

#endif // FMHA_LIB_DIALECT_TILE_TRANSFORMS_COMMON_TILELOOP_H
