//===- Planner.cpp - Choose a schedule --------------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Candidates.h"
#include "Relax.h"
#include "Text.h"

#include "fmha/Schedule/CostModel.h"

#include <algorithm>

using namespace fmha;
using namespace fmha::schedule;

/// 16 warps as the fastest public kernels have them. Counts per thread, so that
/// ptxas 13.0 spills nowhere: a warpgroup of softmax holds a row of 128 scores
/// per thread; the sum over the four warpgroups is 512 = 65536 / 128. With one
/// query tile softmax1 idles and lends its registers.
std::vector<Role> fmha::schedule::defaultRoles(unsigned qTiles) {
  unsigned softmax0 = qTiles == 2 ? 176 : 200;
  unsigned softmax1 = qTiles == 2 ? 176 : 24;
  unsigned correction = qTiles == 2 ? 80 : 144, other = qTiles == 2 ? 80 : 144;
  return {{"softmax0", 0, 4, softmax0},
          {"softmax1", 4, 4, softmax1},
          {"correction", 8, 4, correction},
          {"load", 12, 1, other},
          {"mma", 13, 1, other},
          {"store", 14, 1, other},
          {"spare", 15, 1, other}};
}

Schedule fmha::schedule::withRoles(Schedule schedule) {
  if (schedule.roles.empty())
    schedule.roles = defaultRoles(schedule.qTiles);
  return schedule;
}

namespace {

struct Ranked {
  Schedule schedule;
  Cost cost;
};

/// How `other` loses against `best`.
std::string slower(const Cost &other, const Cost &best) {
  bool launch = best.launchClocks > 0 &&
                other.launchClocks > best.launchClocks * (1 + launchTolerance);
  double mine = launch ? other.launchClocks : other.clocksPerRow;
  double its = launch ? best.launchClocks : best.clocksPerRow;
  std::string what =
      launch ? " clk of the launch" : " clk per row and 128 keys";
  auto print = [&](double value) {
    return launch ? rounded(value) : twoDigits(value);
  };
  if (mine > its)
    return "modelled " + print(mine) + what + ", the choice takes " +
           print(its);
  return "modelled " + print(its) + what +
         " like the choice, but its busiest unit has less slack";
}

std::vector<Ranked> rank(const Problem &problem,
                         const std::vector<Schedule> &schedules) {
  std::vector<Cost> costs;
  costs.reserve(schedules.size());
  for (const Schedule &schedule : schedules)
    costs.push_back(modelCost(problem, schedule));
  std::vector<Ranked> ranked;
  ranked.reserve(schedules.size());
  for (size_t place : rankByCost(costs))
    ranked.push_back({schedules[place], costs[place]});
  return ranked;
}

Plan planFrom(const Problem &problem, const std::vector<Ranked> &ranked) {
  const Ranked &best = ranked.front();
  Plan plan;
  plan.schedule = best.schedule;
  plan.map = layOut(problem, best.schedule);
  plan.reason =
      title(best.schedule) + ": " + describe(best.cost, best.schedule);
  for (size_t i = 1; i < ranked.size(); ++i) {
    const auto &[schedule, cost] = ranked[i];
    plan.runnersUp.push_back({schedule, title(schedule) + ": " +
                                            slower(cost, best.cost) +
                                            "; it is " + boundBy(cost)});
  }
  return plan;
}

} // namespace

std::optional<Plan> fmha::schedule::planStrictly(const Problem &problem,
                                                 std::string_view target,
                                                 const Overrides &overrides,
                                                 std::string &error) {
  Candidates candidates = enumerate(problem, target, overrides);
  if (candidates.sound.empty()) {
    // The first candidate is the one that a user would most likely want.
    const Rejected &first = candidates.rejected.front();
    error = "no schedule can serve this problem: " +
            check(problem, first.schedule).value_or(first.reason);
    return std::nullopt;
  }
  Plan plan = planFrom(problem, rank(problem, candidates.sound));
  plan.rejected = std::move(candidates.rejected);
  if (std::optional<std::string> broken =
          verify(problem, plan.schedule, plan.map)) {
    error = "the planner laid out a map that does not verify: " + *broken;
    return std::nullopt;
  }
  return plan;
}

std::optional<Plan> fmha::schedule::plan(const Problem &problem,
                                         std::string_view target,
                                         const Overrides &overrides,
                                         std::string &error) {
  std::optional<Plan> plan = planStrictly(problem, target, overrides, error);
  if (!plan)
    if (std::optional<std::string> change =
            closestChange(problem, target, overrides))
      error += "; the closest that can: " + *change;
  return plan;
}
