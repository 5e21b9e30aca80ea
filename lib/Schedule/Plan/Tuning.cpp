//===- Tuning.cpp - Schedules to compare by their steps ---------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Schedule/Plan/Tuning.h"

#include "Axes.h"

#include "fmha/Schedule/Cost/Estimate.h"
#include "fmha/Schedule/Model/Overrides.h"
#include "fmha/Schedule/Model/TileOrder.h"

#include <algorithm>
#include <tuple>

using namespace fmha::schedule;

/// Keys of the shorter launch, and the keys that the longer one has more. Below
/// that, the first loads are a large part of the clocks.
static constexpr unsigned fewestKeys = 1024;

/// Returns the fields by which two schedules differ in their steps. Rings have
/// the stages that fit, and schedulers differ between tiles only.
static auto shapeOf(const Schedule &s) {
  return std::tuple(s.family, s.qTiles, s.qTileRows, s.kvBlock, s.packHeads,
                    s.oColumns, s.sStages, s.pPlacement, s.pSlices,
                    s.exp2EmulatedPercent, s.ctasPerSm, s.ctaGroup, s.shareKv,
                    s.kvCopy);
}

std::vector<Schedule> fmha::schedule::schedulesToStep(const Plan &plan,
                                                      size_t most) {
  std::vector<Schedule> chosen = {plan.schedule};
  for (const Rejected &other : plan.runnersUp) {
    auto sameShape = [&](const Schedule &one) {
      return shapeOf(one) == shapeOf(other.schedule);
    };
    if (chosen.size() >= most)
      break;
    if (std::ranges::none_of(chosen, sameShape))
      chosen.push_back(withRoles(other.schedule));
  }
  return chosen;
}

std::vector<Schedule>
fmha::schedule::withEmulation(const Problem &problem, const Schedule &schedule,
                              const Overrides &overrides) {
  std::vector<Schedule> emulating;
  if (overrides[Choice::Exp2Emulated])
    return emulating;
  for (unsigned share : familyOf(schedule).candidates.emulatedShares) {
    Schedule one = schedule;
    one.exp2EmulatedPercent = share;
    one.roles.clear();
    one = withRoles(std::move(one));
    if (share > schedule.exp2EmulatedPercent && !check(problem, one))
      emulating.push_back(std::move(one));
  }
  return emulating;
}

SteppedLaunch fmha::schedule::launchToStep(const Schedule &schedule) {
  // The CTAs of a pair have neighboring rows, or chunks of packed heads.
  uint64_t ctas = std::max(1u, schedule.ctaGroup);
  uint64_t ctasOfQueries = ctasOfRows(schedule.packHeads, schedule.ctaGroup);
  uint64_t rows = schedule.qTiles * schedule.qTileRows * ctasOfQueries;
  uint64_t heads = schedule.packHeads * (ctas / ctasOfQueries);
  uint64_t blocks = (fewestKeys + schedule.kvBlock - 1) / schedule.kvBlock;
  uint64_t keys = blocks * schedule.kvBlock;
  return {heads * schedule.ctasPerSm, rows / schedule.packHeads, keys, 2 * keys,
          blocks};
}

Schedule fmha::schedule::forStepping(Schedule schedule) {
  schedule.scheduler = Scheduler::Single;
  schedule.splits = 1;
  schedule.splitBy = SplitBy::Sequence;
  return schedule;
}

Cost fmha::schedule::steppedCost(const Problem &problem,
                                 const Schedule &schedule, double clocks) {
  Cost cost = modelCost(problem, schedule);
  double ratio = clocks / cost.clocks;
  cost.clocks = clocks;
  cost.chain *= ratio;
  cost.clocksPerRow *= ratio;
  if (std::optional<Workload> workload = workloadOf(problem, schedule))
    cost.launchClocks =
        Launches(*workload).estimate(modelOf(problem, schedule), cost).clocks;
  return cost;
}
