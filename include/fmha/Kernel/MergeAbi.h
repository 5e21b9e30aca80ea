//===- MergeAbi.h - Parameters of the kernel that combines splits -*- C++ -*-=//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Like KernelAbi.h for attention, the list of parameters that the kernel and
// its launch manifest use.
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

/// The problem of a kernel of fmha.merge. If rows are packed, those after the
/// last sequence are not written.
struct MergeProblem : schedule::Facts {
  unsigned headDim = 128;
  /// "f16", "bf16" or "f32".
  std::string output = "bf16";
  /// With split_by = length the keys of a KV block, from which the slots of
  /// each sequence follow; otherwise 0, and all sequences have the same number.
  unsigned slotKeys = 0;
  /// The slots per sequence, with split_by = length.
  unsigned slotsPerSequence = 0;
};

/// Returns the problem of the kernel that combines the splits of `problem`.
MergeProblem mergeOf(const schedule::Problem &problem,
                     const schedule::Schedule &schedule);
/// Returns the attribute `fmha.merge` of the kernel for `problem`.
mlir::DictionaryAttr describeMerge(const MergeProblem &problem,
                                   mlir::MLIRContext *ctx);

constexpr unsigned mergeThreads = 128;
/// Returns the rows per CTA. Each row takes one warp per 128 columns of the
/// head dim: one, two or all four warps of the CTA.
unsigned mergeRowsPerCta(unsigned headDim);

/// Returns the parameters: o_parts, max_parts, sum_parts and o, and, if there
/// are any, lse, row_max, row_sum, sink, cu_seqlens_q and, with split_by =
/// length, kv_lens as pointers; the strides in elements of all except these
/// last three, with `_stride_part` first; then parts, q_len and q_heads, and
/// with cu_seqlens_q or kv_lens the number of sequences, batch.
std::vector<KernelParameter> mergeParameters(const MergeProblem &problem);

} // namespace fmha

#endif // FMHA_KERNEL_MERGEABI_H
