//===- StepBuilder.h - Writes the steps of a kernel -------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_TILE_TRANSFORMS_VERIFY_STEPBUILDER_H
#define FMHA_LIB_DIALECT_TILE_TRANSFORMS_VERIFY_STEPBUILDER_H

#include "KernelTrace.h"

namespace fmha::tile {

using Steps = std::vector<Step>;

/// Whether runs track values of this type.
bool isTracked(mlir::Type type);

/// Returns a step that computes the value `result`, perhaps from value `a`.
Step valueStep(StepCode code, uint32_t result, uint32_t a = 0);

/// Writes steps, numbers the values that they use, and collects their effects.
class StepBuilder {
public:
  explicit StepBuilder(TracedKernel &kernel) : kernel(kernel) {}

  /// Makes `op` the source of the effects that are added after this call.
  void setOp(mlir::Operation *op) { current = op; }
  /// Returns the number of effects so far, by which a caller knows whether a
  /// body has effects.
  size_t countEffects() const { return effectSteps; }

  /// Returns the number of a value that steps use.
  uint32_t id(mlir::Value value);
  uint32_t fresh() { return kernel.values++; }
  uint32_t constant(int64_t value, Steps &steps);
  void arithmetic(Arithmetic op, uint32_t result, uint32_t a, uint32_t b,
                  Steps &steps);
  /// Adds steps that copy the tracked values of `from` to `to`.
  void copy(mlir::ValueRange to, mlir::ValueRange from, Steps &steps);
  void addEffect(TracedEffect effect, Steps &steps);
  void addAction(schedule::sync::Action action, Steps &steps);

private:
  TracedKernel &kernel;
  llvm::DenseMap<mlir::Value, uint32_t> ids;
  mlir::Operation *current = nullptr;
  size_t effectSteps = 0;
};

} // namespace fmha::tile

#endif // FMHA_LIB_DIALECT_TILE_TRANSFORMS_VERIFY_STEPBUILDER_H
