//===- WgmmaDistribute.h - Patterns of wgmma -----------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_TILE_TRANSFORMS_WGMMA_WGMMADISTRIBUTE_H
#define FMHA_LIB_DIALECT_TILE_TRANSFORMS_WGMMA_WGMMADISTRIBUTE_H

#include "Fragments/Fragments.h"

namespace fmha::tile {

/// Columns of A of one K step.
constexpr int64_t wgmmaDepth = 16;

/// Returns the row sum for the accumulator that `op` multiplies, if the wait
/// for that accumulator does so in place of `op` (WgmmaMemory.cpp); otherwise
/// null.
RowSumOp sumAheadOf(RescaleOp op);

/// Stores words of a 16-bit fragment to its tile in shared memory by stmatrix.
/// A warp has 16 rows, and for each 16 columns four matrices in the order of
/// its registers. Lane l addresses row l mod 16 of the warp, and the upper 8
/// columns if l is above 15; the swizzle is an XOR with the row inside its 128
/// bytes.
void storeFragment(mlir::ImplicitLocOpBuilder &b, TileType to,
                   mlir::Value words);

void populateWgmmaArithmetic(mlir::RewritePatternSet &patterns,
                             const mlir::TypeConverter &converter,
                             const KernelInfo &info);
void populateWgmmaMemory(mlir::RewritePatternSet &patterns,
                         const mlir::TypeConverter &converter,
                         const KernelInfo &info);

/// Implements KernelFamily::productOf: wgmma with all columns of D, or 256.
layout::algebra::TiledMma productOfWgmma(DotOp op, const KernelInfo &info);
/// Implements KernelFamily::copiesOf: 16 columns of a tile that moves from
/// fragments to shared memory.
std::vector<layout::algebra::TiledCopy> copiesOfWgmma(mlir::Operation *op);

/// Implements KernelFamily::distribute: a warpgroup has the fragments of its
/// tiles, and products accumulate in them.
mlir::LogicalResult distributeWgmma(WarpSpecializeOp op,
                                    const KernelInfo &info);

} // namespace fmha::tile

#endif // FMHA_LIB_DIALECT_TILE_TRANSFORMS_WGMMA_WGMMADISTRIBUTE_H
