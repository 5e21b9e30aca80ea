//===- Splits.cpp - KV blocks shared out to several CTAs ------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Schedule/Splits.h"
#include "fmha/Target/Target.h"

#include <algorithm>

using namespace fmha;
using namespace fmha::schedule;

Problem fmha::schedule::kernelProblem(const Problem &problem,
                                      const Schedule &schedule) {
  return schedule.splits > 1 ? partOf(problem) : problem;
}

/// The KV blocks that a row block sees at most: a window shows it few keys.
static uint64_t blocksOf(const Problem &problem, const Schedule &schedule,
                         uint64_t rows) {
  uint64_t keys = problem.kvLenHint;
  std::optional<unsigned> right = problem.mask.rightBound();
  if (problem.mask.left && right)
    keys = std::min<uint64_t>(keys, rows + *problem.mask.left + *right);
  return (keys + schedule.kvBlock - 1) / schedule.kvBlock;
}

/// Heads, or chunks of groups of packed ones.
static uint64_t headParts(const Problem &problem, const Schedule &schedule) {
  uint64_t group = groupHint(problem), packed = schedule.packHeads;
  if (packed == 1 || group == 0)
    return problem.qHeadsHint;
  return problem.qHeadsHint / group * ((group + packed - 1) / packed);
}

SplitChoice fmha::schedule::chooseSplits(const Problem &problem,
                                         const Schedule &schedule) {
  constexpr uint64_t fewBlocks = 4;
  const target::Target *gpu = target::findTarget(schedule.target);
  if (!gpu || !problem.qLenHint || !problem.kvLenHint || !problem.batchHint ||
      !problem.qHeadsHint)
    return {};
  auto str = [](uint64_t value) { return std::to_string(value); };
  uint64_t rows = uint64_t(schedule.qTiles) * queriesOfTile(schedule);
  uint64_t ctas = (problem.qLenHint + rows - 1) / rows *
                  headParts(problem, schedule) * problem.batchHint *
                  outputPasses(problem, schedule);
  uint64_t blocks = blocksOf(problem, schedule, rows);
  std::string there = str(ctas) + " CTAs on " + str(gpu->sms) + " SMs, " +
                      str(blocks) + " KV blocks each";
  if (blocks <= fewBlocks)
    return {1, "splits = 1: " + there + ", too few to share out"};
  uint64_t splits =
      std::min<uint64_t>({gpu->sms / ctas, blocks, uint64_t(mostSplits)});
  if (splits <= 1)
    return {1, "splits = 1: " + there + ", which fill the GPU"};
  return {unsigned(splits), "splits = " + str(splits) + ": " + there};
}
