//===- InFlight.h - Registers that a wgmma still uses -----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The registers of a value follow from SSA, so these rules are checked on the
// IR of a kernel. Whether a wait is late enough depends on the run, and is
// checked by the trace.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_TILE_TRANSFORMS_VERIFY_INFLIGHT_H
#define FMHA_LIB_DIALECT_TILE_TRANSFORMS_VERIFY_INFLIGHT_H

#include "fmha/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace fmha::tile {

/// Appends the values that represent the registers of `value`: for a chain of
/// products with one accumulator the result of the first one, for a part of a
/// vector that vector, for concatenated parts those of each part.
void appendRegisters(mlir::Value value,
                     llvm::SmallVectorImpl<mlir::Value> &registers);

/// Fails with a diagnostic if an op touches registers that a product may still
/// use:
///
///   %s = tile.wgmma ...
///   %t = arith.mulf %s, %c         // no tile.wgmma_wait between: Y1
mlir::LogicalResult checkRegistersInFlight(mlir::gpu::GPUFuncOp func);

} // namespace fmha::tile

#endif // FMHA_LIB_DIALECT_TILE_TRANSFORMS_VERIFY_INFLIGHT_H
