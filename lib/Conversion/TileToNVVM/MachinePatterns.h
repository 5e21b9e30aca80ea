//===- MachinePatterns.h - One machine op, one NVVM op ----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_CONVERSION_TILETONVVM_MACHINEPATTERNS_H
#define FMHA_LIB_CONVERSION_TILETONVVM_MACHINEPATTERNS_H

#include "fmha/Kernel/KernelAbi.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Transforms/DialectConversion.h"

namespace fmha {

/// Symbol of the dynamic shared memory, 1024-byte aligned.
constexpr llvm::StringLiteral sharedMemorySymbol = "fmha_shared_memory";

/// Returns the parameters of the kernel around `op`, and the value of the one
/// with that name. The function is converted before its body.
std::vector<KernelParameter> parametersOf(mlir::Operation *op);
mlir::Value parameterOf(mlir::Operation *op, const std::string &name);

/// Returns the address of a row of `tensor`, a parameter of the kernel around
/// `op` with strides, at `base`. `row` has its batch or page, its number there,
/// and its head, as i32.
mlir::Value addressOfRow(mlir::ImplicitLocOpBuilder &b, mlir::Operation *op,
                         mlir::Value tensor, mlir::Value base,
                         mlir::Type element, mlir::ArrayRef<mlir::Value> row);

/// Copies A of each wgmma to separate registers, if a wait returns A. Equal
/// elements of A would share a register otherwise, which LLVM would copy for
/// the wait while the wgmma reads it:
///   %d = wgmma %a, ...; wgmma_wait of %d, %a
///   -> %own = asm "" (%a); %d = wgmma %own, ...; wgmma_wait of %d, %own
void separateRegistersOfA(mlir::Operation *root);

/// Gives each role of a single thread that loops its own base address of shared
/// memory. The ops are those of LLVM and NVVM.
void separateBases(mlir::Operation *root);

void populateAppendPatterns(mlir::RewritePatternSet &patterns,
                            const mlir::TypeConverter &converter);
void populateCopyPatterns(mlir::RewritePatternSet &patterns,
                          const mlir::TypeConverter &converter);
void populateFactorPatterns(mlir::RewritePatternSet &patterns,
                            const mlir::TypeConverter &converter);
void populateGatherPatterns(mlir::RewritePatternSet &patterns,
                            const mlir::TypeConverter &converter);
void populateMmaSyncPatterns(mlir::RewritePatternSet &patterns,
                             const mlir::TypeConverter &converter);
void populateRotaryPatterns(mlir::RewritePatternSet &patterns,
                            const mlir::TypeConverter &converter);
void populateScorePatterns(mlir::RewritePatternSet &patterns,
                           const mlir::TypeConverter &converter);
void populateSlotPatterns(mlir::RewritePatternSet &patterns,
                          const mlir::TypeConverter &converter);
void populateWgmmaPatterns(mlir::RewritePatternSet &patterns,
                           const mlir::TypeConverter &converter);
void populateMachinePatterns(mlir::RewritePatternSet &patterns,
                             const mlir::TypeConverter &converter);

} // namespace fmha

#endif // FMHA_LIB_CONVERSION_TILETONVVM_MACHINEPATTERNS_H
