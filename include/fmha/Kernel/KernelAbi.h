//===- KernelAbi.h - Parameters of a compiled kernel ------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One list says what the kernel's parameters are; the conversion and the launch
// manifest both follow it.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_KERNEL_KERNELABI_H
#define FMHA_KERNEL_KERNELABI_H

#include <optional>
#include <string>
#include <vector>

namespace fmha::schedule {
struct Problem;
enum class Scheduler;
} // namespace fmha::schedule

namespace fmha {

struct KernelParameter {
  enum class Kind { TensorMap, Pointer, U64, U32 };
  std::string name;
  Kind kind;
  /// Which capture of the problem this is, or says an extent or stride of.
  std::optional<unsigned> capture = std::nullopt;
  /// Of a program, the operand that it is or belongs to, and the dimension of
  /// which it is the extent or stride.
  unsigned operand = 0;
  std::optional<unsigned> dimension = std::nullopt;
};

/// The operands of the kernel at the levels above: q, k, v, o as tensor maps, o
/// in f32 as a pointer, with a second source k2 and v2, too; as far as the
/// problem has them lse, row_max, row_sum, kv_lens, cu_seqlens_q, cu_seqlens_k,
/// sink and source2_lens as pointers; with cu_seqlens_q the number max_q_len;
/// then capture0, capture1, ... as pointers.
std::vector<KernelParameter> kernelOperands(const schedule::Problem &problem);

/// The operands; with an output in f32 its strides of batch, row and head, with
/// LSE, row_max and row_sum theirs of batch, head and row, in elements; then
/// q_len, kv_len, q_heads, kv_heads, and with a second source kv_len2; then the
/// extents of each capture, capture0_size0, ..., and its strides in elements,
/// capture0_stride0, ..., but for the last one, which is 1. Where the scheduler
/// is static the number of output tiles, `tiles`, comes last: the grid does not
/// say it.
std::vector<KernelParameter> kernelParameters(const schedule::Problem &problem,
                                              schedule::Scheduler scheduler);

/// The index of a parameter by its name, if there is one.
std::optional<unsigned>
parameterIndex(const std::vector<KernelParameter> &parameters,
               const std::string &name);

/// The parameter that holds extent `dimension` ([batch, length, heads, dim]) of
/// the operand of that name (q, k, v, o, k2, v2), if a kernel may ask for it.
std::optional<std::string> extentParameter(const std::string &operand,
                                           unsigned dimension);

} // namespace fmha

#endif // FMHA_KERNEL_KERNELABI_H
