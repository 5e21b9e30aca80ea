//===- PairsTest.cpp - Pairs of CTAs with 64 rows in each -----------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Planning.h"

#include "fmha/Schedule/Cost/CostModel.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <functional>

using namespace fmha::schedule;
using testing::HasSubstr;
using testing::StartsWith;

namespace {

/// Returns the rule that a pair with 64 rows in each CTA violates after
/// `change`, "" if none.
std::string violated(const std::function<void(Problem &, Schedule &)> &change) {
  Problem problem = problemOf(128);
  Schedule s;
  s.ctaGroup = 2;
  s.qTiles = 1;
  s.qTileRows = 64;
  s.pPlacement = PPlacement::Smem;
  change(problem, s);
  return check(problem, withRoles(s)).value_or("");
}

std::string violatedBy(const std::function<void(Schedule &)> &change) {
  return violated([&](Problem &, Schedule &s) { change(s); });
}

TEST(Pairs, HalvesAreInTwoWarps) {
  EXPECT_EQ(violatedBy([](Schedule &) {}), "");
  // P is in shared memory, so a second S needs no P over it.
  EXPECT_EQ(violatedBy([](Schedule &s) { s.sStages = 2; }), "");
  EXPECT_EQ(violatedBy([](Schedule &s) { s.packHeads = 64; }), "");
  EXPECT_EQ(violatedBy([](Schedule &s) {
              s.packHeads = 64;
              s.splits = 2;
              s.rescaleThreshold = 0;
            }),
            "");
  EXPECT_THAT(violatedBy([](Schedule &s) { s.splits = 2; }),
              StartsWith("plan.C4: expected splits to be 1 with cta_group = 2 "
                         "and without packed heads, got 2"));
  EXPECT_THAT(violatedBy([](Schedule &s) { s.pPlacement = PPlacement::Tmem; }),
              StartsWith("plan.C4: expected p_placement to be smem with "
                         "cta_group = 2 and tiles of 64 rows"));
  EXPECT_THAT(violatedBy([](Schedule &s) { s.scheduler = Scheduler::Static; }),
              StartsWith("plan.C4: expected scheduler to be single with "
                         "cta_group = 2 and tiles of 64 rows, got static"));
  EXPECT_THAT(violatedBy([](Schedule &s) { s.pSlices = 2; }),
              StartsWith("plan.C4: expected p_slices to be 1"));
  EXPECT_THAT(violatedBy([](Schedule &s) { s.kvBlock = 16; }),
              StartsWith("plan.C4: expected a kv_block that is a multiple of "
                         "32 with cta_group = 2 and tiles of 64 rows, got 16"));
  EXPECT_THAT(violated([](Problem &p, Schedule &) { p.headDimV = 80; }),
              HasSubstr("multiple of 32 up to 512"));
}

/// Barriers of a pair cannot begin again between tiles, so that a pair has
/// several tiles only where the next one runs ahead.
TEST(Pairs, HaveSeveralTilesIfTheyRunAhead) {
  auto wholeTiles = [](Scheduler scheduler, unsigned stages) {
    return violatedBy([=](Schedule &s) {
      s.qTiles = 2;
      s.qTileRows = 128;
      s.pPlacement = PPlacement::Tmem;
      s.scheduler = scheduler;
      s.kvStages = stages;
    });
  };
  EXPECT_EQ(wholeTiles(Scheduler::Static, 4), "");
  EXPECT_EQ(wholeTiles(Scheduler::Static, 8), "");
  EXPECT_THAT(wholeTiles(Scheduler::Dynamic, 4),
              StartsWith("plan.C4: expected scheduler to be single or static "
                         "with cta_group = 2, got dynamic"));
  // The ring takes the place of the output.
  EXPECT_EQ(wholeTiles(Scheduler::Single, 9), "");
  EXPECT_THAT(wholeTiles(Scheduler::Static, 9),
              StartsWith("plan.C4: expected scheduler to be single with "
                         "cta_group = 2 where shared memory has no room"));
}

/// The CTAs go through the blocks that a row of either one sees, of which 64
/// rows of one head in each see fewer with packed heads.
TEST(Pairs, MasksHideTheSameBlocksFromBoth) {
  auto causal = [](unsigned heads) {
    return violated([=](Problem &p, Schedule &s) {
      p.mask.right = 0;
      s.packHeads = heads;
    });
  };
  EXPECT_THAT(causal(1), HasSubstr("a mask, with 64 rows of one head"));
  EXPECT_EQ(causal(64), "");
}

/// Two tiles of 128 rows are those of one CTA, with half of K and V. At head
/// dim 64, and with blocks of 64 keys, P has columns of its own.
TEST(Pairs, TwoTilesOfARequestedPair) {
  auto planned = [](unsigned dim, unsigned keys) {
    Overrides pair;
    pair.fix(Choice::CtaGroup, 2).fix(Choice::KvBlock, keys);
    return mustPlan(problemOf(dim), "sm_100a", pair);
  };
  Plan plan = planned(128, 128);
  EXPECT_EQ(plan.schedule.qTiles, 2u);
  EXPECT_EQ(plan.schedule.qTileRows, 128u);
  EXPECT_EQ(plan.map.findSmem("Q1")->bytes, 128u * 128 * 2);
  EXPECT_EQ(plan.map.findSmem("KV")->bytes, 64u * 128 * 2);
  EXPECT_EQ(plan.map.findTmem("P1")->aliases, "S1");
  EXPECT_EQ(planned(128, 64).map.findTmem("P1")->aliases, "");
  EXPECT_EQ(planned(64, 128).map.findTmem("P1")->aliases, "");
  // S and O of two tiles of 256 columns do not fit.
  EXPECT_EQ(planned(256, 128).schedule.qTiles, 1u);
}

/// The planner takes two tiles in a pair where the clocks of the softmax that
/// was read say so, without a mask, and with rows for a second tile.
TEST(Pairs, ArePlannedWhereTheyGain) {
  auto planned = [](const Problem &problem, unsigned ctas) {
    Overrides overrides;
    if (ctas)
      overrides.fix(Choice::CtaGroup, ctas);
    return mustPlan(problem, "sm_103a", overrides).schedule;
  };
  auto clocksOf = [](const Problem &problem, const Schedule &s) {
    return modelCost(problem, s).ordered / s.kvBlock;
  };
  Problem problem = problemOf(128);
  double alone = clocksOf(problem, planned(problem, 1));
  double together = clocksOf(problem, planned(problem, 2));
  bool gains = together <= alone * 0.96;
  EXPECT_EQ(planned(problem, 0).ctaGroup, gains ? 2u : 1u);
  problem.qLenHint = 256;
  EXPECT_EQ(planned(problem, 0).ctaGroup, 1u);
  problem.qLenHint = 0;
  problem.mask.right = 0;
  EXPECT_EQ(planned(problem, 0).ctaGroup, 1u);
}

/// The planner takes such a pair where 128 heads share keys whose O leaves S no
/// room in one CTA, with rings that hold a block.
TEST(Pairs, ShareTheHeadsOfLatentAttention) {
  Problem problem;
  problem.headDim = 576;
  problem.headDimV = 512;
  problem.vInK = true;
  problem.kvHeadsHint = problem.qLenHint = 1;
  problem.kvLenHint = 8192;
  auto planned = [&](unsigned heads) {
    problem.qHeadsHint = heads;
    std::string error;
    std::optional<Plan> found = plan(problem, "sm_100a", Overrides(), error);
    EXPECT_TRUE(found) << error;
    return found ? found->schedule : Schedule();
  };
  Schedule latent = planned(128);
  EXPECT_EQ(latent.ctaGroup, 2u);
  EXPECT_EQ(latent.packHeads, 64u);
  EXPECT_EQ(latent.oColumns, 0u);
  // 576 columns of K in messages of 64.
  EXPECT_GE(latent.kvStages * latent.keyChunk, 576u);
  EXPECT_GE(latent.vStages * latent.valueChunk, latent.kvBlock);
  // The second CTA would have no heads.
  EXPECT_EQ(planned(64).ctaGroup, 1u);
}

} // namespace
