//===- MmaSyncDistribute.h - Patterns of mma.sync ---------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_TILE_TRANSFORMS_MMASYNC_MMASYNCDISTRIBUTE_H
#define FMHA_LIB_DIALECT_TILE_TRANSFORMS_MMASYNC_MMASYNCDISTRIBUTE_H

#include "Fragments/Fragments.h"
#include "fmha/Layout/Algebra/TiledMma.h"

namespace fmha::tile {

/// Adds the pattern that multiplies.
void populateMmaSyncProducts(mlir::RewritePatternSet &patterns,
                             const mlir::TypeConverter &converter,
                             const KernelInfo &info);

/// Returns the product by m16n8k16 or m16n8k8 (K is `depth`) with four warps
/// along M. Its tile of 64 x 16 x 16 is what one ldmatrix.x4 per warp loads.
layout::algebra::TiledMma mmaSyncProduct(mlir::Type element, int64_t depth);
/// Implements KernelFamily::productOf, with K from the schedule.
layout::algebra::TiledMma productOfMmaSync(DotOp op, const KernelInfo &info);
/// Implements KernelFamily::copiesOf: the copy of A, if A is in shared memory,
/// and the copy of B. Each loads 16 x 16 elements.
std::vector<layout::algebra::TiledCopy> copiesOfMmaSync(mlir::Operation *op);

/// Implements KernelFamily::distribute: a warp has the fragments of its rows,
/// in the layout of wgmma, whose fragments are those of mma.sync side by side.
mlir::LogicalResult distributeMmaSync(WarpSpecializeOp op,
                                      const KernelInfo &info);

} // namespace fmha::tile

#endif // FMHA_LIB_DIALECT_TILE_TRANSFORMS_MMASYNC_MMASYNCDISTRIBUTE_H
