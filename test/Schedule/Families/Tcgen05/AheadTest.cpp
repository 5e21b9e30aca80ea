//===- AheadTest.cpp - Where CTAs run ahead of their tiles ----------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Planning.h"

#include "fmha/Schedule/Model/Overrides.h"
#include "fmha/Schedule/Model/TileOrder.h"

#include "gtest/gtest.h"

using namespace fmha::schedule;

/// Returns a launch with 4 query heads of each KV head.
static Problem launchOf(unsigned headDim, unsigned length, unsigned batch,
                        unsigned kvHeads = 8) {
  Problem problem = problemOf(headDim, length);
  problem.kvLenHint = length;
  problem.batchHint = batch;
  problem.qHeadsHint = 32;
  problem.kvHeadsHint = kvHeads;
  return problem;
}

static Scheduler schedulerOf(const Problem &problem,
                             std::string_view target = "sm_100a") {
  return mustPlan(problem, target).schedule.scheduler;
}

TEST(Ahead, WhereSmsHaveSeveralTiles) {
  for (unsigned headDim : {64u, 128u}) {
    Problem problem = launchOf(headDim, 8192, 4);
    Plan plan = mustPlan(problem, "sm_100a");
    EXPECT_EQ(plan.schedule.scheduler, Scheduler::Static);
    EXPECT_TRUE(runsAhead(problem, plan.schedule));
    EXPECT_EQ(schedulerOf(withoutHints(problem)), Scheduler::Single);
  }
  // 128 tiles on 148 SMs, and 160.
  EXPECT_EQ(schedulerOf(launchOf(128, 1024, 1)), Scheduler::Single);
  EXPECT_EQ(schedulerOf(launchOf(128, 1280, 1)), Scheduler::Static);
}

TEST(Ahead, NotWhereNoKernelDoesOrNoneWasModeled) {
  EXPECT_EQ(schedulerOf(launchOf(192, 8192, 4)), Scheduler::Single);
  Problem problem = launchOf(128, 8192, 4);
  problem.kvLens = true;
  EXPECT_EQ(schedulerOf(problem), Scheduler::Single);
  Problem window = launchOf(128, 8192, 4);
  window.mask = Mask::Causal;
  window.mask.left = 100;
  EXPECT_EQ(schedulerOf(window), Scheduler::Single);
  Overrides overrides;
  overrides.fix(Choice::Scheduler, unsigned(Scheduler::Single));
  EXPECT_EQ(
      mustPlan(launchOf(128, 8192, 4), "sm_100a", overrides).schedule.scheduler,
      Scheduler::Single);
}

/// Causal tiles come by length alone, so that K and V of all heads are in use.
TEST(Ahead, CausalWhereKeysOfAllHeadsCanBeInUse) {
  auto causal = [](Problem problem) {
    problem.mask = Mask::Causal;
    return schedulerOf(problem);
  };
  EXPECT_EQ(causal(launchOf(128, 8192, 4)), Scheduler::Static);
  EXPECT_EQ(causal(launchOf(64, 4096, 4, 32)), Scheduler::Static);
  // 256 MB of keys, and 32 MB, which L2 holds.
  EXPECT_EQ(causal(launchOf(128, 4096, 4, 32)), Scheduler::Single);
  EXPECT_EQ(causal(launchOf(128, 2048, 1, 32)), Scheduler::Static);
}

/// Blocks of these CTAs take longer on sm_103a, which outweighs the rest of a
/// tile where it has many blocks, but not where tiles take turns.
TEST(Ahead, OnSm103aWhereTilesAreShortOrTakeTurns) {
  for (unsigned keys : {128u, 80u}) {
    auto planned = [&](unsigned length, unsigned batch) {
      Overrides overrides;
      overrides.fix(Choice::KvBlock, keys).fix(Choice::CtaGroup, 1);
      return mustPlan(launchOf(128, length, batch), "sm_103a", overrides)
          .schedule.scheduler;
    };
    EXPECT_EQ(planned(1024, 32), Scheduler::Static);
    EXPECT_EQ(planned(32768, 1),
              keys == 80 ? Scheduler::Static : Scheduler::Single);
  }
}

/// A pair with blocks of 80 keys gains on sm_103a by its blocks, and its CTAs
/// run ahead as single ones do; on sm_100a its blocks gain nothing.
TEST(Ahead, InPairsOnSm103a) {
  for (unsigned length : {1024u, 8192u, 32768u}) {
    Problem problem = launchOf(128, length, 32768 / length);
    Plan plan = mustPlan(problem, "sm_103a");
    EXPECT_EQ(plan.schedule.ctaGroup, 2u) << length;
    EXPECT_EQ(plan.schedule.scheduler, Scheduler::Static) << length;
    EXPECT_TRUE(runsAhead(problem, plan.schedule)) << length;
    EXPECT_NE(plan.reason.find("of the clocks of a launch of single CTAs"),
              std::string::npos);
    EXPECT_EQ(mustPlan(problem, "sm_100a").schedule.ctaGroup, 1u) << length;
    problem.mask = Mask::Causal;
    EXPECT_EQ(mustPlan(problem, "sm_103a").schedule.ctaGroup, 1u) << length;
  }
  // The second CTA of each pair would have no rows.
  EXPECT_EQ(mustPlan(launchOf(128, 256, 128), "sm_103a").schedule.ctaGroup, 1u);
}

TEST(Ahead, TilesOfAllHeadsAreSortedOrInPairs) {
  Problem problem = launchOf(128, 8192, 4);
  problem.mask = Mask::Causal;
  Schedule schedule = mustPlan(problem, "sm_100a").schedule;
  EXPECT_TRUE(sortsTiles(problem, schedule));
  EXPECT_FALSE(pairsTiles(problem, schedule));
  problem.sink = true;
  EXPECT_FALSE(sortsTiles(problem, schedule));
  EXPECT_TRUE(pairsTiles(problem, schedule));
  // Neighbors are the CTAs of a pair.
  schedule.ctaGroup = 2;
  EXPECT_FALSE(pairsTiles(problem, schedule));
  schedule.scheduler = Scheduler::Single;
  EXPECT_FALSE(sortsTiles(withoutHints(problem), schedule));
}
