//===- OperandRules.h - Checks that verifiers share -------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_FMHA_IR_OPERANDRULES_H
#define FMHA_LIB_DIALECT_FMHA_IR_OPERANDRULES_H

#include "mlir/IR/BuiltinTypeInterfaces.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Value.h"

namespace fmha {

/// Emits an error at `op` and fails for an attribute that belongs to neither
/// the op nor a dialect, such as a misspelled one. Marks, which are unit
/// attributes or begin with two underscores, are accepted.
llvm::LogicalResult verifyDiscardables(mlir::Operation *op);
/// Returns whether `space` is none, 0, 1 or #gpu.address_space<global>.
bool isGlobalMemory(mlir::Attribute space);
/// Returns whether `type` is a tensor, or a memref that may be contiguous. The
/// strides of dimensions of size 1 do not matter.
bool isDense(mlir::ShapedType type);
/// Returns in words how two memrefs share elements, nothing if they share none
/// or are views of one memref that may be disjoint.
///
///   a, b = %x, %x                                   "one memref for both"
///   a, b = subview %x[%i], %x                       "a view of the other one"
///   a, b = cast %x, transpose %x                    "views of one memref"
///   a, b = subview %x[0] [4], subview %x[2] [4]     "... that overlap"
///   a, b = subview %x[0] [4], subview %x[4] [4]     nothing
///   a, b = subview %x[%i] [4], subview %x[%j] [4]   nothing
std::optional<llvm::StringRef> sharedMemory(mlir::Value a, mlir::Value b);

/// Emits the beginning of an error, with the number of its rule.
using EmitError = llvm::function_ref<mlir::InFlightDiagnostic()>;
/// An operand or attribute that a clause excludes, whether the op has it, and
/// how to do without it.
struct Excluded {
  const char *name;
  bool isThere;
  const char *wayOut;
};
/// Checks that an op with the clause `clause` has none of `others`.
llvm::LogicalResult verifyWithout(llvm::StringRef clause,
                                  llvm::ArrayRef<Excluded> others,
                                  EmitError error);
/// Checks that an op has tables of angles if it has a rotary embedding, and
/// none otherwise.
llvm::LogicalResult verifyAnglePresence(bool hasRotary, mlir::Value cos,
                                        mlir::Value sin, EmitError error);
/// Checks that the table `name` has a static number of columns, one for each
/// pair of the columns of `headDim` that rotate.
llvm::LogicalResult verifyAngleColumns(llvm::StringRef name,
                                       mlir::ShapedType type, int64_t headDim,
                                       EmitError error);

} // namespace fmha

#endif // FMHA_LIB_DIALECT_FMHA_IR_OPERANDRULES_H
