//===- Tcgen05Distribute.h - Distribute rows to threads ---------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_TILE_TRANSFORMS_TCGEN05_TCGEN05DISTRIBUTE_H
#define FMHA_LIB_DIALECT_TILE_TRANSFORMS_TCGEN05_TCGEN05DISTRIBUTE_H

#include "Common/RowLayout.h"

namespace fmha::tile {

/// Returns the layout in which a thread has a row of a tile, or shares one with
/// one other thread.
const RowLayout &rowOfThread();

/// Implements KernelFamily::distribute: a thread has a row of a tile, or half
/// of one, and products accumulate in tensor memory.
mlir::LogicalResult distributeTcgen05(WarpSpecializeOp op,
                                      const KernelInfo &info);

} // namespace fmha::tile

#endif // FMHA_LIB_DIALECT_TILE_TRANSFORMS_TCGEN05_TCGEN05DISTRIBUTE_H
