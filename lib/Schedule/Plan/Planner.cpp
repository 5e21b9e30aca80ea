//===- Planner.cpp - Choose a schedule --------------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Candidates.h"
#include "Emulation.h"
#include "Model/Footprint.h"
#include "Model/Text.h"
#include "Pairs.h"
#include "Relax.h"
#include "Rules/Check.h"

#include "fmha/Schedule/Cost/Estimate.h"
#include "fmha/Schedule/Model/Overrides.h"
#include "fmha/Schedule/Model/Resources.h"
#include "fmha/Schedule/Plan/Splits.h"
#include "fmha/Target/Target.h"

#include <algorithm>
#include <utility>

using namespace fmha;
using namespace fmha::schedule;

/// Returns whether two schedules differ in nothing but how CTAs take their
/// tiles, and the stages that this leaves to rings.
static bool hasSameBlocks(Schedule a, const Schedule &b) {
  a.scheduler = b.scheduler;
  a.kvStages = b.kvStages;
  a.vStages = b.vStages;
  return a == b;
}

/// Moves the shortest of the launches that differ from the first one in their
/// scheduler to the front. As their blocks are equal, no gain is too small.
static void preferShortest(std::vector<size_t> &places,
                           const std::vector<Schedule> &schedules,
                           const std::vector<Cost> &costs) {
  auto best = places.begin();
  for (auto place = places.begin(); place != places.end(); ++place)
    if (costs[*place].launchClocks < costs[*best].launchClocks &&
        hasSameBlocks(schedules[*place], schedules[places.front()]))
      best = place;
  if (best != places.end())
    std::rotate(places.begin(), best, best + 1);
}

/// Returns the sound candidates, the best first.
static std::vector<Schedule> rank(const Problem &problem,
                                  std::vector<Schedule> schedules) {
  std::optional<Launches> launches;
  // A user or the planner fixes split_by, so that all have the same.
  if (std::optional<Workload> workload =
          schedules.empty() ? std::nullopt
                            : workloadOf(problem, schedules.front()))
    launches.emplace(*workload);
  std::vector<Cost> costs;
  costs.reserve(schedules.size());
  for (const Schedule &schedule : schedules)
    costs.push_back(
        modelCost(problem, schedule, launches ? &*launches : nullptr));
  std::vector<Schedule> ranked;
  ranked.reserve(schedules.size());
  std::vector<size_t> places = rankByCost(costs);
  preferShortest(places, schedules, costs);
  for (size_t place : places)
    ranked.push_back(std::move(schedules[place]));
  return ranked;
}

static Plan planFrom(const Problem &problem, Candidates candidates,
                     const Overrides &overrides) {
  std::vector<Schedule> ranked = rank(problem, std::move(candidates.sound));
  Emulation emulation = chooseEmulation(problem, ranked, overrides);
  Plan plan;
  plan.schedule = withRoles(emulation.schedule.value_or(ranked.front()));
  plan.map = layOut(problem, plan.schedule);
  plan.reason = title(plan.schedule) + ": " +
                describe(modelCost(problem, plan.schedule), plan.schedule) +
                emulation.reason;
  plan.runnersUp.reserve(ranked.size());
  for (size_t i = emulation.schedule ? 0 : 1; i < ranked.size(); ++i)
    plan.runnersUp.push_back({std::move(ranked[i])});
  plan.rejected = std::move(candidates.rejected);
  return plan;
}

/// Returns how much memory `schedule` lacks by the rule that it violates; for
/// columns of tensor memory, of which all have the same, those that it needs.
static uint64_t lackOf(const Problem &problem, const Schedule &schedule,
                       unsigned rule) {
  constexpr unsigned ofTensorMemory = 2, ofSharedMemory = 6;
  Resources needed = resourcesOf(problem, schedule);
  if (rule == ofTensorMemory)
    return needed.tmemColumns;
  const target::Target *gpu = target::findTarget(schedule.target);
  if (rule != ofSharedMemory || !gpu)
    return 0;
  uint64_t there = smemOfCta(*gpu, schedule);
  return needed.smemBytes - std::min<uint64_t>(needed.smemBytes, there);
}

/// Returns the reason of the candidate that violates the fewest rules. Among
/// those that lack memory it is the one that lacks least, among others the most
/// usual.
static std::string closestViolation(const Problem &problem,
                                    const std::vector<Rejected> &rejected) {
  std::string text;
  std::pair<unsigned, uint64_t> best;
  for (const Rejected &one : rejected) {
    Schedule schedule = withRoles(one.schedule);
    std::optional<RuleViolation> found = firstViolation(problem, schedule, ~0u);
    if (!found)
      continue;
    std::pair key(~found->place, lackOf(problem, schedule, found->rule));
    if (text.empty() || key < best) {
      best = key;
      text = std::move(found->text);
    }
  }
  return text.empty() ? whyRejected(problem, rejected.front().schedule) : text;
}

/// Returns whether `text` has `words`, which begin with the name of a field
/// that is not part of a longer one.
static bool mentions(std::string_view text, const std::string &words) {
  for (size_t at = text.find(words); at != text.npos;
       at = text.find(words, at + 1))
    if (at == 0 || text[at - 1] == ' ' || text[at - 1] == '(')
      return true;
  return false;
}

/// Returns a violation that says which fields the planner chose, of the one
/// that is wrong and of those whose value is the condition. What the user did
/// not give cannot be left out. If the user gave no field, the planner chose
/// all.
static std::string withChosenFields(std::string text,
                                    const Overrides &overrides) {
  if (print(overrides).empty())
    return text;
  constexpr std::string_view leaveOut = "leave it out, or ";
  size_t end = std::min(text.find(';'), text.size());
  const std::string sentence = text.substr(0, end);
  std::string chosen;
  auto look = [&](const std::string &name, bool isFixed) {
    bool isWrong = mentions(sentence, "expected " + name + " ") ||
                   mentions(sentence, "expected a " + name + " ");
    if (isFixed || !(isWrong || mentions(sentence, name + " = ")))
      return;
    chosen += (chosen.empty() ? "" : " and ") + name;
    if (size_t way = text.find(leaveOut); isWrong && way != text.npos)
      text.erase(way, leaveOut.size());
  };
  for (const ScheduleField &field : scheduleFields())
    look(std::string(field.name), overrides[field.choice].has_value());
  look("p_placement", overrides.pPlacement != PPlacement::Auto);
  if (!chosen.empty())
    text.insert(end, " (the planner chose " + chosen + ")");
  return text;
}

/// Names the fixed fields as well, since they may be the cause.
static std::string noneServes(const Overrides &overrides) {
  std::string fixed = print(overrides);
  return "no schedule can serve this problem" +
         (fixed.empty() ? "" : " with " + fixed) + ": ";
}

std::optional<Plan> fmha::schedule::planStrictly(const Problem &problem,
                                                 std::string_view target,
                                                 const Overrides &overrides,
                                                 std::string &error) {
  if (overrides[Choice::PackHeads] == Overrides::wholeGroup &&
      !groupHint(problem)) {
    error =
        noneServes(overrides) +
        "all query heads of a KV head are to be packed, but their number is "
        "unknown; give q-heads and kv-heads, or a number";
    return std::nullopt;
  }
  Candidates candidates = enumerate(problem, target, overrides);
  if (candidates.sound.empty()) {
    error = noneServes(overrides) +
            withChosenFields(closestViolation(problem, candidates.rejected),
                             overrides);
    return std::nullopt;
  }
  Plan plan = planFrom(problem, std::move(candidates), overrides);
  if (std::optional<std::string> broken = check(problem, plan.schedule)) {
    error = "the planner chose what cannot be built: " + *broken;
    return std::nullopt;
  }
  if (std::optional<std::string> broken =
          verify(problem, plan.schedule, plan.map)) {
    error = "the planner laid out a map that does not verify: " + *broken;
    return std::nullopt;
  }
  return plan;
}

/// Returns the clocks of the whole launch, merge kernel included.
static double launchClocks(const Problem &problem, const Plan &plan) {
  return modelCost(problem, plan.schedule).launchClocks;
}

/// Plans again with slots that sequences share by their lengths, if the user
/// asks for it or the hints say that lengths differ. Returns whether `plan` is
/// that plan.
static bool splitByLength(const Problem &problem, std::string_view target,
                          Overrides overrides, Plan &plan) {
  constexpr unsigned usual = 3;
  std::optional<unsigned> wanted = overrides[Choice::SplitBy];
  unsigned slots = chooseSlots(problem, plan.schedule);
  if (wanted == unsigned(SplitBy::Length) && slots == 1)
    slots = usual;
  if (slots == 1 || wanted == unsigned(SplitBy::Sequence))
    return false;
  overrides.fix(Choice::SplitBy, unsigned(SplitBy::Length));
  overrides.fix(Choice::Splits, slots);
  std::string error;
  std::optional<Plan> shared = planStrictly(problem, target, overrides, error);
  if (!shared)
    return false;
  plan = std::move(*shared);
  plan.reason += "; splits = " + std::to_string(slots) + " by length";
  if (problem.kvLenMeanHint)
    plan.reason += ", since the longest sequence has " +
                   std::to_string(problem.kvLenHint) + " keys and the mean " +
                   std::to_string(problem.kvLenMeanHint);
  return true;
}

/// Plans again with split-KV if the hints say that this makes the launch
/// shorter. Partial kernels differ, so the best schedule with splits need not
/// be the best one without.
static void splitWhereWorthIt(const Problem &problem, std::string_view target,
                              Overrides overrides, Plan &plan) {
  std::string size = describeLaunchSize(problem, plan.schedule);
  if (size.empty())
    return;
  SplitChoice choice = chooseSplits(problem, plan);
  bool fills = fillsGpu(problem, plan.schedule);
  std::string reason =
      "splits = 1: " + size +
      (fills ? ", which fill the GPU" : ", no faster with splits");
  if (choice.splits > 1) {
    overrides.fix(Choice::Splits, choice.splits);
    if (!overrides[Choice::PackHeads])
      overrides.fix(Choice::PackHeads, choice.packHeads);
    double whole = launchClocks(problem, plan);
    double most = choice.fillsSms ? whole * (1 + launchTolerance) : whole;
    std::string error;
    std::optional<Plan> split = planStrictly(problem, target, overrides, error);
    if (!split) {
      reason = "splits = 1: " + error;
    } else if (double clocks = launchClocks(problem, *split); clocks < most) {
      plan = std::move(*split);
      reason = "splits = " + std::to_string(plan.schedule.splits) + ": " +
               describeLaunchSize(problem, plan.schedule) + "; " +
               rounded(clocks) + " clk with the merge kernel, " +
               rounded(whole) + " the best without splits (modeled)";
    }
  }
  plan.reason += "; " + reason;
}

std::optional<Plan> fmha::schedule::plan(const Problem &problem,
                                         std::string_view target,
                                         const Overrides &overrides,
                                         std::string &error) {
  std::optional<Plan> plan = planStrictly(problem, target, overrides, error);
  if (plan)
    pairWhereWorthIt(problem, target, overrides, *plan);
  if (plan && !overrides[Choice::Splits] &&
      !splitByLength(problem, target, overrides, *plan))
    splitWhereWorthIt(problem, target, overrides, *plan);
  if (!plan)
    if (std::optional<std::string> change =
            closestChange(problem, target, overrides))
      propose(*change, error);
  return plan;
}
