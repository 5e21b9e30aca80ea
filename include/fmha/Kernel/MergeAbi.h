//===- MergeAbi.h - Parameters of the kernel that combines parts -*- C++ -*-==//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As KernelAbi.h for attention: one list that the kernel and its launch
// manifest follow.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_KERNEL_MERGEABI_H
#define FMHA_KERNEL_MERGEABI_H

#include "fmha/Kernel/KernelAbi.h"
#include "fmha/Schedule/Model/Facts.h"

namespace mlir {
class DictionaryAttr;
class MLIRContext;
} // namespace mlir

namespace fmha {

/// What a kernel of fmha.merge computes. Where rows are packed, those after
/// the last sequence are left as they are.
struct MergeProblem : schedule::Facts {
  unsigned headDim = 128;
  /// "f16", "bf16" or "f32".
  std::string output = "bf16";
};

/// What combines the parts of a split of `problem`.
MergeProblem mergeOf(const schedule::Problem &problem);
/// As the kernel carries it, in `fmha.merge`.
mlir::DictionaryAttr describeMerge(const MergeProblem &problem,
                                   mlir::MLIRContext *ctx);

constexpr unsigned mergeThreads = 128;
/// A row has a warp for each 128 columns of the head dim, one, two or all four.
unsigned mergeRowsPerCta(unsigned headDim);

/// o_parts, max_parts, sum_parts and o, then as far as there are any lse,
/// row_max, row_sum, sink and cu_seqlens_q as pointers; the strides in elements
/// of all but the last two, `_stride_part` of parts first; then parts, q_len
/// and q_heads, and with cu_seqlens_q the number of sequences, batch.
std::vector<KernelParameter> mergeParameters(const MergeProblem &problem);

} // namespace fmha

#endif // FMHA_KERNEL_MERGEABI_H
