//===- Splits.h - KV blocks shared out to several CTAs ----------*- C++ -*-===//
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
  /// Heads packed into the tiles of the schedule that this is for.
  unsigned packHeads = 1;
};

/// How many CTAs are to share the KV blocks of a row block, so that one of the
/// plan's schedules, runners-up among them, makes the shortest modelled launch,
/// the kernel that combines included (Estimate.h). 1 if that is as short within
/// launchTolerance, or where a hint is missing. Of counts as short within it
/// the fewest or, where memory is the limit, that with the shortest blocks:
/// more CTAs come closer to that limit. None where the CTAs without parts fill
/// the SMs, as everyone has it: what the model says of many waves was not
/// measured. Parts are no more than blocks, and make a few waves of CTAs.
SplitChoice chooseSplits(const Problem &problem, const Plan &plan);

/// Modelled clocks of the launch of `schedule` in so many parts, the kernel
/// that combines them included.
struct SplitClocks {
  unsigned splits;
  double clocks;
};
/// One entry for each count that is worth a thought, and for that of `schedule`
/// in ascending order; none where a hint is missing.
std::vector<SplitClocks> clocksOfSplits(const Problem &problem,
                                        const Schedule &schedule);

/// "8 CTAs on 148 SMs, 512 KV blocks each", of what `schedule` were without
/// splits; empty where a hint is missing.
std::string describeLaunchSize(const Problem &problem,
                               const Schedule &schedule);

/// Whether every SM has as many CTAs of it without parts as it has room for.
/// False where a hint is missing.
bool fillsGpu(const Problem &problem, const Schedule &schedule);

} // namespace fmha::schedule

#endif // FMHA_SCHEDULE_PLAN_SPLITS_H
