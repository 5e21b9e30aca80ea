//===- Attention.h - Run a compiled attention kernel ------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Launches a compiled kernel on a problem in host memory:
//
//   auto manifest = parseManifest(result.manifest);
//   auto device = Device::open({.kind = DeviceKind::Simulator});
//   AttentionTensors tensors{.q = ..., .k = ..., .v = ..., .o = ...};
//   auto report = runAttention(*manifest, result.ptx, **device, tensors, {});
//
// An empty grid is not launched. A fault, finding or deadlock of the kernel is
// part of the report and not an Error; an Error means that the problem or the
// device is not suitable.
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

/// A dense tensor that the score region reads.
struct CaptureData {
  const void *host = nullptr;
  /// "f32", "f16", "bf16", "i64", "i32", "i8" or "i1" (a byte, 0 or 1).
  std::string element;
  std::vector<int64_t> dims;
};

/// A dense tensor of 32-bit integers.
struct IntegerTensor {
  std::vector<int64_t> dims;
  std::vector<int32_t> entries;
};

/// q [batch, q_len, q_heads, head_dim], k [batch, kv_len, kv_heads, head_dim],
/// v [batch, kv_len, kv_heads, head_dim_v], o [batch, q_len, q_heads,
/// head_dim_v], lse [batch, q_len, q_heads, 1] in f32. Query head h uses KV
/// head floor(h * kv_heads / q_heads). For a kernel with v_in_k, v is the
/// first head_dim_v columns of k and has its address and strides. rowMax and
/// rowSum have the shape and type of lse; o has the type that the kernel was
/// compiled for. The kernel writes `o`, and lse, rowMax and rowSum if they are
/// given.
///
/// Varlen metadata is given if the kernel was compiled with it. kvLens has the
/// number of keys per sequence. cuSeqlensQ has the row at which each sequence
/// of packed queries begins, and the end of the last one; q and the outputs
/// then have batch 1, and output rows that belong to no sequence are not
/// written. cuSeqlensK has the same for k and v. k2 [sequences, kv_len2,
/// kv_heads, head_dim] and v2 are the second KV segment if the kernel has one,
/// and source2Lens has its number of keys per sequence.
///
/// With blockTables, k and v are paged caches, [pages, page_size, kv_heads,
/// dim]. Each sequence has a row of `maxPages` entries: key j is row j mod
/// page_size of the page that entry j / page_size names. kvLens is then
/// required.
///
/// topk has a list of `topkLen` positions for each query, [batch, q_len, n]: it
/// attends to the keys of its sequence at these positions, up to the first -1.
///
/// kvNumBlocks and kvIndices list blocks of block_keys keys for each block of
/// block_rows query rows, [batch or 1, q_heads or 1, row blocks] and [.., n];
/// the row block attends to the keys of the first kvNumBlocks of these.
/// fullKvNumBlocks and fullKvIndices list more blocks, for which the last
/// argument of the score region is true.
///
/// kScale, vScale and qScale are given if k and v, or q as well, are of e4m3:
/// the values are those stored times these. qScale has one entry; kScale and
/// vScale have one, or one per KV head or page of k, as the kernel was
/// compiled.
///
/// keyNew [batch, n, kv_heads, head_dim] and valueNew are given if the kernel
/// appends them: it also writes k and v. cos and sin [1, positions, 1,
/// rotary_dim / 2] in f32 are given if it rotates q and keyNew.
struct AttentionTensors {
  Tensor4 q, k, v, o;
  std::optional<Tensor4> lse;
  std::optional<std::vector<int32_t>> kvLens, cuSeqlensQ, cuSeqlensK;
  /// One logit per query head.
  std::optional<std::vector<float>> sink;
  /// In the order in which the score region first reads them.
  std::vector<CaptureData> captures;
  std::optional<Tensor4> k2 = std::nullopt, v2 = std::nullopt;
  std::optional<std::vector<int32_t>> source2Lens = std::nullopt;
  std::optional<Tensor4> rowMax = std::nullopt, rowSum = std::nullopt;
  std::optional<std::vector<int32_t>> blockTables = std::nullopt;
  int64_t maxPages = 0;
  std::optional<std::vector<int32_t>> topk = std::nullopt;
  int64_t topkLen = 0;
  /// The batch and the queries of topk, if the caller knows them.
  std::optional<std::pair<int64_t, int64_t>> topkQueries = std::nullopt;
  std::optional<IntegerTensor> kvNumBlocks = std::nullopt,
                               kvIndices = std::nullopt,
                               fullKvNumBlocks = std::nullopt,
                               fullKvIndices = std::nullopt;
  std::optional<std::vector<float>> kScale = std::nullopt,
                                    vScale = std::nullopt,
                                    qScale = std::nullopt;
  std::optional<Tensor4> keyNew = std::nullopt, valueNew = std::nullopt;
  std::optional<Tensor4> cos = std::nullopt, sin = std::nullopt;

  /// Returns the maximum number of keys per sequence of k.
  int64_t maxKeys() const {
    return blockTables ? maxPages * k.dims[1] : k.dims[1];
  }
};

/// Returns an error if varlen metadata, or an entry of it, does not fit the
/// other tensors; the message names the entry.
llvm::Error checkSequences(const AttentionTensors &tensors);
/// Returns an error if lists of blocks of these sizes do not fit the other
/// tensors, or if a count or a counted entry is out of range; the message names
/// the entry.
llvm::Error checkBlocks(const AttentionTensors &tensors, int64_t blockRows,
                        int64_t blockKeys);
/// Returns the number of sequences: that of the varlen metadata, or the batch
/// size of q.
int64_t sequenceCount(const AttentionTensors &tensors);
/// Returns the rows [first, second) of q, or of k and v, that belong to
/// sequence n; with pages the rows of k and v are counted over its pages. The
/// varlen metadata must have passed checkProblem().
std::pair<int64_t, int64_t> queriesOf(const AttentionTensors &tensors,
                                      int64_t n);
std::pair<int64_t, int64_t> keysOf(const AttentionTensors &tensors, int64_t n);
/// Returns the rows of sequence n in the second KV segment; none without one.
std::pair<int64_t, int64_t> keys2Of(const AttentionTensors &tensors, int64_t n);

/// Options in the spelling of the command line. A GPU ignores all but `padding`
/// and `maxCtas`.
struct RunOptions {
  std::string policy = "eager";
  uint64_t scheduleSeed = 0;
  std::string checks = "all";
  std::string conformance = "isa";
  std::string mma = "fast";
  std::string approx = "correct";
  /// Models the time of each kernel; needs policy eager.
  bool time = false;
  /// With `time`, that of the SASS of each kernel in place of its PTX.
  bool sass = false;
  /// With `time`, the file that gets the modeled timeline of the first kernel;
  /// further kernels have ".2" and so on after it. Empty: none.
  std::string timeline;
  Padding padding;
  /// The maximum number of CTAs of a kernel with a static scheduler; 0 for as
  /// many as fit on the device.
  uint32_t maxCtas = 0;
};

struct LaunchReport {
  enum class Status { Ok, Findings, Deadlock };
  Status status = Status::Ok;
  /// Objects {id, severity, message, ptx_line, source, warp, lane, cta, other};
  /// unknown parts are null.
  llvm::json::Array findings;
  /// The driver's error if the launch failed, empty otherwise.
  std::string driverError;
  /// The number of warp instructions; none on a GPU.
  std::optional<uint64_t> warpInstructions;
  /// Objects {clocks {low, middle, high}, bound, mma_utilisation}, the modeled
  /// time of each kernel; empty without RunOptions::time.
  llvm::json::Array times;
  std::array<uint32_t, 3> grid = {0, 0, 0};
  /// False if the grid is empty.
  bool launched = false;
  /// Wall time of the launch, without allocation and copies.
  double seconds = 0;
};

/// Returns an error if `tensors` do not fit each other or the kernel. Checks
/// shapes, types, alignment, the limits of lengths and of the grid, the entries
/// of varlen metadata, and that no output shares memory with another tensor.
llvm::Error checkProblem(const Manifest &manifest,
                         const AttentionTensors &tensors);

/// Checks `tensors`, copies them to the device, runs the kernel and copies the
/// outputs back.
llvm::Expected<LaunchReport>
runAttention(const Manifest &manifest, const std::string &ptx, Device &device,
             AttentionTensors &tensors, const RunOptions &options);

} // namespace fmha::runtime

#endif // FMHA_RUNTIME_ATTENTION_H
