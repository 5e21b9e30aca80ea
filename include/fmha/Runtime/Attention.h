//===- Attention.h - Run a compiled attention kernel ------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Launches what the compiler made, on a problem in host memory:
//
//   auto manifest = parseManifest(result.manifest);
//   auto device = Device::open({.kind = DeviceKind::Simulator});
//   AttentionTensors tensors{.q = ..., .k = ..., .v = ..., .o = ...};
//   auto report = runAttention(*manifest, result.ptx, **device, tensors, {});
//
// No grid is launched where there is nothing to write. A fault, finding or
// deadlock of the kernel is no Error but part of the report; an Error means
// that the problem or the device would not do.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_RUNTIME_ATTENTION_H
#define FMHA_RUNTIME_ATTENTION_H

#include "fmha/Runtime/Device.h"
#include "fmha/Runtime/Manifest.h"
#include "fmha/Runtime/Tensor.h"

#include "llvm/Support/JSON.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fmha::runtime {

/// Dense data that code on scores reads.
struct CaptureData {
  const void *host = nullptr;
  /// "f32", "f16", "bf16", "i64", "i32", "i8" or "i1" (a byte, 0 or 1).
  std::string element;
  std::vector<int64_t> dims;
};

/// q [batch, q_len, q_heads, head_dim], k [batch, kv_len, kv_heads, head_dim],
/// v [batch, kv_len, kv_heads, head_dim_v], o [batch, q_len, q_heads,
/// head_dim_v], lse [batch, q_len, q_heads, 1] in f32. Query head h uses KV
/// head floor(h * kv_heads / q_heads). For a kernel with v_in_k v is the first
/// head_dim_v columns of k: its address and strides. rowMax and rowSum are as
/// lse; o is of the type that the kernel was compiled for. `o` is written, and
/// lse, rowMax and rowSum where they are given.
///
/// Lists are given where the kernel was compiled with them. kvLens has the keys
/// of each sequence. cuSeqlensQ says where each sequence of packed queries
/// begins and the last one ends; q and what is written then have batch 1, and
/// rows of these that no sequence has are left as they are. cuSeqlensK does so
/// for k and v. k2 [sequences, kv_len2, kv_heads, head_dim] and v2 are the
/// second source of keys where the kernel has one, source2Lens the keys of each
/// sequence in it.
struct AttentionTensors {
  Tensor4 q, k, v, o;
  std::optional<Tensor4> lse;
  std::optional<std::vector<int32_t>> kvLens, cuSeqlensQ, cuSeqlensK;
  /// A logit for each query head.
  std::optional<std::vector<float>> sink;
  /// In the order in which the kernel's code reads them first.
  std::vector<CaptureData> captures;
  std::optional<Tensor4> k2 = std::nullopt, v2 = std::nullopt;
  std::optional<std::vector<int32_t>> source2Lens = std::nullopt;
  std::optional<Tensor4> rowMax = std::nullopt, rowSum = std::nullopt;
};

/// The sentence that says which list, or which entry of one, does not fit the
/// other tensors, as an error.
llvm::Error checkSequences(const AttentionTensors &tensors);
/// The sequences of a batch: as many as a list has, or the batch of q.
int64_t sequenceCount(const AttentionTensors &tensors);
/// Rows [first, second) of q, or of k and v, that sequence n has; the lists
/// must have passed checkProblem().
std::pair<int64_t, int64_t> queriesOf(const AttentionTensors &tensors,
                                      int64_t n);
std::pair<int64_t, int64_t> keysOf(const AttentionTensors &tensors, int64_t n);
/// Those of the second source, none without one.
std::pair<int64_t, int64_t> keys2Of(const AttentionTensors &tensors, int64_t n);

/// Words as the command line has them; all but `padding` is for the simulator
/// alone and ignored by a GPU.
struct RunOptions {
  std::string policy = "eager";
  uint64_t scheduleSeed = 0;
  std::string checks = "all";
  std::string conformance = "isa";
  std::string mma = "fast";
  std::string approx = "correct";
  Padding padding;
  /// The most CTAs of a launch whose kernel does with any number; 0 for as many
  /// as the device has multiprocessors. On a GPU, too.
  uint32_t maxCtas = 0;
};

struct LaunchReport {
  enum class Status { Ok, Findings, Deadlock };
  Status status = Status::Ok;
  /// Objects {id, severity, message, ptx_line, source, warp, lane, cta, other};
  /// unknown parts are null.
  llvm::json::Array findings;
  /// What the driver said where the launch failed, empty otherwise.
  std::string driverError;
  /// Unknown on a GPU.
  std::optional<uint64_t> warpInstructions;
  std::array<uint32_t, 3> grid = {0, 0, 0};
  /// False where the grid is empty.
  bool launched = false;
  /// Wall time of the launch alone.
  double seconds = 0;
};

/// The sentence that says how `tensors` disagree with each other or with the
/// kernel, as an error: shapes, types, alignment, lengths and a grid beyond the
/// limits, entries of a list that do not fit, and outputs that share memory
/// with another tensor.
llvm::Error checkProblem(const Manifest &manifest,
                         const AttentionTensors &tensors);

llvm::Expected<LaunchReport>
runAttention(const Manifest &manifest, const std::string &ptx, Device &device,
             AttentionTensors &tensors, const RunOptions &options);

} // namespace fmha::runtime

#endif // FMHA_RUNTIME_ATTENTION_H
