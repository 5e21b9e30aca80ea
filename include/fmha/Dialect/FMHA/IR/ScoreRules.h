//===- ScoreRules.h - The permitted contents of score regions ---*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
// The rules attention.C25 and attention.C26, for passes that write the region.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_DIALECT_FMHA_IR_SCORERULES_H
#define FMHA_DIALECT_FMHA_IR_SCORERULES_H

#include "mlir/IR/BuiltinTypeInterfaces.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseSet.h"

namespace fmha {

/// Maximum number of tensors that one region may read.
inline constexpr size_t maxScoreCaptures = 64;

/// Returns whether the region may hold `op` (attention.C25).
bool mayStandInScore(mlir::Operation *op);

/// Returns whether the region may read elements of a tensor or memref with the
/// element type and the rank of `type` (attention.C26).
bool isScoreCapture(mlir::ShapedType type);

/// Returns the values of a region `score` that depend on the score or the key.
llvm::DenseSet<mlir::Value> valuesByKey(mlir::Region &score);

} // namespace fmha

#endif // FMHA_DIALECT_FMHA_IR_SCORERULES_H
