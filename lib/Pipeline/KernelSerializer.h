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

/// The PTX of a module at the NVVM level, or nothing behind an error.
///
/// `target` at level 0: MLIR hands over straight code, ptxas optimises it, and
/// what LLVM adds (it moves address arithmetic out of loops) costs the roles
/// registers that they do not have. At level 1, for kernels with wgmma: code is
/// selected and scheduled at level 1, since at 0 LLVM copies what statements
/// give and take, which ptxas 13.0 makes up to 4 % slower code of (measured on
/// an H200, head dim 64). Of LLVM's passes on IR run those that are worth their
/// time: loops that test at the end (up to 13 %), instructions combined (1 % in
/// the mean), and remainders computed of quotients, without which ptxas spills
/// an address here and there.
std::optional<llvm::SmallVector<char, 0>>
serializeToPtx(mlir::gpu::GPUModuleOp module,
               mlir::NVVM::NVVMTargetAttr target);

} // namespace fmha

#endif // FMHA_LIB_PIPELINE_KERNELSERIALIZER_H
