//===- IssuingThread.h - Ops of a thread that issues products ---*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_TILE_TRANSFORMS_TCGEN05_ISSUINGTHREAD_H
#define FMHA_LIB_DIALECT_TILE_TRANSFORMS_TCGEN05_ISSUINGTHREAD_H

#include "fmha/Dialect/Tile/IR/Tile.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace fmha::tile {

/// Returns whether `op` only computes. Descriptors do, although MLIR treats
/// them as having effects so that CSE does not merge them.
inline bool isComputation(mlir::Operation *op) {
  return mlir::isa<DescriptorOp>(op) || mlir::isMemoryEffectFree(op);
}

} // namespace fmha::tile

#endif // FMHA_LIB_DIALECT_TILE_TRANSFORMS_TCGEN05_ISSUINGTHREAD_H
