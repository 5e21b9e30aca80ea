//===- TileNumbers.h - Values that depend on a tile's number ----*- C++ -*-===//
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

/// Returns the values that `region` uses and does not define, also those in a
/// loop over tiles that the region will be moved into. In place of a view it
/// returns the operands of the view that `region` reads.
llvm::SetVector<mlir::Value> usedOfOthers(mlir::Region &region);

/// Makes `role` use `here`, which is defined before it, in place of `value`.
void replaceInRole(RoleOp role, mlir::Value value, mlir::Value here);

/// The ops above the roles whose results depend on the number of the CTA.
class TileNumbers {
public:
  /// Returns the ops of `entry` that depend on the number of the CTA and, with
  /// `withExtents`, on extents, which are then read again for each tile.
  static TileNumbers of(mlir::Block &entry, bool withExtents = false);
  /// Computes again at `b`, for `tile`, the values that `role` uses.
  void place(mlir::ImplicitLocOpBuilder &b, RoleOp role,
             mlir::Value tile) const;
  /// Computes again at `b`, for `tile`, and returns `values`.
  mlir::SmallVector<mlir::Value> at(mlir::ImplicitLocOpBuilder &b,
                                    mlir::ValueRange values,
                                    mlir::Value tile) const;
  /// Erases the ops that have no users any more.
  void eraseDead();

private:
  mlir::IRMapping mapTile(mlir::Value tile) const;
  mlir::Value remake(mlir::ImplicitLocOpBuilder &b, mlir::Value value,
                     mlir::IRMapping &made) const;
  void placeViews(mlir::ImplicitLocOpBuilder &b, RoleOp role,
                  mlir::IRMapping &made, const mlir::IRMapping &placed) const;

  llvm::SetVector<mlir::Operation *> ops;
};

} // namespace fmha::tile

#endif // FMHA_LIB_DIALECT_TILE_TRANSFORMS_COMMON_TILENUMBERS_H
