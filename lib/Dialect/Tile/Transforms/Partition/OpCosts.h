//===- OpCosts.h - What ops on tiles take -----------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_TILE_TRANSFORMS_PARTITION_OPCOSTS_H
#define FMHA_LIB_DIALECT_TILE_TRANSFORMS_PARTITION_OPCOSTS_H

#include "fmha/Dialect/Tile/IR/Tile.h"
#include "fmha/Schedule/Modulo/OpTimes.h"

namespace fmha::tile {

/// Returns the time of `op`, an op on placed tiles that runs whenever its loop
/// does.
schedule::modulo::OpTime timeOf(mlir::Operation *op,
                                const schedule::modulo::OpTimes &times);

/// Whether a row of the result of `op` needs the whole row of its input.
bool reducesRows(mlir::Operation *op);

/// Returns who executes `op`.
schedule::modulo::Executor executorOf(mlir::Operation *op);

/// Returns the registers that a tile takes of a thread, 0 if it has no rank 2
/// or lies in memory.
unsigned registersOf(mlir::Value tile);

} // namespace fmha::tile

#endif // FMHA_LIB_DIALECT_TILE_TRANSFORMS_PARTITION_OPCOSTS_H
