//===- ScoreCost.h - What ops of code on scores cost ------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For those who ask whether code is long: fmha.attention of a region's ops,
// before functions are written in terms of others, and the passes behind that
// of what they became. How many of which they take differs with what ptxas 13.0
// spilled for each.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_DIALECT_FMHA_IR_SCORECOST_H
#define FMHA_DIALECT_FMHA_IR_SCORECOST_H

#include "mlir/IR/Operation.h"

namespace fmha {

/// Quotients and remainders, dozens of instructions each.
bool isDivision(mlir::Operation *op);

/// Whether a result has 64 bits, several instructions each.
bool isWide(mlir::Operation *op);

/// What is one instruction of the unit for special functions and a few beside:
/// exponentials, logarithms, roots, tanh.
bool isUnitFunction(mlir::Operation *op);

} // namespace fmha

#endif // FMHA_DIALECT_FMHA_IR_SCORECOST_H
