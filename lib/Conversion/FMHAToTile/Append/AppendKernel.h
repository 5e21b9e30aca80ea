//===- AppendKernel.h - The kernel of fmha.append ---------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_CONVERSION_FMHATOTILE_APPEND_APPENDKERNEL_H
#define FMHA_LIB_CONVERSION_FMHATOTILE_APPEND_APPENDKERNEL_H

#include "fmha/Conversion/AppendProblem.h"
#include "fmha/Dialect/FMHA/IR/FMHA.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace fmha {

/// Builds the kernel `name` at the end of `module`. A CTA has one token and
/// some heads, first those of K and V, then those of Q:
///
///   token, batch = x % append_rows, x / append_rows
///   for unit = thread to heads of a CTA * pieces of a head step threads:
///     head, piece = y * heads of a CTA + unit / pieces, unit % pieces
///     if head < kv_heads:
///       p = kv_lens[batch] - new_len + token
///       if token < new_len and 0 <= p < kv_len and the page exists:
///         copy 8 columns of key_new or value_new to row p of the cache
///     else if token < q_len:
///       copy 8 columns of q to q_out
mlir::LLVM::LLVMFuncOp buildAppendKernel(mlir::gpu::GPUModuleOp module,
                                         mlir::Location location,
                                         mlir::StringRef name,
                                         const AppendProblem &problem);

/// Emits an error and fails if no kernel exists for the op's head dims.
mlir::LogicalResult checkHeadDims(AppendOp op);

} // namespace fmha

#endif // FMHA_LIB_CONVERSION_FMHATOTILE_APPEND_APPENDKERNEL_H
