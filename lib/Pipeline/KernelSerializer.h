//===- KernelSerializer.h - LLVM dialect to PTX -----------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PIPELINE_KERNELSERIALIZER_H
#define FMHA_LIB_PIPELINE_KERNELSERIALIZER_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

#include <optional>

namespace fmha {

/// Returns the PTX of a module at the NVVM level, or nothing after an error.
///
/// `target` has level 0: MLIR produces straight code, ptxas optimizes it, and
/// LLVM's own optimizations (such as moving address arithmetic out of loops)
/// cost the roles registers that they do not have. Level 1 is for sm_90a: code
/// is selected and scheduled at level 1, since at 0 LLVM copies the
/// operands and results of statements, which makes ptxas 13.0 generate up to 4
/// % slower code (measured on an H200, head dim 64). Of LLVM's IR passes only
/// those run that pay: loop rotation (up to 13 %), instruction combining (1 %
/// on average), and remainders computed from quotients, without which ptxas
/// spills an address in some kernels.
std::optional<llvm::SmallVector<char, 0>>
serializeToPtx(mlir::gpu::GPUModuleOp module,
               mlir::NVVM::NVVMTargetAttr target);

} // namespace fmha

#endif // FMHA_LIB_PIPELINE_KERNELSERIALIZER_H
