//===- PlannerTest.cpp - What the planner chooses and says ------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Schedule/CostModel.h"
#include "fmha/Schedule/Explain.h"
#include "fmha/Target/Target.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <sstream>

using namespace fmha;
using namespace fmha::schedule;
using testing::AllOf;
using testing::HasSubstr;

static Problem problemOf(unsigned headDim, unsigned qLenHint = 0) {
  Problem problem;
  problem.headDim = problem.headDimV = headDim;
  problem.qLenHint = qLenHint;
  return problem;
}

static Plan mustPlan(const Problem &problem, std::string_view target,
                     const Overrides &overrides = {}) {
  std::string error;
  std::optional<Plan> result = plan(problem, target, overrides, error);
  EXPECT_TRUE(result) << error;
  return result.value_or(Plan());
}

static std::string mustFail(const Problem &problem, std::string_view target,
                            const Overrides &overrides = {}) {
  std::string error;
  EXPECT_FALSE(plan(problem, target, overrides, error));
  return error;
}

TEST(Planner, TakesTwoTilesUnlessTheRowsFitOne) {
  for (const std::string &target : target::names(/*supported=*/true))
    for (unsigned headDim : {64u, 128u}) {
      for (unsigned hint : {0u, 129u, 256u, 4096u})
        EXPECT_EQ(mustPlan(problemOf(headDim, hint), target).schedule.qTiles,
                  2u);
      for (unsigned hint : {1u, 127u, 128u})
        EXPECT_EQ(mustPlan(problemOf(headDim, hint), target).schedule.qTiles,
                  1u);
    }
}

TEST(Planner, KeepsPInTensorMemoryWhereItIsFree) {
  for (unsigned headDim : {64u, 128u})
    EXPECT_EQ(mustPlan(problemOf(headDim), "sm_100a").schedule.pPlacement,
              PPlacement::Tmem);
}

TEST(Planner, ObeysOverrides) {
  for (unsigned qTiles : {1u, 2u})
    for (PPlacement placement : {PPlacement::Tmem, PPlacement::Smem})
      for (unsigned stages : {2u, 3u}) {
        Schedule got =
            mustPlan(problemOf(128, 64), "sm_103a", {qTiles, stages, placement})
                .schedule;
        EXPECT_EQ(got.qTiles, qTiles);
        EXPECT_EQ(got.pPlacement, placement);
        EXPECT_EQ(got.kvStages, stages);
        EXPECT_EQ(got.target, "sm_103a");
      }
}

TEST(Planner, MakesTheRingAsDeepAsItFits) {
  for (unsigned headDim : {64u, 128u})
    for (unsigned qTiles : {1u, 2u})
      for (PPlacement placement : {PPlacement::Tmem, PPlacement::Smem}) {
        Problem problem = problemOf(headDim);
        Plan plan =
            mustPlan(problem, "sm_100a", {qTiles, std::nullopt, placement});
        EXPECT_GE(plan.schedule.kvStages, 2u);
        EXPECT_LE(plan.map.smemBytes, 232448u - 1024u);
        unsigned stage = 128 * headDim * 2;
        if (plan.schedule.kvStages < 8) {
          EXPECT_GT(plan.map.smemBytes + stage, 232448u - 1024u);
        }
      }
}

TEST(Planner, GivesItsOwnScheduleThatPasses) {
  for (unsigned headDim : {64u, 128u})
    for (unsigned hint : {0u, 100u}) {
      Problem problem = problemOf(headDim, hint);
      Plan plan = mustPlan(problem, "sm_100a");
      EXPECT_EQ(check(problem, plan.schedule), std::nullopt);
      EXPECT_EQ(verify(problem, plan.schedule, plan.map), std::nullopt);
    }
}

TEST(Planner, SaysWhyItFails) {
  EXPECT_THAT(mustFail(problemOf(128), "sm_42"), HasSubstr("C1: "));
  EXPECT_THAT(mustFail(problemOf(128), "sm_90a"), HasSubstr("wgmma"));
  EXPECT_THAT(mustFail(problemOf(256), "sm_100a", {2, {}, PPlacement::Auto}),
              HasSubstr("need 768 tensor-memory columns"));
  EXPECT_THAT(mustFail(problemOf(100), "sm_100a"), HasSubstr("take 96 or 104"));
  EXPECT_THAT(mustFail(problemOf(1024), "sm_100a"), HasSubstr("C2: "));
  EXPECT_THAT(mustFail(problemOf(128), "sm_100a",
                       {std::nullopt, std::nullopt, PPlacement::Registers}),
              HasSubstr("registers cannot be had"));
  EXPECT_THAT(mustFail(problemOf(128), "sm_100a", {2, 6, PPlacement::Auto}),
              HasSubstr("31248 too many"));
  EXPECT_THAT(mustFail(problemOf(128), "sm_100a", {7, {}, PPlacement::Auto}),
              HasSubstr("q_tiles to be 1 or 2, got 7"));
}

TEST(Planner, FindsAScheduleForEveryHeadDim) {
  std::vector<std::pair<unsigned, unsigned>> dims = {
      {192, 128}, {128, 64}, {64, 256}, {64, 512}, {576, 512}, {512, 512},
      {8, 256},   {256, 8},  {512, 8},  {8, 512},  {320, 320}};
  for (unsigned dim = 8; dim <= 256; dim += 8)
    dims.emplace_back(dim, dim);
  for (auto [k, v] : dims)
    for (bool vInK : {false, true})
      for (PPlacement placement : {PPlacement::Tmem, PPlacement::Smem}) {
        Problem problem = problemOf(k);
        problem.headDimV = v;
        problem.vInK = vInK && v <= k;
        Plan plan = mustPlan(problem, "sm_100a", {{}, {}, placement});
        EXPECT_EQ(check(problem, plan.schedule), std::nullopt);
        EXPECT_EQ(plan.schedule.pPlacement, placement);
        // Scores are computed once where O has room.
        EXPECT_EQ(outputPasses(problem, plan.schedule), v > 256 + 128 ? 2u : 1u)
            << k << ", " << v;
      }
}

TEST(Planner, LoadsKAndVTogetherWhereTheyAreOne) {
  Problem problem = problemOf(192);
  problem.headDimV = 128;
  EXPECT_FALSE(mustPlan(problem, "sm_100a").schedule.shareKv);
  problem.vInK = true;
  EXPECT_TRUE(mustPlan(problem, "sm_100a").schedule.shareKv);
  // 144 KiB of K in one message fit no ring.
  problem.headDim = 576;
  problem.headDimV = 512;
  EXPECT_FALSE(mustPlan(problem, "sm_100a").schedule.shareKv);
}

TEST(Planner, RejectsEveryOtherCandidateWithAReason) {
  Plan plan = mustPlan(problemOf(128), "sm_100a");
  bool registers = false, smem = false, oneTile = false;
  for (const Rejected &rejected : plan.rejected) {
    EXPECT_FALSE(rejected.reason.empty());
    EXPECT_FALSE(rejected.schedule == plan.schedule);
    registers |= rejected.schedule.pPlacement == PPlacement::Registers;
    smem |= rejected.schedule.pPlacement == PPlacement::Smem;
    oneTile |= rejected.schedule.qTiles == 1;
  }
  EXPECT_TRUE(registers && smem && oneTile);
}

//===----------------------------------------------------------------------===//
// Cost model
//===----------------------------------------------------------------------===//

static Cost costOf(unsigned headDim, const std::string &target,
                   Overrides overrides) {
  Problem problem = problemOf(headDim);
  return modelCost(problem, mustPlan(problem, target, overrides).schedule);
}

TEST(CostModel, HeadDim128OnB200) {
  Cost cost = costOf(128, "sm_100a", {2, {}, PPlacement::Tmem});
  // Per tile 2 * 2 * 128^3 FLOP at 8192, 128^2 + 128 ex2 at 16, and three
  // operands of 32 KiB at 128 bytes; K and V come in once for both tiles.
  EXPECT_DOUBLE_EQ(cost.of(Unit::Mma), 2 * 1024);
  EXPECT_DOUBLE_EQ(cost.of(Unit::Mufu), 2 * (1024 + 8));
  EXPECT_DOUBLE_EQ(cost.of(Unit::Smem), 2 * (768 + 8) + 512);
  EXPECT_EQ(cost.bound(), Unit::Mufu);
}

TEST(CostModel, SharedMemoryBecomesTheWallWithPInIt) {
  Cost tmem = costOf(128, "sm_100a", {2, {}, PPlacement::Tmem});
  Cost smem = costOf(128, "sm_100a", {2, {}, PPlacement::Smem});
  // 32 KiB written and 32 KiB read per tile.
  EXPECT_DOUBLE_EQ(smem.of(Unit::Smem) - tmem.of(Unit::Smem), 2 * 512);
  EXPECT_EQ(smem.bound(), Unit::Smem);
  EXPECT_GT(smem.clocksPerTile, tmem.clocksPerTile);
}

TEST(CostModel, MeasuredMmaClocks) {
  // Head dim 64: four steps of 128 columns at 64 clocks, eight of 64 columns at
  // 32 with P in tensor memory, and at 48 where the operands' bytes count.
  EXPECT_DOUBLE_EQ(
      costOf(64, "sm_100a", {1, {}, PPlacement::Tmem}).of(Unit::Mma),
      4 * 64 + 8 * 32);
  EXPECT_DOUBLE_EQ(
      costOf(64, "sm_100a", {1, {}, PPlacement::Smem}).of(Unit::Mma),
      4 * 64 + 8 * 48);
}

TEST(CostModel, B300HalvesTheExponentials) {
  Cost b200 = costOf(128, "sm_100a", {2, {}, PPlacement::Tmem});
  Cost b300 = costOf(128, "sm_103a", {2, {}, PPlacement::Tmem});
  EXPECT_DOUBLE_EQ(b300.of(Unit::Mufu) * 2, b200.of(Unit::Mufu));
  EXPECT_NE(b300.bound(), Unit::Mufu);
}

TEST(CostModel, OneTileTakesTurns) {
  Cost one = costOf(128, "sm_100a", {1, {}, PPlacement::Tmem});
  EXPECT_TRUE(one.serial);
  EXPECT_DOUBLE_EQ(one.clocks, one.of(Unit::Mma) + one.of(Unit::Mufu));
}

//===----------------------------------------------------------------------===//
// Report
//===----------------------------------------------------------------------===//

TEST(Explain, TellsTheWholeStory) {
  Problem problem = problemOf(128);
  Plan plan = mustPlan(problem, "sm_100a");
  std::string text = explain(problem, plan);
  EXPECT_THAT(text,
              AllOf(HasSubstr("schedule for sm_100a"),
                    HasSubstr("exp-bound (modelled"), HasSubstr("2064 clk exp"),
                    HasSubstr("rejected:"), HasSubstr("65536 registers")));
  for (const Role &role : plan.schedule.roles)
    EXPECT_THAT(text, HasSubstr("  " + role.name));
  for (const SmemRegion &region : plan.map.smem)
    EXPECT_THAT(text, HasSubstr(region.name));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    EXPECT_LE(line.size(), 80u) << line;
}

TEST(Explain, KeepsEveryDigitOfTheThreshold) {
  Plan plan = mustPlan(problemOf(128), "sm_100a");
  for (auto [threshold, text] : {std::pair(8.0, "2^8 growth"),
                                 {7.25, "2^7.25 growth"},
                                 {0.1, "2^0.1 g"}}) {
    plan.schedule.rescaleThreshold = threshold;
    EXPECT_THAT(explain(problemOf(128), plan), HasSubstr(text));
  }
}

TEST(Planner, GivesItsRolesToAScheduleWithoutAny) {
  for (unsigned qTiles : {1, 2}) {
    Schedule schedule;
    schedule.qTiles = qTiles;
    EXPECT_THAT(*check(problemOf(64), schedule), HasSubstr("C9"));
    Schedule whole = withRoles(schedule);
    EXPECT_EQ(check(problemOf(64), whole), std::nullopt);
    EXPECT_EQ(
        whole.roles,
        mustPlan(problemOf(64), "sm_100a", {qTiles, {}, {}}).schedule.roles);
    // Roles that are there stay.
    whole.roles.pop_back();
    EXPECT_EQ(withRoles(whole), whole);
  }
}

/// The line of a drawing whose title is `title`.
static std::string lineOf(const std::string &text, const std::string &title) {
  size_t at = text.find("  " + title);
  return at == std::string::npos ? ""
                                 : text.substr(at, text.find('\n', at) - at);
}

TEST(Explain, DrawsTensorMemoryToScale) {
  Plan plan = mustPlan(problemOf(128), "sm_100a");
  std::string text = drawTmem(plan.map);
  std::string ruler = lineOf(text, "column");
  // Every region begins under the ruler's mark of its first column.
  for (const TmemRegion &region : plan.map.tmem) {
    std::string line =
        lineOf(text, region.aliases.empty() ? "regions" : "over S");
    EXPECT_EQ(line.find("|" + region.name),
              ruler.find(" " + std::to_string(region.column) + " ") + 1)
        << text;
  }
}
