//===- ExplainCandidates.cpp - Runners-up and rejected schedules *- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Schedule/Cost/CostModel.h"
#include "fmha/Schedule/Cost/Estimate.h"
#include "fmha/Schedule/Model/Resources.h"
#include "fmha/Schedule/Report/Explain.h"
#include "fmha/Target/Target.h"

#include "Model/Footprint.h"
#include "Model/Text.h"
#include "Plan/Candidates.h"

#include <algorithm>
#include <map>

using namespace fmha;
using namespace fmha::schedule;

/// Runners-up that a report shows; the rest is counted.
static constexpr size_t mostShown = 4;

/// Returns what the planner prefers in `best` if `other` takes as few clocks by
/// its formulas: the clocks of a row of 128 keys by the order of softmax, which
/// choose blocks and shares of emulated exponentials; or "".
static std::string preferredByOrder(const Cost &other, const Cost &best) {
  auto clocksOf = [](const Cost &cost) {
    return cost.clocksPerRow * cost.ordered / cost.clocks;
  };
  if (best.ordered == 0)
    return "";
  if (other.ordered == 0)
    return "but the order in which ptxas emits its softmax was not read";
  if (twoDigits(clocksOf(best)) == twoDigits(clocksOf(other)) ||
      clocksOf(best) > clocksOf(other))
    return "";
  return "but " + twoDigits(clocksOf(other)) +
         " by the order in which ptxas emits softmax, the choice " +
         twoDigits(clocksOf(best));
}

/// Returns how `other` compares with `best`.
static std::string slower(const Cost &other, const Cost &best) {
  double tolerance = best.measured ? 0 : launchTolerance;
  bool launch = best.launchClocks > 0 &&
                other.launchClocks > best.launchClocks * (1 + tolerance);
  double mine = launch ? other.launchClocks : other.clocksPerRow;
  double its = launch ? best.launchClocks : best.clocksPerRow;
  std::string what =
      launch ? " clk of the launch" : " clk per row and 128 keys";
  auto print = [&](double value) {
    return launch ? rounded(value) : twoDigits(value);
  };
  std::string text = print(mine) + what;
  bool isAlike = print(mine) == print(its);
  if (mine > its && !isAlike)
    return text + ", the choice takes " + print(its);
  text += isAlike ? " like the choice, "
                  : ", the choice takes " + print(its) + ", ";
  if (std::string order = preferredByOrder(other, best); !order.empty())
    return text + order;
  if (isCheaper(best, other))
    return text + "but its busiest unit has less slack";
  if (isCheaper(other, best))
    return text + "but the reasons above speak for the choice";
  return text + "with as much slack, but less usual";
}

std::string fmha::schedule::whySlower(const Problem &problem, const Plan &plan,
                                      const Schedule &other) {
  Cost cost = modelCost(problem, other);
  return title(other) + ": modeled " +
         slower(cost, modelCost(problem, plan.schedule)) + "; it is " +
         boundBy(cost);
}

/// Returns whether shared memory is too small; plan.C6 has other messages.
static bool lacksRoom(const std::string &violation) {
  return violation.starts_with("plan.C6") &&
         violation.find("too many)") != std::string::npos;
}

/// Returns a key of violations that are reported once: tiles and the placement
/// of P if shared memory is too small, otherwise the words without numbers.
static std::string kindOf(const Schedule &schedule,
                          const std::string &violation) {
  if (lacksRoom(violation))
    return "plan.C6" + str(schedule.qTiles) + str(schedule.qTileRows) +
           str(schedule.ctasPerSm) +
           std::string(stringify(schedule.pPlacement));
  // The number in the id of the rule distinguishes kinds.
  size_t id = violation.find(':');
  std::string kind;
  for (size_t i = 0; i < violation.size(); ++i)
    if (violation[i] < '0' || violation[i] > '9' || i < id)
      kind += violation[i];
  // "1 query tile" and "2 query tiles" are of one kind.
  for (size_t at; (at = kind.find("tiles")) != std::string::npos;)
    kind.erase(at + 4, 1);
  return kind;
}

std::vector<Reason>
fmha::schedule::groupByReason(const Problem &problem,
                              const std::vector<Rejected> &list) {
  struct Group {
    const Schedule *schedule;
    std::string violation;
    uint64_t smemBytes;
    unsigned candidates;
  };
  std::vector<Group> groups;
  std::map<std::string, size_t> places;
  for (const Rejected &rejected : list) {
    const Schedule &schedule = rejected.schedule;
    std::string violation = violationOf(problem, schedule);
    // Proposals are for a user who asks for this schedule; none was tried here.
    violation.resize(std::min(violation.find("; take "), violation.size()));
    uint64_t bytes = resourcesOf(problem, withRoles(schedule)).smemBytes;
    auto [place, isNew] =
        places.emplace(kindOf(schedule, violation), groups.size());
    if (isNew)
      groups.push_back({&schedule, violation, bytes, 0});
    Group &group = groups[place->second];
    group.candidates += rejected.candidates;
    // The one that lacks least is the most informative.
    if (lacksRoom(violation) && bytes < group.smemBytes)
      group = {&schedule, violation, bytes, group.candidates};
  }
  std::vector<Reason> reasons;
  for (const Group &group : groups)
    reasons.push_back(
        {title(*group.schedule) + ": " + group.violation, group.candidates});
  return reasons;
}

static std::string reportOf(const Reason &group) {
  if (group.candidates == 1)
    return group.text;
  return group.text + " [" + str(group.candidates) + " candidates]";
}

std::string fmha::schedule::listRejected(const Problem &problem,
                                         const Plan &plan) {
  std::string text;
  for (const Reason &group : groupByReason(problem, plan.rejected))
    text += "  " + wrap("- " + reportOf(group), 4);
  return text.empty() ? text : "rejected:\n" + text;
}

std::string fmha::schedule::listRunnersUp(const Problem &problem,
                                          const Plan &plan) {
  if (plan.runnersUp.empty())
    return "";
  std::string text = "runners-up:\n";
  size_t shown = std::min(plan.runnersUp.size(), mostShown);
  for (size_t i = 0; i < shown; ++i)
    text +=
        "  " + wrap(str(i + 2) + ". " +
                        whySlower(problem, plan, plan.runnersUp[i].schedule),
                    5);
  size_t left = plan.runnersUp.size() - shown;
  auto other = std::find_if(
      plan.runnersUp.begin(), plan.runnersUp.end(), [&](const Rejected &one) {
        return one.schedule.pPlacement != plan.schedule.pPlacement;
      });
  size_t place = size_t(other - plan.runnersUp.begin());
  // Show each P placement, which users ask for first.
  if (other != plan.runnersUp.end() && place >= shown) {
    text += "  " + wrap(str(place + 2) + ". " +
                            whySlower(problem, plan, other->schedule),
                        5);
    --left;
  }
  if (left > 0)
    text += "  and " + str(left) + " that are no faster\n";
  return text;
}

static std::string loadsRow(unsigned place, const Cost &cost) {
  constexpr unsigned width = 6;
  std::string text = "  " + padLeft(str(place) + ".", 3);
  for (double busy : cost.busy)
    text += padLeft(rounded(busy), width);
  return text + padLeft(rounded(cost.chain), width) +
         padLeft(rounded(cost.turns), width) +
         padLeft(rounded(cost.loads), width) +
         padLeft(rounded(cost.clocks), width) + ' ' +
         padLeft(twoDigits(cost.clocksPerRow), width + 1) + '\n';
}

static std::string trafficLine(const Traffic &t) {
  return "  bytes of 1.: SMEM " + rounded(t.smemRead) + " read, " +
         rounded(t.smemWritten) + " written; TMEM " + rounded(t.tmemRead) +
         " read, " + rounded(t.tmemWritten) + " written; L2 " +
         rounded(t.l2Read) + " read";
}

std::string fmha::schedule::tabulateLoads(const Problem &problem,
                                          const Plan &plan) {
  Cost best = modelCost(problem, plan.schedule);
  std::string text = "unit loads: modeled clocks of one KV block; ";
  text += best.measured ? "block is fitted to launches on an H200\n     "
                        : "the largest bounds it\n     ";
  for (unsigned i = 0; i < unitCount; ++i)
    text += padLeft(std::string(stringify(Unit(i))), 6);
  text += " chain turns loads block per row\n";
  text += loadsRow(1, best);
  for (size_t i = 0; i < std::min(plan.runnersUp.size(), mostShown); ++i)
    text += loadsRow(unsigned(i + 2),
                     modelCost(problem, plan.runnersUp[i].schedule));
  return text + wrap(trafficLine(best.traffic), 4);
}

std::string fmha::schedule::tabulateResources(const Problem &problem,
                                              const Plan &plan) {
  const target::Target *gpu = target::findTarget(plan.schedule.target);
  if (!gpu)
    return "";
  Resources r = resourcesOf(problem, plan.schedule);
  unsigned ctas = std::max(plan.schedule.ctasPerSm, 1u);
  struct {
    const char *what;
    uint64_t taken, there;
  } rows[] = {
      {"TMEM columns", plan.map.tmemColumns, gpu->tmemColumns},
      {"SMEM bytes", plan.map.smemBytes, smemOfCta(*gpu, plan.schedule)},
      {"registers", r.registers, gpu->registersPerSm / ctas},
      {"threads", r.threads, gpu->maxThreadsPerCta},
      {"named barriers", r.namedBarriers, gpu->namedBarriers}};
  std::string text = ctas > 1
                         ? "resources of a CTA, of which an SM has " + str(ctas)
                         : "resources of an SM";
  text += ": used of available\n";
  for (const auto &[what, taken, there] : rows)
    text += "  " + padRight(what, 15) + padLeft(str(taken), 7) + " of " +
            str(there) + '\n';
  return text;
}

/// Names the missing hints of a launch that is partly known.
static std::string whyNoLaunch(const Problem &problem) {
  const std::pair<const char *, unsigned> hints[] = {
      {"batch", problem.batchHint},
      {"q_heads", problem.qHeadsHint},
      {"kv_heads", problem.kvHeadsHint},
      {"q_len", problem.qLenHint},
      {"kv_len", problem.kvLenHint}};
  std::string missing;
  size_t known = 0;
  for (const auto &[name, hint] : hints) {
    known += hint != 0;
    if (!hint)
      missing += (missing.empty() ? "" : ", ") + std::string(name);
  }
  if (known == 0)
    return "";
  if (missing.empty())
    return "launch: not modeled, larger than any GPU holds\n";
  return wrap("launch: not modeled without " + missing +
                  ", so splits are not considered",
              4);
}

std::string fmha::schedule::describeLaunch(const Problem &problem,
                                           const Plan &plan) {
  std::optional<Workload> workload = workloadOf(problem, plan.schedule);
  if (!workload)
    return whyNoLaunch(problem);
  KernelModel kernel = modelOf(problem, plan.schedule);
  Estimate whole = estimate(kernel, *workload);
  const target::Target *gpu = target::findTarget(kernel.target);
  bool one = whole.waves == 1;
  std::string times = rounded(whole.waves) + (one ? " wave, " : " waves, ");
  if (kernel.mostCtas)
    times = "at most " + rounded(whole.waves) + (one ? " tile" : " tiles") +
            " each, ";
  std::string text = "launch: " + str(whole.ctas) + " CTAs on " +
                     str(gpu->sms) + " SMs, " + times +
                     rounded(100 * whole.occupancy) +
                     " % of SM time has work; modeled " +
                     rounded(whole.clocks) + " clk by the planner's formulas";
  if (kernel.splits > 1)
    text += ", " + rounded(whole.combineClocks) + " of them the merge kernel";
  return wrap(text + (whole.memoryBound ? ", bound by device memory" : ""), 4);
}
