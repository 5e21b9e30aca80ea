//===- AttentionTopk.h - Verify the keys of each query ----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_FMHA_IR_ATTENTIONTOPK_H
#define FMHA_LIB_DIALECT_FMHA_IR_ATTENTIONTOPK_H

#include "fmha/Dialect/FMHA/IR/FMHA.h"

namespace fmha {

/// Verifies `topk` and the operands that it excludes (attention.C34).
llvm::LogicalResult verifyTopk(AttentionOp op);

} // namespace fmha

#endif // FMHA_LIB_DIALECT_FMHA_IR_ATTENTIONTOPK_H
