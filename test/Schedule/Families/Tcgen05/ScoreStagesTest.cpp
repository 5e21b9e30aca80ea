//===- ScoreStagesTest.cpp - Two S of one query tile ----------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Planning.h"

#include "fmha/Schedule/Cost/CostModel.h"
#include "fmha/Schedule/Report/Explain.h"
#include "fmha/Target/Target.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <functional>
#include <limits>

using namespace fmha;
using namespace fmha::schedule;
using testing::HasSubstr;
using testing::StartsWith;

namespace {

/// Returns a schedule of one query tile with two S, for head dims of 256, with
/// messages of half a block.
Schedule twoScores() {
  Schedule s;
  s.qTiles = 1;
  s.sStages = 2;
  s.keyChunk = 128;
  s.valueChunk = 64;
  s.kvStages = s.vStages = 2;
  return s;
}

/// Returns the rule that the schedule violates after `change`, "" if none.
std::string violated(const std::function<void(Schedule &)> &change,
                     unsigned headDim = 256) {
  Schedule s = twoScores();
  change(s);
  return check(problemOf(headDim), withRoles(s)).value_or("");
}

TEST(ScoreStages, NeedOneTileAndPInTensorMemory) {
  EXPECT_EQ(violated([](Schedule &) {}), "");
  EXPECT_EQ(violated([](Schedule &s) { s.sStages = 3; }),
            "plan.C8: expected s_stages to be 1 or 2, got 3");
  EXPECT_EQ(violated(
                [](Schedule &s) {
                  s.qTiles = 2;
                  s.keyChunk = s.valueChunk = s.vStages = 0;
                },
                64),
            "plan.C8: expected q_tiles to be 1 with s_stages = 2, since a "
            "second query tile overlaps softmax already, got 2; take s_stages "
            "= 1");
  EXPECT_EQ(violated([](Schedule &s) { s.pPlacement = PPlacement::Smem; }),
            "plan.C8: expected p_placement to be tmem with s_stages = 2, since "
            "P lies in S, got smem; take s_stages = 1");
  EXPECT_EQ(violated([](Schedule &s) {
              s.target = "sm_90a";
              s.qTileRows = 64;
              s.pPlacement = PPlacement::Registers;
              s.keyChunk = s.valueChunk = s.vStages = 0;
            }),
            "plan.C8: expected s_stages to be 1 on sm_90a, where a warpgroup "
            "has S in registers; got 2");
  Schedule threads;
  threads.family = FamilyKind::Fma;
  threads.qTiles = threads.kvStages = 1;
  threads.qTileRows = threads.packHeads = 4;
  threads.pPlacement = PPlacement::Smem;
  threads.rescaleThreshold = 0;
  threads.sStages = 2;
  EXPECT_THAT(check(problemOf(64), threads).value_or(""),
              HasSubstr("expected s_stages to be 1 with family = fma"));
}

TEST(ScoreStages, FitTensorMemory) {
  // 2 x 128 + 256 = 512 columns fit; with O of 320 columns 64 are missing.
  EXPECT_EQ(violated([](Schedule &s) { s.keyChunk = 64; }, 320),
            "plan.C2: 1 query tile needs 576 tensor-memory columns (2 x S 128 "
            "and O 320 each), 512 are available; take s_stages = 1, or "
            "o_columns of at most 256");
  EXPECT_EQ(violated([](Schedule &s) { s.oColumns = 256; }, 320), "");
}

/// The MMA role issues Q.K of block 1 before P.V of block 0, so the ring holds
/// the four messages of K and the four of V.
TEST(ScoreStages, SharedRingHoldsKAndVOfABlock) {
  auto shared = [](unsigned stages) {
    return violated([=](Schedule &s) {
      s.vStages = 0;
      s.keyChunk = 64;
      s.valueChunk = 32;
      s.kvStages = stages;
    });
  };
  EXPECT_EQ(
      shared(7),
      "plan.C6: expected kv_stages of at least 8 with s_stages = 2, since "
      "a ring of K and V holds all messages of a block, got 7; take "
      "v_stages = 1, or s_stages = 1");
  EXPECT_EQ(shared(8), "");
}

TEST(ScoreStages, PLiesOverEachS) {
  Schedule s = withRoles(twoScores());
  Problem problem = problemOf(256);
  MemoryMap map = layOut(problem, s);
  const TmemRegion &scores = *map.findTmem("S0"), &p = *map.findTmem("P0");
  EXPECT_EQ(scores.column, 0u);
  EXPECT_EQ(scores.stages, 2u);
  EXPECT_EQ(scores.pitch, 128u);
  EXPECT_EQ(scores.end(), 256u);
  EXPECT_EQ(p.column, 64u);
  EXPECT_EQ(p.columns, 64u);
  EXPECT_EQ(p.pitch, 128u);
  EXPECT_EQ(p.end(), 256u);
  EXPECT_EQ(map.findTmem("O0")->column, 256u);
  EXPECT_EQ(map.tmemColumns, 512u);
  EXPECT_EQ(verify(problem, s, map).value_or(""), "");
  EXPECT_THAT(drawTmem(map), HasSubstr("S0.1"));
  // P of the second stage would begin in the first S.
  const_cast<TmemRegion &>(p).pitch = 64;
  EXPECT_THAT(verify(problem, s, map).value_or(""),
              StartsWith("map.V2: expected the stages of tensor-memory region "
                         "\"P0\""));
}

/// The loads follow the products: with half-block messages, two stages of each
/// ring are enough. With whole blocks K of the next block waits for its slot.
/// In a shared ring of five stages the next K waits for the slot of V, which is
/// read last.
TEST(ScoreStages, LoadsNeedSlotsInTheOrderOfTheProducts) {
  Problem problem = problemOf(256);
  auto loadsOf = [&](const std::function<void(Schedule &)> &change) {
    Schedule s = twoScores();
    change(s);
    return modelCost(problem, s).loads;
  };
  double halves = loadsOf([](Schedule &) {});
  double products = modelCost(problem, twoScores()).of(Unit::Mma);
  EXPECT_LT(halves, 1.2 * products);
  EXPECT_GT(loadsOf([](Schedule &s) {
              s.keyChunk = s.valueChunk = 0;
              s.kvStages = s.vStages = 1;
            }),
            1.5 * products);
  EXPECT_GT(loadsOf([](Schedule &s) {
              s.vStages = 0;
              s.kvStages = 5;
            }),
            1.5 * products);
  // The next K of three messages waits for a slot that its product frees.
  EXPECT_EQ(loadsOf([](Schedule &s) {
              s.vStages = 0;
              s.kvStages = 3;
            }),
            std::numeric_limits<double>::infinity());
}

/// No product is read before its message, so loads never bound a block below
/// its products. One message for K and V stays in its slot until P.V.
TEST(ScoreStages, LoadsTakeNoLessThanTheProducts) {
  Problem problem = problemOf(192);
  problem.headDimV = 128;
  problem.vInK = true;
  Schedule s = twoScores();
  s.keyChunk = s.valueChunk = s.vStages = 0;
  s.shareKv = true;
  s.kvBlock = 64;
  auto loadsOf = [&](unsigned stages) {
    s.kvStages = stages;
    return modelCost(problem, s).loads;
  };
  Cost cost = modelCost(problem, s);
  double products = cost.qkClocks + cost.pvClocks;
  EXPECT_NEAR(loadsOf(8), products, 1e-9);
  EXPECT_GT(loadsOf(3), loadsOf(4));
  EXPECT_GT(loadsOf(4), products);
  // Q.K of the next block needs a second slot while V of this one is unread.
  EXPECT_EQ(loadsOf(1), std::numeric_limits<double>::infinity());
}

/// Softmax of a block overlaps Q.K of the next block and P.V of the one before,
/// so the chain is only the two products.
TEST(ScoreStages, SoftmaxAndProductsOverlap) {
  Problem problem = problemOf(256);
  Schedule two = twoScores(), one = two;
  two.mmaOrder = MmaOrder::Issue;
  one.sStages = 1;
  Cost cost = modelCost(problem, two);
  double latency = target::findTarget("sm_100a")->mmaLatency;
  EXPECT_DOUBLE_EQ(cost.chain, cost.qkClocks + cost.pvClocks);
  two.mmaOrder = MmaOrder::Commit;
  EXPECT_DOUBLE_EQ(modelCost(problem, two).chain, cost.chain + latency);
  EXPECT_GT(modelCost(problem, one).chain, 1.3 * cost.chain);
}

TEST(ScoreStages, ArePlannedWhereOneTileFits) {
  Plan plan = mustPlan(problemOf(256), "sm_100a");
  EXPECT_EQ(plan.schedule.qTiles, 1u);
  EXPECT_EQ(plan.schedule.sStages, 2u);
  EXPECT_EQ(mustPlan(problemOf(128), "sm_100a").schedule.sStages, 1u);
}

} // namespace
