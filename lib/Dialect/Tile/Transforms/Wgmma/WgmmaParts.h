//===- WgmmaParts.h - The ops that consumers are cut from -------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_TILE_TRANSFORMS_WGMMA_WGMMAPARTS_H
#define FMHA_LIB_DIALECT_TILE_TRANSFORMS_WGMMA_WGMMAPARTS_H

#include "fmha/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace fmha::tile {

/// The ops of a placed kernel that serve one query tile, in program order.
struct ConsumerParts {
  LoadOp query;
  llvm::SmallVector<mlir::Operation *> fills, ending;
  /// In the loop: dots of scores with their slices, what makes P of them, what
  /// brings P to where it is multiplied (cast, and move if it is not there
  /// already), and dots of P with their slices.
  llvm::SmallVector<mlir::Operation *> scores, softmax, casts, products;
  RescaleOp rescale;
  StoreOp store;
  NormalizeOp normalize;
  /// Places of maximum, sum and accumulator among what the loop carries.
  llvm::SmallVector<unsigned, 3> states;
};

/// A placed kernel taken apart.
struct WgmmaParts {
  mlir::scf::ForOp loop;
  LoadOp key, value;
  llvm::SmallVector<ConsumerParts, 3> tiles;
};

/// Fails with a diagnostic that names the first missing part, or the op that no
/// part is made for: the kernel is not what tile-wgmma-place leaves behind.
mlir::FailureOr<WgmmaParts> findWgmmaParts(mlir::gpu::GPUFuncOp func,
                                           unsigned tiles);

} // namespace fmha::tile

#endif // FMHA_LIB_DIALECT_TILE_TRANSFORMS_WGMMA_WGMMAPARTS_H
