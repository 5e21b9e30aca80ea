//===- TraceEffects.h - Read what ops do to memory --------------*- C++ -*-===//
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

/// Reads what ops of the machine level do to memory and barriers.
class EffectReader {
public:
  EffectReader(StepBuilder &b, const TraceBarriers &barriers,
               const KernelInfo &info)
      : b(b), barriers(barriers), info(info) {}

  /// Returns whether `op` has effects and nothing else to read.
  bool read(mlir::Operation *op, Steps &steps);
  /// Adds `effect` for each of the registers that `value` stands for. What
  /// stands for the same registers has the same number.
  void addRegisters(TracedEffect effect, mlir::Value value, Steps &steps);

private:
  void readSync(const SyncEffect &effect, Steps &steps);
  void readShared(mlir::Value pointer, mlir::Type type, bool write,
                  Steps &steps);
  int64_t boxBytes(mlir::Value tensor) const;

  StepBuilder &b;
  const TraceBarriers &barriers;
  const KernelInfo &info;
  /// Numbers of registers that products use.
  llvm::DenseMap<mlir::Value, int64_t> registerNumbers;
};

} // namespace fmha::tile

#endif // FMHA_LIB_DIALECT_TILE_TRANSFORMS_VERIFY_TRACEEFFECTS_H
