//===- Append.h - Run a compiled fmha.append --------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The counterpart of Attention.h for kernels of fmha.append.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_RUNTIME_APPEND_H
#define FMHA_RUNTIME_APPEND_H

#include "fmha/Runtime/Attention.h"

namespace fmha::runtime {

/// keyNew [batch, n, kv_heads, head_dim] and valueNew [batch, n, kv_heads,
/// head_dim_v] are the last tokens of each sequence. k and v are the caches,
/// dense [batch, length, kv_heads, dim], or with blockTables of pages as in
/// AttentionTensors; only the rows of the tokens change. kvLens counts keys
/// after the append. A kernel with rotary embedding has cos and sin [1,
/// positions, 1, rotary_dim / 2] in f32; if it rotates queries as well, it
/// reads q [batch, q_len, q_heads, head_dim] and writes qOut of the same shape.
struct AppendTensors {
  Tensor4 keyNew, valueNew, k, v;
  std::vector<int32_t> kvLens;
  std::optional<std::vector<int32_t>> blockTables;
  int64_t maxPages = 0;
  std::optional<Tensor4> cos, sin, q, qOut;

  /// Returns the maximum number of keys per sequence.
  int64_t maxKeys() const {
    return blockTables ? maxPages * k.dims[1] : k.dims[1];
  }
};

/// Returns an error if `tensors` do not fit each other or the kernel; for an
/// entry of kvLens or blockTables the message names the entry.
llvm::Error checkAppend(const AppendManifest &manifest,
                        const AppendTensors &tensors);

/// Checks `tensors`, copies them to the device, runs the kernel and copies the
/// caches and qOut back.
llvm::Expected<LaunchReport> runAppend(const AppendManifest &manifest,
                                       const std::string &ptx, Device &device,
                                       AppendTensors &tensors,
                                       const RunOptions &options);

} // namespace fmha::runtime

#endif // FMHA_RUNTIME_APPEND_H
