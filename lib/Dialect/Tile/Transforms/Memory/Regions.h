//===- Regions.h - The regions that a program's ops work in -----*- C++ -*-===//
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

/// The `tile.region` of `op`; null if it has none.
RegionAttr regionOf(mlir::Operation *op);

/// Fills, products and rescaled tiles of `func` that a product adds to,
/// directly or through loops, branches and rescaling.
llvm::DenseSet<mlir::Operation *> accumulatorsOf(mlir::gpu::GPUFuncOp func);

/// Whether `value` is what products have accumulated, or accumulate in.
bool isProduct(mlir::Value value,
               const llvm::DenseSet<mlir::Operation *> &accumulators);

/// Whether a product takes `tile`, or a slice of it, as its first factor.
bool isFactor(mlir::Value tile);

/// Completes the `tile.kernel` of `func`, a program: with the rows of the boxes
/// that TMA copies and, unless it has a memory map, with one in which every op
/// has a region, which its `tile.region` names. Errors: the target has too
/// little memory, or two ops name one region for different memories.
mlir::LogicalResult layOutProgram(mlir::gpu::GPUFuncOp func,
                                  const KernelFamily &family);

} // namespace fmha::tile

#endif // FMHA_LIB_DIALECT_TILE_TRANSFORMS_MEMORY_REGIONS_H
