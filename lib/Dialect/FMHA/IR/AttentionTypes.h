//===- AttentionTypes.h - Verify element types and scales -------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_FMHA_IR_ATTENTIONTYPES_H
#define FMHA_LIB_DIALECT_FMHA_IR_ATTENTIONTYPES_H

#include "fmha/Dialect/FMHA/IR/FMHA.h"

namespace fmha {

/// Verifies the element types of Q, K, V and the output (attention.C3).
llvm::LogicalResult verifyTypes(AttentionOp op);

/// Verifies the scales of numbers of 8 bits (attention.C32). Ranks and types of
/// Q, K and V must have been verified.
llvm::LogicalResult verifyScales(AttentionOp op);

} // namespace fmha

#endif // FMHA_LIB_DIALECT_FMHA_IR_ATTENTIONTYPES_H
