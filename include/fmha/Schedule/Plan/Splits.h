//===- Splits.h - KV blocks split over several CTAs -------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_SCHEDULE_PLAN_SPLITS_H
#define FMHA_SCHEDULE_PLAN_SPLITS_H

#include "fmha/Schedule/Model/Schedule.h"

#include <string>
#include <vector>

namespace fmha::schedule {

struct SplitChoice {
  unsigned splits = 1;
  /// Heads packed into the tiles of the schedule.
  unsigned packHeads = 1;
  /// Whether memory bounds the launch and SMs would be idle without splits.
  bool fillsSms = false;
};

/// Returns how many CTAs share the KV blocks of a row block so that the best of
/// the plan's schedules, runners-up included, makes the shortest modeled launch
/// together with the merge kernel (Estimate.h). Returns 1 if that is as short
/// within launchTolerance, if a hint is missing, or if the CTAs without splits
/// fill the SMs, since the model was not measured for many waves. Among counts
/// within the tolerance it prefers the smallest. If memory is the limit, it
/// prefers the shortest blocks instead, since more CTAs come closer to that
/// limit, and counts that keep all SMs busy. There are no more
/// splits than blocks, and only enough for a few waves of CTAs.
SplitChoice chooseSplits(const Problem &problem, const Plan &plan);

/// Returns the number of slots per sequence for split_by = length. Returns 1 if
/// splits by length do not help: the launch is not one of decoding several
/// sequences, the mean length is unknown or more than 4/5 of the longest, a
/// window bounds the keys, or the longest sequence takes less than half of the
/// launch.
unsigned chooseSlots(const Problem &problem, const Schedule &schedule);

/// The modeled clocks of a launch with that many splits, merge kernel included.
struct SplitClocks {
  unsigned splits;
  double clocks;
};
/// Returns one entry for each count to consider, and for that of `schedule`, in
/// ascending order; none if a hint is missing.
std::vector<SplitClocks> clocksOfSplits(const Problem &problem,
                                        const Schedule &schedule);

/// Returns "8 CTAs on 148 SMs, 512 KV blocks each", the size of the launch
/// without splits; empty if a hint is missing.
std::string describeLaunchSize(const Problem &problem,
                               const Schedule &schedule);

/// Returns whether the CTAs of `schedule` without splits fill all SMs; false if
/// a hint is missing.
bool fillsGpu(const Problem &problem, const Schedule &schedule);

} // namespace fmha::schedule

#endif // FMHA_SCHEDULE_PLAN_SPLITS_H
