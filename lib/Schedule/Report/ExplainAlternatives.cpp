//===- ExplainAlternatives.cpp - The effect of single fields ----*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Schedule/Cost/CostModel.h"
#include "fmha/Schedule/Model/Overrides.h"
#include "fmha/Schedule/Plan/Splits.h"
#include "fmha/Schedule/Report/Explain.h"

#include "Cost/FamilyCost.h"
#include "Model/Text.h"
#include "Rules/Check.h"

using namespace fmha;
using namespace fmha::schedule;

/// Returns the modeled clocks of `cost`, of the launch if it is known.
static double clocksOf(const Cost &cost) {
  return cost.launchClocks > 0 ? cost.launchClocks : cost.clocksPerRow;
}

std::string fmha::schedule::listSplits(const Problem &problem,
                                       const Plan &plan) {
  std::vector<SplitClocks> all = clocksOfSplits(problem, plan.schedule);
  if (all.size() < 2)
    return "";
  std::string text = "splits of the choice, modeled clk of launch and merge:";
  for (const SplitClocks &one : all)
    text += std::string(&one == &all.front() ? " " : ", ") + str(one.splits) +
            (one.splits == 1 ? " part " : " parts ") + rounded(one.clocks) +
            (one.splits == plan.schedule.splits ? " (this)" : "");
  return wrap(text +
                  "; the planner compares such counts of all schedules, and "
                  "of launches within " +
                  rounded(100 * launchTolerance) +
                  " % of the shortest takes one kernel before two, then the "
                  "fewest parts or, where device memory bounds them, the "
                  "shortest blocks",
              4);
}

namespace {
/// A field that is no level of the tree of candidates, and a value for it.
struct ByRequest {
  std::string_view field;
  unsigned value;
};
} // namespace

/// Not compared on a GPU yet, so the planner does not rely on the model.
static constexpr ByRequest byRequest[] = {
    {"exp2_emulated", 12},
    {"exp2_emulated", 25},
    {"scheduler", unsigned(Scheduler::Static)},
    {"scheduler", unsigned(Scheduler::Dynamic)}};

/// Returns "exp2_emulated = 25: modeled 6.41 ..., the choice takes 7.20", or
/// nothing if the choice cannot have it, has it, or is no slower.
static std::string faster(const Problem &problem, const Plan &plan,
                          const ByRequest &request) {
  for (const ScheduleField &field : scheduleFields()) {
    if (field.name != request.field)
      continue;
    Schedule other = plan.schedule;
    field.set(other, request.value);
    other.roles.clear();
    if (check(problem, withRoles(other)))
      return "";
    Cost cost = modelCost(problem, other);
    Cost chosen = modelCost(problem, plan.schedule);
    // The planner has compared them.
    if (cost.ordered > 0 && chosen.ordered > 0)
      return "";
    double its = clocksOf(chosen);
    double mine = clocksOf(cost);
    if (mine >= its)
      return "";
    bool launch = cost.launchClocks > 0;
    auto print = [&](double clocks) {
      return launch ? rounded(clocks) : twoDigits(clocks);
    };
    return std::string(field.name) + " = " + field.print(request.value) +
           ": modeled " + print(mine) +
           (launch ? " clk of the launch" : " clk per row and 128 keys") +
           ", the choice takes " + print(its);
  }
  return "";
}

std::string fmha::schedule::listByRequest(const Problem &problem,
                                          const Plan &plan) {
  // Measured on an H200: it is slower there, which the model does not predict.
  if (familyOf(plan.schedule).cost.measured)
    return "";
  std::string text;
  for (const ByRequest &request : byRequest)
    if (std::string one = faster(problem, plan, request); !one.empty())
      text += "  " + wrap("- " + one, 4);
  return text.empty()
             ? text
             : "by request only, since no GPU has compared them:\n" + text;
}
