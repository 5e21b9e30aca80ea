//===- MachinePatterns.h - One machine op, one NVVM op ----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_CONVERSION_TILETONVVM_MACHINEPATTERNS_H
#define FMHA_LIB_CONVERSION_TILETONVVM_MACHINEPATTERNS_H

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Transforms/DialectConversion.h"

namespace fmha {

/// Symbol of the dynamic shared memory, 1024-byte aligned.
constexpr llvm::StringLiteral sharedMemorySymbol = "fmha_shared_memory";

void populateMachinePatterns(mlir::RewritePatternSet &patterns,
                             const mlir::TypeConverter &converter);

} // namespace fmha

#endif // FMHA_LIB_CONVERSION_TILETONVVM_MACHINEPATTERNS_H
