//===- Planner.cpp - Choose a schedule --------------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Footprint.h"

#include "fmha/Schedule/CostModel.h"
#include "fmha/Target/Target.h"

#include <algorithm>
#include <cmath>

using namespace fmha;
using namespace fmha::schedule;

namespace {

/// Left free, for what a host or a tool adds to the CTA's shared memory.
constexpr unsigned smemMargin = 1024;
constexpr unsigned leastStages = 2, mostStages = 8;

struct Candidate {
  Schedule schedule;
  Cost cost;
};

class Planner {
public:
  Planner(const Problem &problem, std::string_view target,
          const Overrides &overrides)
      : problem(problem), target(target), overrides(overrides) {}

  std::optional<Plan> run(std::string &error);

private:
  void consider(unsigned qTiles, PPlacement placement, unsigned oColumns);
  /// `whole`, or where it does not fit the first way to cut its messages that
  /// does.
  Schedule fitMessages(const Schedule &whole);
  /// Takes the deepest ring that fits, and notes why the next one does not.
  void chooseStages(Schedule &schedule);
  void reject(Schedule schedule, std::string reason) {
    plan.rejected.push_back({std::move(schedule), std::move(reason)});
  }
  void finish(const Candidate &best);

  const Problem &problem;
  std::string target;
  const Overrides &overrides;
  std::vector<Candidate> candidates;
  Plan plan;
};

/// "q_tiles = 2, p_placement = tmem, kv_stages = 5".
std::string title(const Schedule &s) {
  return "q_tiles = " + std::to_string(s.qTiles) +
         ", p_placement = " + std::string(stringify(s.pPlacement)) +
         ", kv_stages = " + std::to_string(s.kvStages);
}

std::string number(double value) { return std::to_string(std::llround(value)); }

/// How `other` loses against `best`.
std::string slower(const Cost &other, const Cost &best) {
  if (other.clocksPerTile > best.clocksPerTile)
    return "modelled " + number(other.clocksPerTile) +
           " clk per query tile and KV block, the choice takes " +
           number(best.clocksPerTile);
  return "modelled " + number(best.clocksPerTile) +
         " clk per query tile and KV block like the choice, but its busiest "
         "unit has less slack";
}

} // namespace

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

void Planner::chooseStages(Schedule &schedule) {
  const target::Target *gpu = target::findTarget(target);
  schedule.kvStages = overrides.kvStages.value_or(leastStages);
  if (overrides.kvStages || !gpu)
    return;
  Footprint sizes(problem, schedule);
  Schedule deeper = schedule;
  for (; schedule.kvStages < mostStages; ++schedule.kvStages) {
    deeper.kvStages = schedule.kvStages + 1;
    if (sizes.smemBytes(deeper) > gpu->smemBytesPerCta - smemMargin)
      break;
  }
  // A candidate that fails for another reason says so by itself.
  if (check(problem, schedule))
    return;
  if (std::optional<std::string> reason = check(problem, deeper))
    reject(deeper, title(deeper) + ": " + *reason);
}

Schedule Planner::fitMessages(const Schedule &whole) {
  struct Message {
    bool share;
    unsigned keyChunk, valueChunk;
  };
  constexpr Message messages[] = {
      {true, 0, 0}, {false, 0, 0}, {false, 128, 64}, {false, 64, 32}};
  for (auto [share, keyChunk, valueChunk] : messages) {
    Schedule schedule = whole;
    schedule.shareKv = share;
    schedule.keyChunk = keyChunk;
    schedule.valueChunk = valueChunk;
    if (share && !problem.vInK)
      continue;
    chooseStages(schedule);
    if (!check(problem, schedule))
      return schedule;
  }
  Schedule schedule = whole;
  chooseStages(schedule);
  return schedule;
}

void Planner::consider(unsigned qTiles, PPlacement placement,
                       unsigned oColumns) {
  Schedule whole;
  whole.target = target;
  whole.qTiles = qTiles;
  whole.pPlacement = placement;
  whole.oColumns = oColumns;
  whole.roles = defaultRoles(qTiles);
  Schedule schedule = fitMessages(whole);
  if (std::optional<std::string> reason = check(problem, schedule))
    return reject(schedule, title(schedule) + ": " + *reason);
  bool emptyTile = qTiles > 1 && problem.qLenHint != 0 &&
                   problem.qLenHint <= schedule.qTileRows;
  if (emptyTile && !overrides.qTiles)
    return reject(schedule, title(schedule) + ": with q_len " +
                                std::to_string(problem.qLenHint) +
                                " the second query tile has no rows");
  candidates.push_back({schedule, modelCost(problem, schedule)});
}

void Planner::finish(const Candidate &best) {
  plan.schedule = best.schedule;
  plan.map = layOut(problem, best.schedule);
  plan.reason =
      title(best.schedule) + ": " + describe(best.cost, best.schedule);
  for (const Candidate &other : candidates)
    if (!(other.schedule == best.schedule))
      reject(other.schedule, title(other.schedule) + ": " +
                                 slower(other.cost, best.cost) + "; it is " +
                                 describe(other.cost, other.schedule));
}

std::optional<Plan> Planner::run(std::string &error) {
  std::vector<unsigned> tileCounts = {2, 1};
  if (overrides.qTiles)
    tileCounts = {*overrides.qTiles};
  std::vector<PPlacement> placements = {PPlacement::Tmem, PPlacement::Smem,
                                        PPlacement::Registers};
  if (overrides.pPlacement != PPlacement::Auto)
    placements = {overrides.pPlacement};
  // Every pass over columns of O computes the scores again: fewer columns are
  // looked at only where more do not fit.
  for (unsigned oColumns : {0u, 256u, 128u}) {
    if (!candidates.empty() || oColumns >= problem.headDimV)
      break;
    for (unsigned qTiles : tileCounts)
      for (PPlacement placement : placements)
        consider(qTiles, placement, oColumns);
  }
  if (candidates.empty()) {
    // The first candidate is the one that a user would most likely want.
    const Rejected &first = plan.rejected.front();
    error = "no schedule can serve this problem: " +
            check(problem, first.schedule).value_or(first.reason);
    return std::nullopt;
  }
  // Of equals the first, so that the plan does not depend on the sort.
  finish(*std::min_element(candidates.begin(), candidates.end(),
                           [](const Candidate &a, const Candidate &b) {
                             return isCheaper(a.cost, b.cost);
                           }));
  if (std::optional<std::string> broken =
          verify(problem, plan.schedule, plan.map)) {
    error = "the planner laid out a map that does not verify: " + *broken;
    return std::nullopt;
  }
  return std::move(plan);
}

std::optional<Plan> fmha::schedule::plan(const Problem &problem,
                                         std::string_view target,
                                         const Overrides &overrides,
                                         std::string &error) {
  return Planner(problem, target, overrides).run(error);
}
