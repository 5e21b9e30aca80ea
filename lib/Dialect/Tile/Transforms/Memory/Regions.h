//===- Regions.h - The memory regions of a program's ops --------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_TILE_TRANSFORMS_MEMORY_REGIONS_H
#define FMHA_LIB_DIALECT_TILE_TRANSFORMS_MEMORY_REGIONS_H

#include "Common/KernelFamily.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/ADT/DenseSet.h"

namespace fmha::tile {

/// Returns the `tile.region` of `op`; null if it has none.
RegionAttr regionOf(mlir::Operation *op);

/// Returns the fills, products and rescales of `func` whose result is the
/// accumulator of a product, directly or through loops, branches and rescaling.
llvm::DenseSet<mlir::Operation *> accumulatorsOf(mlir::gpu::GPUFuncOp func);

/// Whether `value` is the result or the accumulator of a product.
bool isProduct(mlir::Value value,
               const llvm::DenseSet<mlir::Operation *> &accumulators);

/// Whether `tile`, or a slice of it, is the first factor of a product.
bool isFactor(mlir::Value tile);

/// Completes the `tile.kernel` of `func`, a program: adds the rows of the boxes
/// that TMA copies and, unless there is one, a memory map with a region for
/// every op, which is then in its `tile.region`. Errors: the target has too
/// little memory, or two ops have one region in different memories.
mlir::LogicalResult layOutProgram(mlir::gpu::GPUFuncOp func,
                                  const KernelFamily &family);

} // namespace fmha::tile

#endif // FMHA_LIB_DIALECT_TILE_TRANSFORMS_MEMORY_REGIONS_H
