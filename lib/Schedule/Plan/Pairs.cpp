//===- Pairs.cpp - Whether two CTAs share each product ----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Pairs.h"

#include "Model/Text.h"
#include "Relax.h"

#include "fmha/Schedule/Cost/CostModel.h"
#include "fmha/Schedule/Model/CtaPair.h"
#include "fmha/Schedule/Model/Overrides.h"
#include "fmha/Schedule/Model/TileOrder.h"

#include <cmath>

using namespace fmha;
using namespace fmha::schedule;

/// Smaller gains are within the noise of the kernels that were stepped whole:
/// of blocks alone, and of launches, whose CTAs were modeled in the same runs.
static constexpr double leastGain = 0.04, leastGainOfLaunch = 0.02;

/// Returns the number of parts of `each` that hold the hint `size`, or that are
/// in `usual` if there is none.
static double partsOf(unsigned size, unsigned each, unsigned usual) {
  return size ? std::ceil(double(size) / each) : double(usual) / each;
}

/// Returns the clocks of all CTAs of one head by the order in which ptxas emits
/// softmax, or 0 if it was not read: of the hints' rows and keys, or of 512
/// rows and 128 keys in the middle of a loop.
static double clocksOfHead(const Problem &problem, const Schedule &s) {
  constexpr unsigned rows = 512, keys = 128;
  unsigned ctas = ctasOfRows(s.packHeads, s.ctaGroup);
  unsigned rowsOfCtas = s.qTiles * queriesOfTile(s) * ctas;
  return modelCost(problem, s).ordered *
         partsOf(problem.kvLenHint, s.kvBlock, keys) *
         partsOf(problem.qLenHint, rowsOfCtas, rows) * ctas;
}

/// Returns whether the clocks of a launch with hints are those of the order in
/// which ptxas emits softmax.
static bool hasOrderedLaunch(const Cost &cost) {
  return cost.launchClocks > 0 && cost.ordered > 0 &&
         cost.clocks == cost.ordered;
}

namespace {
/// The clocks of pairs over those of single CTAs.
struct Comparison {
  double part;
  bool ofLaunch;
};
} // namespace

/// Compares launches if the hints give them, which includes how CTAs take their
/// tiles; otherwise CTAs of one tile. Returns nothing if softmax of either one
/// was not read.
static std::optional<Comparison>
compare(const Problem &problem, const Schedule &single, const Schedule &pair) {
  Cost alone = modelCost(problem, single), both = modelCost(problem, pair);
  if (hasOrderedLaunch(alone) && hasOrderedLaunch(both))
    return Comparison{both.launchClocks / alone.launchClocks, true};
  bool oneTile = single.scheduler == Scheduler::Single &&
                 pair.scheduler == Scheduler::Single;
  if (!oneTile || alone.ordered == 0 || both.ordered == 0)
    return std::nullopt;
  return Comparison{clocksOfHead(problem, pair) / clocksOfHead(problem, single),
                    false};
}

void fmha::schedule::pairWhereWorthIt(const Problem &problem,
                                      std::string_view target,
                                      Overrides overrides, Plan &plan) {
  const Schedule &single = plan.schedule;
  bool isComparable = single.ctaGroup == 1 && single.splits == 1 &&
                      modelCost(problem, single).ordered > 0;
  if (!isComparable || overrides[Choice::CtaGroup] || !problem.mask.isFull())
    return;
  overrides.fix(Choice::CtaGroup, ctasOfPair);
  std::string error;
  std::optional<Plan> pair = planStrictly(problem, target, overrides, error);
  if (!pair)
    return;
  std::optional<Comparison> found = compare(problem, single, pair->schedule);
  if (!found ||
      found->part > 1 - (found->ofLaunch ? leastGainOfLaunch : leastGain))
    return;
  pair->reason +=
      "; cta_group = 2: by the order in which ptxas emits softmax " +
      rounded(found->part * 100) + " % of the clocks of " +
      (found->ofLaunch ? "a launch of " : "") + "single CTAs (modeled)";
  plan = std::move(*pair);
}
