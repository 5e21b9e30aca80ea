//===- AttentionPages.h - Verify paged KV caches --------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_FMHA_IR_ATTENTIONPAGES_H
#define FMHA_LIB_DIALECT_FMHA_IR_ATTENTIONPAGES_H

#include "fmha/Dialect/FMHA/IR/FMHA.h"

namespace fmha {

/// Verifies `block_tables` and the operands it requires (attention.C30).
llvm::LogicalResult verifyPages(AttentionOp op);

/// Verifies attention.C31, keys [batch, length, heads, head_dim / x, x].
llvm::LogicalResult verifyKeyVectors(AttentionOp op);

} // namespace fmha

#endif // FMHA_LIB_DIALECT_FMHA_IR_ATTENTIONPAGES_H
