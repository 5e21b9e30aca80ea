//===- Tuning.h - Schedules to compare by their steps -----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The planner's formulas rank thousands of schedules. A cycle model of the
// compiled kernel (fmha-run --time) is slower and more accurate, so it compares
// only the few that the planner ranks highest.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_SCHEDULE_PLAN_TUNING_H
#define FMHA_SCHEDULE_PLAN_TUNING_H

#include "fmha/Schedule/Cost/CostModel.h"
#include "fmha/Schedule/Model/Schedule.h"

namespace fmha::schedule {

/// Returns at most `most` schedules of `plan`, its choice first, then
/// runners-up in their order. No two have the same tiles, KV block, CTAs per
/// SM and per product, place and slices of P, and number of S.
std::vector<Schedule> schedulesToStep(const Plan &plan, size_t most);

/// Returns `schedule` with each larger share of emulated exponentials that its
/// family compares and the rules permit, or nothing if `overrides` fixes the
/// share.
std::vector<Schedule> withEmulation(const Problem &problem,
                                    const Schedule &schedule,
                                    const Overrides &overrides);

/// Returns the launch of one CTA, or pair of CTAs, per SM slot by which to step
/// `schedule`, with lengths that are whole tiles and whole KV blocks: one pass
/// over `shorter` keys and one over `longer` keys differ by `blocks` KV blocks
/// in steady state.
struct SteppedLaunch {
  uint64_t qHeads, qLen, shorter, longer, blocks;
};
SteppedLaunch launchToStep(const Schedule &schedule);

/// Returns `schedule` as it is stepped: a CTA computes one tile, and has all KV
/// blocks.
Schedule forStepping(Schedule schedule);

/// Returns modelCost(problem, schedule) with `clocks` of a block of one CTA,
/// its share if an SM runs several, in place of the planner's.
Cost steppedCost(const Problem &problem, const Schedule &schedule,
                 double clocks);

} // namespace fmha::schedule

#endif // FMHA_SCHEDULE_PLAN_TUNING_H
