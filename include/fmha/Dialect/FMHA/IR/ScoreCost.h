//===- ScoreCost.h - The cost of ops in score regions -----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Classifies ops of long score regions: fmha.attention uses it on the region's
// ops, before functions are written in terms of others, and later passes on the
// expanded ops. Each has a threshold of its own, from what ptxas 13.0 spilled.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_DIALECT_FMHA_IR_SCORECOST_H
#define FMHA_DIALECT_FMHA_IR_SCORECOST_H

#include "mlir/IR/Operation.h"

namespace fmha {

/// Returns whether `op` is a quotient or remainder, of dozens of instructions.
bool isDivision(mlir::Operation *op);

/// Returns whether a result has 64 bits, which costs several instructions.
bool isWide(mlir::Operation *op);

/// Returns whether `op` is one instruction of the unit for special functions
/// and a few others: exponentials, logarithms, roots, tanh.
bool isUnitFunction(mlir::Operation *op);

} // namespace fmha

#endif // FMHA_DIALECT_FMHA_IR_SCORECOST_H
