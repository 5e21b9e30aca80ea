//===- Tcgen05Distribute.h - Give rows to threads ---------------*- C++ -*-===//
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

/// A thread has a row of a tile, or shares it with one other.
const RowLayout &rowOfThread();

/// KernelFamily::distribute: a thread has a row of a tile, or half of one, and
/// products go to tensor memory.
mlir::LogicalResult distributeTcgen05(SpecialiseOp op, const KernelInfo &info);

} // namespace fmha::tile

#endif // FMHA_LIB_DIALECT_TILE_TRANSFORMS_TCGEN05_TCGEN05DISTRIBUTE_H
