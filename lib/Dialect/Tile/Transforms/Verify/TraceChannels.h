//===- TraceChannels.h - Read channels and tiles ----------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_TILE_TRANSFORMS_VERIFY_TRACECHANNELS_H
#define FMHA_LIB_DIALECT_TILE_TRANSFORMS_VERIFY_TRACECHANNELS_H

#include "TraceEffects.h"

namespace fmha::tile {

/// Reads the ops of the specialised level: ends of channels, and moves of
/// tiles.
class TileReader {
public:
  TileReader(StepBuilder &b, const TraceBarriers &barriers,
             EffectReader &effects)
      : b(b), barriers(barriers), effects(effects) {}

  /// Reads `op`. Fails with a diagnostic if `op` has no slot, or uses a tile of
  /// another role.
  mlir::LogicalResult read(mlir::Operation *op, Steps &steps);

private:
  bool readChannelEnd(mlir::Operation *op, Steps &steps);
  void readSlot(mlir::Operation *op, bool acquire, Steps &steps);
  void readSignal(mlir::Operation *op, bool publish, Steps &steps);
  mlir::LogicalResult readLoad(mlir::Operation *op, mlir::Value slot,
                               Steps &steps);
  void readMoves(mlir::Operation *op, Steps &steps);
  void touch(mlir::Value tile, bool write, schedule::sync::Unit unit,
             uint64_t chain, Steps &steps);
  void readBegunDot(DotOp op, Steps &steps);
  void readWait(WaitDotsOp op, Steps &steps);
  void touchRegisters(mlir::Value tile, schedule::sync::Unit unit, bool write,
                      Steps &steps);

  StepBuilder &b;
  const TraceBarriers &barriers;
  EffectReader &effects;
};

} // namespace fmha::tile

#endif // FMHA_LIB_DIALECT_TILE_TRANSFORMS_VERIFY_TRACECHANNELS_H
