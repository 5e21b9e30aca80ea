//===- ProgramCheck.h - Programs that roles can share -----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_TILE_TRANSFORMS_PARTITION_PROGRAMCHECK_H
#define FMHA_LIB_DIALECT_TILE_TRANSFORMS_PARTITION_PROGRAMCHECK_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace fmha::tile {

/// Checks that roles can share the program: it has loops with bounds of type
/// index, branches, and no effects except those of ops on tiles, which have
/// tiles as results. Emits an error otherwise.
mlir::LogicalResult checkProgram(mlir::gpu::GPUFuncOp func);

} // namespace fmha::tile

#endif // FMHA_LIB_DIALECT_TILE_TRANSFORMS_PARTITION_PROGRAMCHECK_H
