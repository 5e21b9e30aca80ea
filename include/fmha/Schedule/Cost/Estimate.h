//===- Estimate.h - Modeled time of a whole launch --------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From the KV blocks of query tiles to CTAs and waves over the SMs:
//
//   CTA     memory latency, blocks * clocks of a block, memory latency
//   tile    each further tile of an SM takes clocks in addition to its blocks,
//           fewer if the CTA of the previous tile runs ahead into it
//   launch  ceil(CTAs / SMs) waves of equal CTAs. With a mask CTAs differ: the
//           longest of them, or all of them spread evenly, whichever is longer
//           (longest first comes close to that)
//   splits  each CTA has its share of a row block's KV blocks, and a second
//           kernel reads and combines all partial outputs
//   memory  Q, O or its partial outputs, and the K and V that rows see, once at
//           the bandwidth of device memory
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_SCHEDULE_COST_ESTIMATE_H
#define FMHA_SCHEDULE_COST_ESTIMATE_H

#include "fmha/Schedule/Cost/CostModel.h"

#include <cstdint>

namespace fmha::schedule {

struct Workload {
  uint64_t batch = 1, qHeads = 1, kvHeads = 1, qLen = 1, kvLen = 1;
  Mask mask;
};

struct Estimate {
  /// Output tiles that a CTA computes one at a time, one for each split of
  /// their keys, and the CTAs that a host launches for them.
  uint64_t tiles = 0, ctas = 0;
  /// Tiles per SM, rounded up, and the share of SM time in them that has work.
  double waves = 0, occupancy = 0;
  double clocks = 0, seconds = 0;
  /// The share of the merge kernel in `clocks`, and the clocks of all blocks if
  /// memory were no limit.
  double combineClocks = 0, blockClocks = 0;
  /// 10^12 FLOP of both products per second, without those of masked scores.
  double teraflops = 0;
  /// Device memory takes longer than all blocks.
  bool memoryBound = false;
};

/// KV blocks of all CTAs of one head, and of the longest of them, and the
/// number of the CTAs. The tiles of a CTA process the blocks that any of them
/// sees.
struct Blocks {
  double all = 0, longest = 0, tiles = 0;
};

/// Returns the query rows of one head in a CTA, and the number of such CTAs
/// that share the heads of one batch: heads, or chunks of groups.
uint64_t queriesPerCta(const KernelModel &kernel);
uint64_t headParts(const KernelModel &kernel, const Workload &workload);

/// Estimates for one workload. The blocks of tiles of one shape are counted
/// once for all kernels.
class Launches {
public:
  explicit Launches(const Workload &workload) : workload(workload) {}
  /// `block` is modelCost(kernel). Returns no time for an empty workload.
  Estimate estimate(const KernelModel &kernel, const Cost &block);

private:
  const Blocks &blocksOf(const KernelModel &kernel);
  double clocks(const KernelModel &kernel, const Cost &block,
                const Estimate &sofar);

  /// Query rows of one head of a CTA, keys of a block.
  struct Counted {
    uint64_t rows, keys;
    Blocks blocks;
  };
  Workload workload;
  std::vector<Counted> counted;
};

/// Returns the estimate of one kernel.
Estimate estimate(const KernelModel &kernel, const Workload &workload);

/// Returns the workload of a problem's hints, or nothing if one is missing.
std::optional<Workload> workloadOf(const Problem &problem);
/// Returns that of a launch of `schedule`. If sequences share splits by their
/// lengths, the launch takes as long as one in which all have the mean length.
std::optional<Workload> workloadOf(const Problem &problem,
                                   const Schedule &schedule);

} // namespace fmha::schedule

#endif // FMHA_SCHEDULE_COST_ESTIMATE_H
