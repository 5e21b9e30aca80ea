//===- SpecialiseChannels.h - The channels between the roles ---*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_TILE_TRANSFORMS_TCGEN05_SPECIALISECHANNELS_H
#define FMHA_LIB_DIALECT_TILE_TRANSFORMS_TCGEN05_SPECIALISECHANNELS_H

#include "Common/SpecialiseParts.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fmha::tile {

/// Channels of one query tile, named after what they carry.
struct TileChannels {
  /// load -> mma: the query.
  mlir::Value query;
  /// mma -> softmax: scores of a block.
  mlir::Value scores;
  /// softmax -> mma: P of a block, a channel for each slice; the last one's
  /// release is that of all.
  llvm::SmallVector<mlir::Value> p;
  /// softmax -> correction: alpha of each block, at last the row sum.
  mlir::Value stats;
  /// correction -> mma: O may take the product of a block; and back: it has.
  mlir::Value ready, done;
  /// correction -> store: the finished output.
  mlir::Value out;
};

struct Channels {
  /// The ring of K, and that of V: one and the same unless the schedule splits
  /// them.
  mlir::Value ring, valueRing;
  llvm::SmallVector<TileChannels> tiles;
};

/// Makes them where `b` stands.
Channels buildChannels(mlir::ImplicitLocOpBuilder &b, const KernelParts &parts,
                       const schedule::Schedule &schedule);

} // namespace fmha::tile

#endif // FMHA_LIB_DIALECT_TILE_TRANSFORMS_TCGEN05_SPECIALISECHANNELS_H
