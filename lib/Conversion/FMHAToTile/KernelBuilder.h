//===- KernelBuilder.h - Builds the tiled kernel of an op -------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_CONVERSION_FMHATOTILE_KERNELBUILDER_H
#define FMHA_LIB_CONVERSION_FMHATOTILE_KERNELBUILDER_H

#include "fmha/Dialect/FMHA/IR/FMHA.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace fmha {

/// Builds the body of `func`, the kernel of `op`.
void buildKernel(AttentionOp op, mlir::gpu::GPUFuncOp func);

} // namespace fmha

#endif // FMHA_LIB_CONVERSION_FMHATOTILE_KERNELBUILDER_H
