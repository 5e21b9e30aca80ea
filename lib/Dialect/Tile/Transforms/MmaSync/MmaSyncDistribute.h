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

namespace fmha::tile {

/// Adds the pattern that multiplies.
void populateMmaSyncProducts(mlir::RewritePatternSet &patterns,
                             const mlir::TypeConverter &converter,
                             const KernelInfo &info);

/// Implements KernelFamily::distribute: a warp has the fragments of its rows,
/// in the layout of wgmma, whose fragments are those of mma.sync side by side.
mlir::LogicalResult distributeMmaSync(WarpSpecializeOp op,
                                      const KernelInfo &info);

} // namespace fmha::tile

#endif // FMHA_LIB_DIALECT_TILE_TRANSFORMS_MMASYNC_MMASYNCDISTRIBUTE_H
