//===- Emulation.cpp - Whether FMA units compute exponentials ---*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulation.h"

#include "Axes.h"
#include "Model/Text.h"
#include "Rules/Check.h"

#include "fmha/Schedule/Cost/CostModel.h"
#include "fmha/Schedule/Model/Resources.h"

#include <algorithm>
#include <cmath>

using namespace fmha;
using namespace fmha::schedule;

/// Smaller gains are not resolved: at head dim 80 without a mask the clocks of
/// SoftmaxStreams.def give 3.5 %, and the kernels stepped whole 0 to 2 %.
static constexpr double leastGain = 0.04;
/// At head dim 128 on sm_103a the clocks of SoftmaxStreams.def give more than
/// this for two slices, and the kernels stepped whole 12 %, with a mask 4 %.
static constexpr double leastGainOfSlices = 0.03;

namespace {

/// The emulating schedule of the fewest clocks, and why others cannot be built.
struct Found {
  std::optional<Schedule> schedule;
  double clocks = 0;
  std::string violation;
};

} // namespace

/// Returns `best` with the share of emulated exponentials and the slices of P
/// that take the fewest clocks.
static Found bestEmulating(const Problem &problem, const Schedule &best,
                           const Overrides &overrides) {
  Found found;
  for (unsigned share : familyOf(best).candidates.emulatedShares)
    for (unsigned slices : {1u, 2u}) {
      Schedule one = best;
      one.exp2EmulatedPercent = share;
      one.pSlices = overrides[Choice::PSlices].value_or(slices);
      double clocks = modelCost(problem, one).ordered;
      if (clocks == 0 || (found.schedule && clocks >= found.clocks))
        continue;
      if (std::optional<std::string> broken = check(problem, withRoles(one)))
        found.violation = std::move(*broken);
      else
        found = {std::move(one), clocks, ""};
    }
  return found;
}

/// Returns "by the order in which ptxas emits softmax a KV block takes 2911 clk
/// with 25 % and 2 slices of P, 3061 without emulation (modeled)".
static std::string compare(const Found &with, double without) {
  const Schedule &s = *with.schedule;
  return "by the order in which ptxas emits softmax a KV block takes " +
         rounded(with.clocks) + " clk with " +
         std::to_string(s.exp2EmulatedPercent) + " % and " +
         std::to_string(s.pSlices) + (s.pSlices == 1 ? " slice" : " slices") +
         " of P, " + rounded(without) + " without emulation (modeled)";
}

/// Returns `best` with two slices of P, if it has one and that gains enough.
static Emulation chooseSlices(const Problem &problem, const Schedule &best,
                              const Overrides &overrides, double without,
                              std::string otherwise) {
  Schedule two = best;
  two.pSlices = 2;
  double clocks = modelCost(problem, two).ordered;
  bool gains = clocks != 0 && clocks <= without * (1 - leastGainOfSlices);
  if (overrides[Choice::PSlices] || best.pSlices != 1 || !gains ||
      check(problem, withRoles(two)))
    return {std::nullopt, std::move(otherwise)};
  return {std::move(two),
          "; p_slices = 2: by the order in which ptxas emits softmax a KV "
          "block takes " +
              rounded(clocks) + " clk, " + rounded(without) +
              " with one slice (modeled)"};
}

/// Chooses the share and the slices of a schedule.
static Emulation chooseShare(const Problem &problem, const Schedule &best,
                             const Overrides &overrides) {
  double without = modelCost(problem, best).ordered;
  if (without == 0 || overrides[Choice::Exp2Emulated])
    return {};
  Found found = bestEmulating(problem, best, overrides);
  if (!found.schedule) {
    std::string reason = found.violation.empty()
                             ? ""
                             : "; exp2_emulated = 0: " + found.violation;
    return chooseSlices(problem, best, overrides, without, std::move(reason));
  }
  std::string clocks = compare(found, without);
  if (found.clocks > without * (1 - leastGain))
    return chooseSlices(problem, best, overrides, without,
                        "; exp2_emulated = 0: " + clocks +
                            ", a gain below 4 %");
  std::string reason = "; exp2_emulated = " +
                       std::to_string(found.schedule->exp2EmulatedPercent) +
                       ": " + clocks;
  return {std::move(found.schedule), std::move(reason)};
}

/// Returns the first one of `ranked` that differs from the best one in smaller
/// KV blocks, the stages and slices that fit them, and whether a V in K has
/// loads of its own, and whose softmax was read, or null: of those that differ
/// in how CTAs take their tiles, the shortest launch. Without a threshold each
/// block rescales O.
static const Schedule *withSmallerBlocks(const Problem &problem,
                                         const std::vector<Schedule> &ranked) {
  const Schedule &best = ranked.front();
  auto isSmaller = [&](const Schedule &one) {
    Schedule same = one;
    same.kvBlock = best.kvBlock;
    same.kvStages = best.kvStages;
    same.pSlices = best.pSlices;
    same.shareKv = best.shareKv;
    same.scheduler = best.scheduler;
    return one.kvBlock < best.kvBlock && same == best &&
           one.rescaleThreshold > 0 && modelCost(problem, one).ordered > 0;
  };
  auto clocksOf = [&](const Schedule &one) {
    return modelCost(problem, one).launchClocks;
  };
  const Schedule *found = nullptr;
  for (const Schedule &one : ranked)
    if (isSmaller(one) && (!found || (one.kvBlock == found->kvBlock &&
                                      clocksOf(one) < clocksOf(*found))))
      found = &one;
  return found;
}

/// Returns the clocks of the blocks that hold the keys of the hints, or, if
/// there are none, of 128 keys in the middle of a loop.
static double clocksOfKeys(const Problem &problem, const Schedule &schedule) {
  constexpr double unitOfKeys = 128;
  double block = schedule.kvBlock;
  double blocks = problem.kvLenHint ? std::ceil(problem.kvLenHint / block)
                                    : unitOfKeys / block;
  return modelCost(problem, schedule).ordered * blocks;
}

Emulation fmha::schedule::chooseEmulation(const Problem &problem,
                                          const std::vector<Schedule> &ranked,
                                          const Overrides &overrides) {
  const Schedule &best = ranked.front();
  Emulation whole = chooseShare(problem, best, overrides);
  double clocks = clocksOfKeys(problem, whole.schedule.value_or(best));
  const Schedule *smaller =
      clocks != 0 ? withSmallerBlocks(problem, ranked) : nullptr;
  if (!smaller)
    return whole;
  Emulation made = chooseShare(problem, *smaller, overrides);
  if (!made.schedule)
    made.schedule = *smaller;
  double own = clocksOfKeys(problem, *made.schedule);
  if (own > clocks * (1 - leastGain))
    return whole;
  std::string keys = problem.kvLenHint ? std::to_string(problem.kvLenHint)
                                       : std::string("128");
  made.reason = "; kv_block = " + std::to_string(smaller->kvBlock) +
                ": P has columns of its own, and by the order in which ptxas "
                "emits softmax " +
                keys + " keys take " + rounded(own) + " clk, " +
                rounded(clocks) + " in blocks of " +
                std::to_string(best.kvBlock) + " (modeled)" + made.reason;
  return made;
}
