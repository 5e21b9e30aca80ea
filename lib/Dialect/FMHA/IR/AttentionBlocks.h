//===- AttentionBlocks.h - Verify the lists of blocks -----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_FMHA_IR_ATTENTIONBLOCKS_H
#define FMHA_LIB_DIALECT_FMHA_IR_ATTENTIONBLOCKS_H

#include "fmha/Dialect/FMHA/IR/FMHA.h"

namespace fmha {

/// Verifies attention.C36.
llvm::LogicalResult verifyBlocks(AttentionOp op);

} // namespace fmha

#endif // FMHA_LIB_DIALECT_FMHA_IR_ATTENTIONBLOCKS_H
