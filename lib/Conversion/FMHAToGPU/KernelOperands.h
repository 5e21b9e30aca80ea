//===- KernelOperands.h - Operands of kernel ops, in messages ---*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_CONVERSION_FMHATOGPU_KERNELOPERANDS_H
#define FMHA_LIB_CONVERSION_FMHATOGPU_KERNELOPERANDS_H

#include "mlir/IR/Operation.h"

namespace fmha {

/// Returns the name, in quotes, that `operand` has in the definition of `op`, a
/// fmha.attention, fmha.append or fmha.merge. Returns a description for
/// operands that the region reads.
llvm::StringRef operandName(mlir::Operation *op, mlir::Value operand);

/// Emits an error at `op` and fails if an operand is a tensor. The message
/// names the first such operand and the passes to run before `pass`.
llvm::LogicalResult expectMemrefs(mlir::Operation *op, llvm::StringRef pass);

} // namespace fmha

#endif // FMHA_LIB_CONVERSION_FMHATOGPU_KERNELOPERANDS_H
