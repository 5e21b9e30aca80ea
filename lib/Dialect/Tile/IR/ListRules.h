//===- ListRules.h - Checks of lists in memory ------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_TILE_IR_LISTRULES_H
#define FMHA_LIB_DIALECT_TILE_IR_LISTRULES_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

namespace fmha::tile {

/// Checks that the entries of a list of `op` follow each other in memory.
llvm::LogicalResult verifyContiguous(mlir::Operation *op,
                                     mlir::MemRefType list);

} // namespace fmha::tile

#endif // FMHA_LIB_DIALECT_TILE_IR_LISTRULES_H
