//===- OperandRules.h - What verifiers ask of memrefs -----------*- C++ -*-===//
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

/// No memory space, 0, 1 or #gpu.address_space<global>.
bool isGlobalMemory(mlir::Attribute space);
/// Whether `part` is `whole` or lies inside it. A reinterpret_cast may leave
/// its source. Where nothing is executed a view may be its own source.
bool isViewOf(mlir::Value part, mlir::Value whole);
/// Whether no extent of a memref is 0.
bool hasElements(mlir::Value memref);

} // namespace fmha

#endif // FMHA_LIB_DIALECT_FMHA_IR_OPERANDRULES_H
