//===- MergeKernel.h - The merge kernel of split-KV -------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_CONVERSION_FMHATOTILE_MERGEKERNEL_H
#define FMHA_LIB_CONVERSION_FMHATOTILE_MERGEKERNEL_H

#include "fmha/Conversion/MergeProblem.h"
#include "fmha/Dialect/FMHA/IR/FMHA.h"
#include "fmha/Kernel/MergeAbi.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace fmha {

/// Builds the kernel `name` at the end of `module`:
///
///   row = id % ceil(q_len / rows of a CTA) * rows + place in the CTA
///   head, batch = the rest of id
///   each warp of the row:
///     m = max over p of maxima[p]; l = sum over p of w[p]·sums[p], p a lane
///   for column = lane of the row * 4 to head dim step 4 * its lanes:
///     acc = sum over p of w[p]·parts[p][column .. column + 3]
///     o[column ..] = acc / l
///   lane 0: lse, row_max, row_sum
mlir::LLVM::LLVMFuncOp buildMergeKernel(mlir::gpu::GPUModuleOp module,
                                        mlir::Location location,
                                        mlir::StringRef name,
                                        const MergeProblem &problem);

/// Emits an error and fails if no kernel exists for the op's head dim.
mlir::LogicalResult checkHeadDim(MergeOp op);

} // namespace fmha

#endif // FMHA_LIB_CONVERSION_FMHATOTILE_MERGEKERNEL_H
