//===- TileNumbers.h - What the number of a tile decides --------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   %row = f(gpu.block_id x)             loop over %tile {
//   role { g(%row) }              ->       %row = f(%tile)
//                                          g(%row)
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_TILE_TRANSFORMS_COMMON_TILENUMBERS_H
#define FMHA_LIB_DIALECT_TILE_TRANSFORMS_COMMON_TILENUMBERS_H

#include "fmha/Dialect/Tile/IR/Tile.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/SetVector.h"

namespace fmha::tile {

/// What `region` uses and others define: also values in a loop over tiles that
/// the region is yet to be moved into. A view counts for what is read of it.
llvm::SetVector<mlir::Value> usedOfOthers(mlir::Region &region);

/// Has `role` use `here`, which stands ahead of it, in place of `value`.
void replaceInRole(RoleOp role, mlir::Value value, mlir::Value here);

/// What above the roles follows from the number of the CTA.
class TileNumbers {
public:
  /// Extents too are read anew for each tile if `withExtents`.
  static TileNumbers of(mlir::Block &entry, bool withExtents = false);
  /// Makes anew, where `b` stands, what `role` uses and `tile` decides.
  void place(mlir::ImplicitLocOpBuilder &b, RoleOp role,
             mlir::Value tile) const;
  /// Erases what nobody is left to use.
  void eraseDead();

private:
  mlir::Value remake(mlir::ImplicitLocOpBuilder &b, mlir::Value value,
                     mlir::IRMapping &made) const;
  void placeViews(mlir::ImplicitLocOpBuilder &b, RoleOp role,
                  mlir::IRMapping &made, const mlir::IRMapping &placed) const;

  llvm::SetVector<mlir::Operation *> ops;
};

} // namespace fmha::tile

#endif // FMHA_LIB_DIALECT_TILE_TRANSFORMS_COMMON_TILENUMBERS_H
