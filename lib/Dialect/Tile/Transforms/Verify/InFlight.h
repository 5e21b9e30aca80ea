//===- InFlight.h - Registers that a wgmma still uses -----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which registers a value is in follows from SSA alone, so that these rules are
// checked on the text of a kernel; whether a wait is late enough depends on the
// run, and is left to the trace.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_TILE_TRANSFORMS_VERIFY_INFLIGHT_H
#define FMHA_LIB_DIALECT_TILE_TRANSFORMS_VERIFY_INFLIGHT_H

#include "fmha/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace fmha::tile {

/// What stands for the registers of `value`: of a chain of products that add up
/// the first one's result, of a part of a vector that vector, of parts next to
/// each other each one's.
void appendRegisters(mlir::Value value,
                     llvm::SmallVectorImpl<mlir::Value> &registers);

/// Fails with a diagnostic where registers that a product may still use are
/// touched:
///
///   %s = tile.wgmma ...
///   %t = arith.mulf %s, %c         // no tile.wgmma_wait between: Y1
mlir::LogicalResult checkRegistersInFlight(mlir::gpu::GPUFuncOp func);

} // namespace fmha::tile

#endif // FMHA_LIB_DIALECT_TILE_TRANSFORMS_VERIFY_INFLIGHT_H
