//===- SlicesOfP.h - Where slices of P are signaled -------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_TILE_TRANSFORMS_TCGEN05_SLICESOFP_H
#define FMHA_LIB_DIALECT_TILE_TRANSFORMS_TCGEN05_SLICESOFP_H

#include "fmha/Dialect/Tcgen05/IR/Tcgen05.h"
#include "fmha/Dialect/Tile/IR/Tile.h"
#include "fmha/Schedule/Model/SoftmaxOrder.h"

#include "mlir/Dialect/Math/IR/Math.h"

namespace fmha::tile {

/// Returns whether passes end basic blocks of the kernel of `schedule` after
/// slices of P. Where softmax does not follow its stores, ptxas spills some
/// kernels with such blocks. With loads that compute maxima, where a mask is
/// not separated, it copies scores at the branch to the mask.
inline bool endsBlocksAtSlices(const schedule::Schedule &schedule) {
  return schedule.pSlices > 1 && schedule::ordersSoftmaxByStores(schedule) &&
         !tcgen05::hasReducingLoads(schedule.target);
}

/// Returns whether `arrive` signals what the threads have stored to tensor
/// memory, and its block computes exponentials after it: a slice of P that is
/// not the last one.
inline bool endsSlice(ArriveOp arrive) {
  auto fence = mlir::dyn_cast_or_null<FenceOp>(arrive->getPrevNode());
  if (!fence || fence.getKind() != FenceKind::Tcgen05Before ||
      !mlir::isa_and_nonnull<TmemWaitOp>(fence->getPrevNode()))
    return false;
  for (mlir::Operation *op = arrive->getNextNode(); op; op = op->getNextNode())
    if (mlir::isa<mlir::math::Exp2Op>(op))
      return true;
  return false;
}

} // namespace fmha::tile

#endif // FMHA_LIB_DIALECT_TILE_TRANSFORMS_TCGEN05_SLICESOFP_H
