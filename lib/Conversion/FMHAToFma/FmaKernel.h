//===- FmaKernel.h - The kernel of plain threads ----------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_CONVERSION_FMHATOFMA_FMAKERNEL_H
#define FMHA_LIB_CONVERSION_FMHATOFMA_FMAKERNEL_H

#include "fmha/Dialect/FMHA/IR/FMHA.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace fmha {

/// Builds the kernel of `op`, whose schedule has family = fma, at the end of
/// `module`. A CTA has one query and some heads of a group:
///
///   q = the queries, in shared memory, in f32
///   m = -inf; l = 0; acc = 0
///   for each block of keys:
///     each group of threadsPerKey threads:              (FmaThreads.h)
///       s[j] = scale * log2 e * (q . k[j])
///     barrier; m' = max(m, s); f = exp2(m - m')
///     p[j] = exp2(s[j] - m'); l = f l + sum of p
///     barrier
///     each thread, for its keys and columns: acc = f acc + sum of p[j] v[j]
///   o = (sum of acc over threads) / (sum of l over threads)
///
/// Scores have two stages, so that a block needs no third barrier. Every sum
/// has a fixed order, so that a result has the same bits in every run.
mlir::LLVM::LLVMFuncOp buildFmaKernel(AttentionOp op,
                                      mlir::gpu::GPUModuleOp module,
                                      mlir::StringRef name);

} // namespace fmha

#endif // FMHA_LIB_CONVERSION_FMHATOFMA_FMAKERNEL_H
