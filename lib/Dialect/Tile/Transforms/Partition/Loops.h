//===- Loops.h - Trip counts and message numbers ----------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_TILE_TRANSFORMS_PARTITION_LOOPS_H
#define FMHA_LIB_DIALECT_TILE_TRANSFORMS_PARTITION_LOOPS_H

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fmha::tile {

/// Whether `loop` is known to run at least once.
bool alwaysRuns(mlir::scf::ForOp loop);

/// Whether `condition` compares the bounds of `loop`: it holds where the loop
/// runs at least once.
bool isTestOf(mlir::Value condition, mlir::scf::ForOp loop);

/// Whether `condition` holds where a loop around `op` runs.
bool testsLoopAround(mlir::Value condition, mlir::Operation *op);

/// Whether `loop` runs at least once where it stands, inside of a branch.
bool isGuarded(mlir::scf::ForOp loop);

/// Whether the bounds of `loop` are constants, or are made outside of `around`.
bool areBoundsInvariant(mlir::scf::ForOp loop, mlir::scf::ForOp around);

/// Returns whether `loop` runs at least once: a condition that stands before it
/// and before the loops around it that do not change its bounds, made at the
/// first call.
mlir::Value hasIterations(mlir::scf::ForOp loop);

/// Returns the number of iterations of `loop`, and the number of the iteration
/// that runs, both made at the builder.
mlir::Value tripCount(mlir::ImplicitLocOpBuilder &b, mlir::scf::ForOp loop);
mlir::Value iterationNumber(mlir::ImplicitLocOpBuilder &b,
                            mlir::scf::ForOp loop);

/// value + n and value·n; constants are folded.
mlir::Value plus(mlir::ImplicitLocOpBuilder &b, mlir::Value value, int64_t n);
mlir::Value times(mlir::ImplicitLocOpBuilder &b, mlir::Value value, int64_t n);

} // namespace fmha::tile

#endif // FMHA_LIB_DIALECT_TILE_TRANSFORMS_PARTITION_LOOPS_H
