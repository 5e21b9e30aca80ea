//===- WgmmaTiles.h - Several tiles in one flow of messages -----*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_TILE_TRANSFORMS_WGMMA_WGMMATILES_H
#define FMHA_LIB_DIALECT_TILE_TRANSFORMS_WGMMA_WGMMATILES_H

#include "fmha/Dialect/Tile/IR/Tile.h"
#include "fmha/Dialect/Tile/Transforms/KernelInfo.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fmha::tile {

/// What a role has had before the tile that it is at: messages of the ring of K
/// and V, and tiles, which are messages of queries and of outputs.
struct MessagesBefore {
  mlir::Value ring, tiles;
};

/// Whether the roles of a wgmma kernel loop over tiles.
bool loopsOverTiles(const KernelInfo &info);

/// Where `b` stands in `role`, builds a loop over the tiles of the CTA around
/// what `body` builds. A tile has `blocks` KV blocks of two messages each.
/// Numbers above the role that follow from the number of the CTA are made anew
/// for each tile.
void buildTileLoop(mlir::ImplicitLocOpBuilder &b, RoleOp role,
                   const KernelInfo &info, mlir::Value blocks,
                   llvm::function_ref<void(MessagesBefore)> body);

} // namespace fmha::tile

#endif // FMHA_LIB_DIALECT_TILE_TRANSFORMS_WGMMA_WGMMATILES_H
