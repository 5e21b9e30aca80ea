//===- TraceEffects.h - Read the effects of ops -----------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_TILE_TRANSFORMS_VERIFY_TRACEEFFECTS_H
#define FMHA_LIB_DIALECT_TILE_TRANSFORMS_VERIFY_TRACEEFFECTS_H

#include "StepBuilder.h"
#include "TraceBarriers.h"

namespace fmha::tile {

/// Reads the effects of machine ops on memory and barriers.
class EffectReader {
public:
  EffectReader(StepBuilder &b, const TraceBarriers &barriers,
               const KernelInfo &info)
      : b(b), barriers(barriers), info(info) {}

  /// Reads the effects of `op`, if it has SyncOpInterface. Returns whether
  /// there is nothing else to read.
  bool read(mlir::Operation *op, Steps &steps);
  /// Adds `effect` for each value that represents registers of `value`. Values
  /// in the same registers have the same number.
  void addRegisters(TracedEffect effect, mlir::Value value, Steps &steps);

private:
  /// Adds an effect, whose address is that of the first `lanes` of a warp.
  void readSync(const SyncEffect &effect, uint32_t lanes, Steps &steps);
  int64_t boxBytes(mlir::Value tensor) const;

  StepBuilder &b;
  const TraceBarriers &barriers;
  const KernelInfo &info;
  /// Numbers of registers that products use.
  llvm::DenseMap<mlir::Value, int64_t> registerNumbers;
};

} // namespace fmha::tile

#endif // FMHA_LIB_DIALECT_TILE_TRANSFORMS_VERIFY_TRACEEFFECTS_H
