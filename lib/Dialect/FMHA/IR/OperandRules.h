//===- OperandRules.h - What verifiers of several ops check -----*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_FMHA_IR_OPERANDRULES_H
#define FMHA_LIB_DIALECT_FMHA_IR_OPERANDRULES_H

#include "mlir/IR/Value.h"

namespace fmha {

/// Fails with an error at `op` for an attribute that is neither the op's nor a
/// dialect's, such as a misspelt one: it would change nothing. Marks, which
/// are units or begin with two underscores, are accepted.
llvm::LogicalResult verifyDiscardables(mlir::Operation *op);
/// No memory space, 0, 1 or #gpu.address_space<global>.
bool isGlobalMemory(mlir::Attribute space);
/// Returns in words how two memrefs share elements, nothing if they may share
/// none: views of one memref may be apart.
///
///   a, b = %x, %x                                   "one memref for both"
///   a, b = subview %x[%i], %x                       "a view of the other one"
///   a, b = cast %x, transpose %x                    "views of one memref"
///   a, b = subview %x[0] [4], subview %x[2] [4]     "... that overlap"
///   a, b = subview %x[0] [4], subview %x[4] [4]     nothing
///   a, b = subview %x[%i] [4], subview %x[%j] [4]   nothing
std::optional<llvm::StringRef> sharedMemory(mlir::Value a, mlir::Value b);

} // namespace fmha

#endif // FMHA_LIB_DIALECT_FMHA_IR_OPERANDRULES_H
