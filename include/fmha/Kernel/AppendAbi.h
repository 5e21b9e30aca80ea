//===- AppendAbi.h - Parameters of the kernel of fmha.append ----*- C++ -*-===//
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

#ifndef FMHA_KERNEL_APPENDABI_H
#define FMHA_KERNEL_APPENDABI_H

#include "fmha/Kernel/KernelAbi.h"

namespace mlir {
class DictionaryAttr;
class MLIRContext;
} // namespace mlir

namespace fmha {

/// The problem of a kernel of fmha.append.
struct AppendProblem {
  /// "f16" or "bf16".
  std::string dtype = "bf16";
  unsigned headDim = 128, headDimV = 128;
  /// Number of keys per page, 0 if the caches are dense.
  unsigned pageSize = 0;
  /// "none", "half" or "interleaved".
  std::string rotary = "none";
  /// Number of columns that rotate.
  unsigned rotaryDim = 0;
  /// Whether queries are rotated as well.
  bool query = false;

  bool hasRotary() const { return rotaryDim > 0; }
};

/// Returns the attribute `fmha.append` of the kernel for `problem`.
mlir::DictionaryAttr describeAppend(const AppendProblem &problem,
                                    mlir::MLIRContext *ctx);

constexpr unsigned appendThreads = 128;
/// Columns that a thread copies at once, 16 bytes.
constexpr unsigned appendColumns = 8;
/// Returns the number of 16-byte pieces of the key and the value of one head.
unsigned appendPieces(const AppendProblem &problem);
/// Returns the heads per CTA: as many as its threads have pieces for.
unsigned appendHeadsPerCta(const AppendProblem &problem);

/// Returns the parameters: key_new, value_new, k, v, kv_lens, and, if there are
/// any, block_tables, rotary_cos, rotary_sin, q and q_out as pointers; the
/// strides in elements of batch, row and head of all tensors of rank 4, and of
/// the rows of rotary_cos and rotary_sin; then new_len, kv_heads, kv_len (the
/// keys that a sequence can have), append_rows, and, where they exist,
/// max_pages, pages, positions, q_len and q_heads.
std::vector<KernelParameter> appendParameters(const AppendProblem &problem);

} // namespace fmha

#endif // FMHA_KERNEL_APPENDABI_H
