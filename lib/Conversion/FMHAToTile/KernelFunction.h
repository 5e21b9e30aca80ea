//===- KernelFunction.h - The function of a kernel --------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_CONVERSION_FMHATOTILE_KERNELFUNCTION_H
#define FMHA_LIB_CONVERSION_FMHATOTILE_KERNELFUNCTION_H

#include "fmha/Dialect/FMHA/IR/FMHA.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace mlir {
class SymbolTable;
} // namespace mlir

namespace fmha {

/// Checks the preconditions of building a kernel for `op`, or, if it names one,
/// that this kernel exists.
mlir::LogicalResult checkKernelOp(AttentionOp op);
mlir::LogicalResult checkKernelOp(MergeOp op);
mlir::LogicalResult checkKernelOp(AppendOp op);

/// Creates an empty gpu.module @fmha_fwd_kernel.
mlir::gpu::GPUModuleOp makeModule(AttentionOp op, mlir::SymbolTable &symbols);
/// Creates gpu.func @name(...) {} in `module`, with the operands of the ABI,
/// the threads of the schedule, and the problem of the kernel.
mlir::gpu::GPUFuncOp makeKernel(AttentionOp op, mlir::gpu::GPUModuleOp module,
                                mlir::StringRef name);

/// Adds the variable to `module` by which libfmha_mgpu.so knows that `kernel`
/// may be launched before earlier grids have ended.
void markProgrammatic(mlir::gpu::GPUModuleOp module, mlir::StringRef kernel);

} // namespace fmha

#endif // FMHA_LIB_CONVERSION_FMHATOTILE_KERNELFUNCTION_H
