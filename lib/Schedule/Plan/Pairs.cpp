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
#include "fmha/Schedule/Model/Overrides.h"
#include "fmha/Schedule/Model/TileOrder.h"

#include <cmath>

using namespace fmha;
using namespace fmha::schedule;

/// Smaller gains are within the noise of the kernels that were stepped whole.
static constexpr double leastGain = 0.04;
static constexpr unsigned ctasOfPair = 2;

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

void fmha::schedule::pairWhereWorthIt(const Problem &problem,
                                      std::string_view target,
                                      Overrides overrides, Plan &plan) {
  const Schedule &single = plan.schedule;
  double alone = clocksOfHead(problem, single);
  bool isComparable = single.ctaGroup == 1 && single.splits == 1 &&
                      single.scheduler == Scheduler::Single && alone > 0;
  if (!isComparable || overrides[Choice::CtaGroup] || !problem.mask.isFull())
    return;
  overrides.fix(Choice::CtaGroup, ctasOfPair);
  std::string error;
  std::optional<Plan> pair = planStrictly(problem, target, overrides, error);
  if (!pair)
    return;
  double together = clocksOfHead(problem, pair->schedule);
  if (together == 0 || together > alone * (1 - leastGain))
    return;
  pair->reason +=
      "; cta_group = 2: by the order in which ptxas emits softmax " +
      rounded(together / alone * 100) +
      " % of the clocks of single CTAs (modeled)";
  plan = std::move(*pair);
}
