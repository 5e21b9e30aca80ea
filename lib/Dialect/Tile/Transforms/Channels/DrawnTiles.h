//===- DrawnTiles.h - Pass tile indices between roles ---------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_TILE_TRANSFORMS_CHANNELS_DRAWNTILES_H
#define FMHA_LIB_DIALECT_TILE_TRANSFORMS_CHANNELS_DRAWNTILES_H

#include "fmha/Dialect/Tile/IR/Tile.h"
#include "fmha/Kernel/KernelInfo.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fmha::tile {

/// Returns the stage of a ring of `depth` in which `message` lies.
mlir::Value stageOfMessage(mlir::ImplicitLocOpBuilder &b, unsigned depth,
                           mlir::Value message);
/// Emits a wait until the slot of `message` is full, or free if `free` is set.
/// A wait for a free slot uses the opposite parity, so that it does not block
/// the first time that each slot is used.
void waitForMessage(mlir::ImplicitLocOpBuilder &b, mlir::Value barrier,
                    unsigned depth, mlir::Value message, bool free);

/// Lowers tile.announce_tile and tile.await_tile to a ring of tile indices in
/// the shared-memory region "next_tile".
void lowerAnnouncements(mlir::gpu::GPUFuncOp func, const KernelInfo &info);

} // namespace fmha::tile

#endif // FMHA_LIB_DIALECT_TILE_TRANSFORMS_CHANNELS_DRAWNTILES_H
