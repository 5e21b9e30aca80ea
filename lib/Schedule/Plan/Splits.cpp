//===- Splits.cpp - KV blocks split over several CTAs ---------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Schedule/Plan/Splits.h"

#include "Candidates.h"

#include "fmha/Schedule/Cost/Estimate.h"
#include "fmha/Target/Target.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

using namespace fmha;
using namespace fmha::schedule;

namespace {

/// A launch of one schedule without splits.
struct LaunchSize {
  uint64_t ctas = 0, atOnce = 0, sms = 0;
  /// KV blocks per CTA. A window makes them few.
  uint64_t blocks = 0;

  bool fills() const { return ctas >= atOnce; }
  /// Returns whether more than a tenth of the SMs have no CTA.
  bool leavesIdle(uint64_t splits) const {
    return ctas * splits * 10 < sms * 9;
  }
  /// Returns the splits that make `waves` waves of CTAs.
  uint64_t partsOf(uint64_t waves) const {
    return std::min({waves * atOnce / std::max<uint64_t>(ctas, 1), blocks,
                     uint64_t(mostSplits)});
  }
};

LaunchSize sizeOf(const Problem &problem, const KernelModel &kernel,
                  const Workload &workload) {
  const target::Target &gpu = *target::findTarget(kernel.target);
  uint64_t queries = queriesPerCta(kernel);
  LaunchSize size;
  size.ctas = (workload.qLen + queries - 1) / queries *
              headParts(kernel, workload) * workload.batch * kernel.passes;
  size.sms = gpu.sms;
  size.atOnce = size.sms * kernel.ctasPerSm;
  uint64_t keys = workload.kvLen;
  std::optional<unsigned> right = problem.mask.rightBound();
  if (problem.mask.left && right)
    keys = std::min<uint64_t>(keys, queries + *problem.mask.left + *right);
  size.blocks = (keys + kernel.keys - 1) / kernel.keys;
  return size;
}

/// Returns the counts to consider: 1, then steps of at most a half, and those
/// that fill one wave and a few, beyond which balance does not improve.
std::vector<unsigned> partCounts(const LaunchSize &size) {
  constexpr uint64_t fewWaves = 8;
  if (size.fills())
    return {1};
  unsigned one = unsigned(size.partsOf(1));
  unsigned most = unsigned(size.partsOf(fewWaves));
  std::vector<unsigned> counts = {1};
  for (unsigned count = 2; count < most; count *= 2)
    for (unsigned step : {count, count + count / 2})
      if (step < most && step > counts.back())
        counts.push_back(step);
  for (unsigned last : {one, most})
    if (last > 1 &&
        std::find(counts.begin(), counts.end(), last) == counts.end())
      counts.push_back(last);
  return counts;
}

/// Returns the properties of a launch other than the clocks of a block.
auto shapeOf(const KernelModel &kernel) {
  return std::tuple(kernel.tiles, kernel.tileRows, kernel.packHeads,
                    kernel.keys, kernel.passes, kernel.ctasPerSm,
                    kernel.persistent);
}

/// The fastest schedule of each shape.
class Fastest {
public:
  Fastest(const Problem &problem, const Workload &workload)
      : problem(problem), workload(workload) {}

  void add(const Schedule &schedule);
  SplitChoice choose() const;

private:
  struct Candidate {
    KernelModel kernel;
    /// Costs without splits and with, where maxima have to be true ones.
    Cost block, part;
    LaunchSize size;
    std::vector<unsigned> counts;
    KvCopy copy;
  };
  /// A candidate with one number of splits. `blocks` does not include the time
  /// of memory. If many SMs have no CTA, the launch is `idle`.
  struct Launch {
    SplitChoice choice;
    double clocks, blocks;
    bool memoryBound, idle;
    KvCopy copy;
  };
  std::vector<Launch> launches() const;
  const Problem &problem;
  const Workload &workload;
  std::map<decltype(shapeOf({})), Candidate> candidates;
};

void Fastest::add(const Schedule &schedule) {
  KernelModel kernel = modelOf(problem, schedule);
  auto [place, isNew] = candidates.try_emplace(shapeOf(kernel));
  Candidate &best = place->second;
  if (isNew) {
    best.size = sizeOf(problem, kernel, workload);
    best.counts = partCounts(best.size);
  }
  // Without splits the best candidate counts, which comes first.
  if (best.counts.size() < 2 && candidates.size() > 1)
    return;
  Cost block = modelCost(kernel);
  if (isNew || block.clocks < best.block.clocks) {
    best.kernel = kernel;
    best.copy = schedule.kvCopy;
    best.block = block;
    kernel.rescaleThreshold = 0;
    best.part = best.counts.size() > 1 ? modelCost(kernel) : block;
  }
}

std::vector<Fastest::Launch> Fastest::launches() const {
  Launches estimates(workload);
  std::vector<Launch> all;
  for (const auto &[shape, candidate] : candidates) {
    if (candidate.block.clocks <= 0)
      continue;
    KernelModel kernel = candidate.kernel;
    for (unsigned count : candidate.counts) {
      kernel.splits = count;
      Estimate whole = estimates.estimate(kernel, count > 1 ? candidate.part
                                                            : candidate.block);
      bool fillsSms = whole.memoryBound && candidate.size.leavesIdle(1) &&
                      !candidate.size.leavesIdle(count);
      all.push_back({{count, kernel.packHeads, fillsSms},
                     whole.clocks,
                     whole.blockClocks + whole.combineClocks,
                     whole.memoryBound,
                     candidate.size.leavesIdle(count),
                     candidate.copy});
    }
  }
  return all;
}

SplitChoice Fastest::choose() const {
  std::vector<Launch> all = launches();
  auto shorter = [](const Launch &a, const Launch &b) {
    return a.clocks < b.clocks;
  };
  auto least = std::min_element(all.begin(), all.end(), shorter);
  if (least == all.end())
    return {};
  double most = least->clocks * (1 + launchTolerance);
  bool memoryBound = least->memoryBound;
  auto rank = [&](const Launch &launch) {
    unsigned parts = launch.choice.splits;
    // If memory bounds the launch, first prefer counts that keep all SMs busy:
    // GPUs of one target differ in bandwidth, and the fastest needs requests
    // from all SMs, and no more of them. Next prefer one launch to two, and
    // then few splits, or the shortest blocks.
    // Threads that copy pages wait for each page's number: more CTAs hide that
    // (results/h100-page-rings-2026-11-27.md).
    bool waits = problem.blockTables && launch.copy == KvCopy::CpAsync;
    bool few = !memoryBound || (launch.choice.fillsSms && !waits);
    return std::tuple(launch.clocks > most, memoryBound && launch.idle,
                      parts > 1, few ? double(parts) : launch.blocks,
                      launch.clocks);
  };
  return std::min_element(all.begin(), all.end(),
                          [&](const Launch &a, const Launch &b) {
                            return rank(a) < rank(b);
                          })
      ->choice;
}

} // namespace

SplitChoice fmha::schedule::chooseSplits(const Problem &problem,
                                         const Plan &plan) {
  std::optional<Workload> workload = workloadOf(problem);
  // Lists of blocks have no splits (plan.C3).
  if (!workload || problem.kvIndices)
    return {};
  Fastest fastest(problem, *workload);
  fastest.add(plan.schedule);
  for (const Rejected &one : plan.runnersUp)
    fastest.add(one.schedule);
  return fastest.choose();
}

/// Returns about three CTAs for each that runs at once, and at most 8 slots per
/// sequence, or as many as fill the GPU: over 18 batches on an H100 these took
/// at most 1.07 times as long as the fastest of 11 counts
/// (results/h100-uneven-2026-11-26.md).
unsigned fmha::schedule::chooseSlots(const Problem &problem,
                                     const Schedule &schedule) {
  constexpr uint64_t most = 8, waves = 3;
  std::optional<Workload> workload = workloadOf(problem);
  uint64_t longest = problem.kvLenHint, mean = problem.kvLenMeanHint;
  bool uneven = workload && problem.kvLens && mean && mean * 5 < longest * 4;
  // A window makes sequences equally long.
  if (!uneven || workload->batch == 1 || problem.mask.left ||
      problem.cuSeqlensQ || problem.topk || problem.kvIndices)
    return 1;
  KernelModel kernel = modelOf(problem, schedule);
  LaunchSize size = sizeOf(problem, kernel, *workload);
  // Chunks of prompts have many CTAs per sequence.
  bool isDecoding = workload->qLen <= queriesPerCta(kernel);
  if (!isDecoding || longest * size.atOnce * 2 < mean * size.ctas)
    return 1;
  uint64_t ctas = std::max<uint64_t>(size.ctas, 1);
  uint64_t slots = (waves * size.atOnce + ctas / 2) / ctas;
  // More slots than blocks would be empty.
  uint64_t blocks = std::max<uint64_t>(mean / kernel.keys, 2);
  uint64_t filling = std::min((size.atOnce + ctas - 1) / ctas, blocks);
  slots = std::clamp<uint64_t>(slots, 2, std::max(most, filling));
  return unsigned(std::min<uint64_t>(slots, mostSplits));
}

std::vector<SplitClocks>
fmha::schedule::clocksOfSplits(const Problem &problem,
                               const Schedule &schedule) {
  std::optional<Workload> workload = workloadOf(problem, schedule);
  if (!workload || !target::findTarget(schedule.target))
    return {};
  std::vector<unsigned> counts =
      partCounts(sizeOf(problem, modelOf(problem, schedule), *workload));
  counts.push_back(schedule.splits);
  std::sort(counts.begin(), counts.end());
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  std::vector<SplitClocks> all;
  for (unsigned count : counts) {
    Schedule parts = schedule;
    parts.splits = count;
    parts.rescaleThreshold = usualThreshold(problem, parts);
    all.push_back({count, modelCost(problem, parts).launchClocks});
  }
  return all;
}

std::string fmha::schedule::describeLaunchSize(const Problem &problem,
                                               const Schedule &schedule) {
  std::optional<Workload> workload = workloadOf(problem);
  if (!workload || !target::findTarget(schedule.target))
    return "";
  LaunchSize size = sizeOf(problem, modelOf(problem, schedule), *workload);
  auto counted = [](uint64_t count, const char *what) {
    return std::to_string(count) + ' ' + what + (count == 1 ? "" : "s");
  };
  return counted(size.ctas, "CTA") + " on " +
         counted(target::findTarget(schedule.target)->sms, "SM") + ", " +
         counted(size.blocks, "KV block") + " each";
}

bool fmha::schedule::fillsGpu(const Problem &problem,
                              const Schedule &schedule) {
  std::optional<Workload> workload = workloadOf(problem);
  return workload && target::findTarget(schedule.target) &&
         sizeOf(problem, modelOf(problem, schedule), *workload).fills();
}
