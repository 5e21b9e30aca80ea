//===- Candidates.cpp - Levels of the tree for wgmma ------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Plan/Candidates.h"

#include "fmha/Schedule/Cost/Estimate.h"

using namespace fmha::schedule;

/// Returns the schedulers. If the launch is known, the model decides whether a
/// CTA loops over tiles. Loops are not considered with several head_dim_v tiles
/// or a score_mod that reads several tensors: an H200 took up to 1.73 and 1.25
/// times as long there, which the model does not predict.
std::vector<unsigned> fmha::schedule::wgmmaSchedulers(const Problem &problem) {
  std::vector<unsigned> schedulers = {unsigned(Scheduler::Single)};
  bool slow = problem.headDimV > widestPass ||
              (problem.scoreByKey && problem.captures.size() > 1);
  if (workloadOf(problem) && !slow)
    schedulers.push_back(unsigned(Scheduler::Static));
  return schedulers;
}

/// Returns the CTAs per SM. One CTA of several consumers loads each key once
/// for all of them; several CTAs of one consumer wait, start and end
/// independently, which pays for short sequences. The model decides if the
/// launch is known; it was fitted to launches of many tiles.
std::vector<unsigned> fmha::schedule::wgmmaCtasPerSm(const Problem &problem,
                                                     unsigned sms) {
  constexpr uint64_t rows = 64, rounds = 4;
  std::optional<Workload> launch = workloadOf(problem);
  if (!launch)
    return {1};
  uint64_t tiles =
      launch->batch * launch->qHeads * ((launch->qLen + rows - 1) / rows);
  return tiles < rounds * sms ? std::vector<unsigned>{1}
                              : std::vector<unsigned>{1, 2, 3};
}

/// Returns the blocks. A wgmma has any multiple of 8 columns, so registers are
/// the limit. Half of the last block is hidden by a bound of the mask: if
/// lengths are unknown, larger blocks may lose more there than they gain.
std::vector<unsigned> fmha::schedule::wgmmaKeyBlocks(const Problem &problem) {
  std::vector<unsigned> blocks = {128, 112, 96, 80, 64, 48, 32, 16};
  bool counted = workloadOf(problem) && !problem.mask.left;
  if ((problem.mask.isFull() || counted) && !problem.source2)
    blocks.insert(blocks.begin(), {192, 176, 160, 144});
  return blocks;
}
