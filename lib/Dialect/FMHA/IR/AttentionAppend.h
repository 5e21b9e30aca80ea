//===- AttentionAppend.h - New keys of fmha.attention -----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_FMHA_IR_ATTENTIONAPPEND_H
#define FMHA_LIB_DIALECT_FMHA_IR_ATTENTIONAPPEND_H

#include "fmha/Dialect/FMHA/IR/FMHA.h"

namespace fmha {

/// Verify which operands come with new keys, and their shapes and memory
/// (attention.C33, attention.C35). The second one needs verified ranks and
/// types of Q, K and V.
llvm::LogicalResult verifyAppendPresence(AttentionOp op);
llvm::LogicalResult verifyAppend(AttentionOp op);

} // namespace fmha

#endif // FMHA_LIB_DIALECT_FMHA_IR_ATTENTIONAPPEND_H
