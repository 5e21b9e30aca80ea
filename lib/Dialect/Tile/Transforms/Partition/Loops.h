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

/// Whether `loop` is known to have an iteration.
bool alwaysRuns(mlir::scf::ForOp loop);

/// Whether `condition` compares the bounds of `loop`, so that it holds if and
/// only if the loop has an iteration.
bool isTestOf(mlir::Value condition, mlir::scf::ForOp loop);

/// Whether `condition` guards a loop around `op`.
bool testsLoopAround(mlir::Value condition, mlir::Operation *op);

/// Returns the outermost branch around `user`, but not around `op`, that is
/// taken only if `op` runs: `op` is a loop or in one, and the branch is on
/// whether that has an iteration. Null if there is none.
mlir::Operation *guardOf(mlir::Operation *user, mlir::Operation *op);

/// Whether `loop` is in a branch that is taken only if it has an iteration.
bool isGuarded(mlir::scf::ForOp loop);

/// Whether the bounds of `loop` are constants, or are defined outside of
/// `around`.
bool areBoundsInvariant(mlir::scf::ForOp loop, mlir::scf::ForOp around);

/// Returns the condition that `loop` has an iteration. The first call emits it
/// before the loop, and before the loops around it that do not change its
/// bounds.
mlir::Value hasIterations(mlir::scf::ForOp loop);

/// Returns the number of iterations of `loop`, and the number of the current
/// iteration, both emitted at the builder.
mlir::Value tripCount(mlir::ImplicitLocOpBuilder &b, mlir::scf::ForOp loop);
mlir::Value iterationNumber(mlir::ImplicitLocOpBuilder &b,
                            mlir::scf::ForOp loop);

/// Returns value + n and value·n, with constants folded.
mlir::Value plus(mlir::ImplicitLocOpBuilder &b, mlir::Value value, int64_t n);
mlir::Value times(mlir::ImplicitLocOpBuilder &b, mlir::Value value, int64_t n);

} // namespace fmha::tile

#endif // FMHA_LIB_DIALECT_TILE_TRANSFORMS_PARTITION_LOOPS_H
