//===- CandidatesWgmma.cpp - Blocks of keys for wgmma -----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Candidates.h"

#include "fmha/Schedule/Cost/Estimate.h"

using namespace fmha::schedule;

/// Where the launch is known the model says whether a CTA should do several
/// tiles; a CTA for each is right for any. Not so where passes share a row, or
/// code on scores reads several tensors: there an H200 took up to 1.73 and
/// 1.25 times as long in a loop over tiles, and the model does not know why.
std::vector<unsigned> fmha::schedule::wgmmaSchedulers(const Problem &problem) {
  std::vector<unsigned> schedulers = {unsigned(Scheduler::Single)};
  bool slow = problem.headDimV > widestPass ||
              (problem.scoreByKey && problem.captures.size() > 1);
  if (workloadOf(problem) && !slow)
    schedulers.push_back(unsigned(Scheduler::Static));
  return schedulers;
}

/// One CTA of several consumers loads each key once for all of them; several of
/// one consumer wait, begin and end apart from each other, which pays where
/// sequences are short. Which, the model can say where the launch is known; it
/// was fitted to launches of many tiles.
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

/// A wgmma has any multiple of 8 columns, so that a block takes what registers
/// leave. Behind a bound the last block of a CTA is half hidden: where nothing
/// is known of the lengths larger ones may lose more there than they win.
std::vector<unsigned> fmha::schedule::wgmmaKeyBlocks(const Problem &problem) {
  std::vector<unsigned> blocks = {128, 112, 96, 80, 64, 48, 32, 16};
  bool counted = workloadOf(problem) && !problem.mask.left;
  if ((problem.mask.isFull() || counted) && !problem.source2)
    blocks.insert(blocks.begin(), {192, 176, 160, 144});
  return blocks;
}
