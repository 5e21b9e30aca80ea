//===- PlannerTest.cpp - What the planner chooses ---------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Planning.h"

#include "fmha/Schedule/Cost/CostModel.h"
#include "fmha/Schedule/Model/Overrides.h"
#include "fmha/Schedule/Report/Explain.h"
#include "fmha/Target/Target.h"

#include "gmock/gmock.h"

#include <map>

using namespace fmha;
using namespace fmha::schedule;
using testing::HasSubstr;

TEST(Planner, TakesTwoTilesUnlessTheRowsFitOne) {
  for (const char *target : {"sm_100a", "sm_103a"})
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

TEST(Planner, SlicesPWhereTheChainOfATileIsTheWall) {
  // Head dim 128 and blocks of 128 keys: half of PV runs during softmax, for
  // one more hand-over. Four slices would keep the exp unit waiting in the
  // turns of two tiles.
  Overrides blocks;
  blocks.fix(Choice::KvBlock, 128);
  EXPECT_EQ(mustPlan(problemOf(128), "sm_100a", blocks).schedule.pSlices, 2u);
  // Head dim 64: exponentials are the wall already.
  EXPECT_EQ(mustPlan(problemOf(64), "sm_100a").schedule.pSlices, 1u);
  // Head dim 256 with one S: one tile, no turns to mind, and PV takes 1029
  // clocks, of which three more hand-overs of 120 hide three quarters: 1769
  // clocks from scores to O, against 1786 with two slices and 2181 with one.
  Overrides oneScore;
  oneScore.fix(Choice::SStages, 1);
  EXPECT_EQ(mustPlan(problemOf(256), "sm_100a", oneScore).schedule.pSlices, 4u);
  // With two S softmax overlaps the products of other blocks.
  EXPECT_EQ(mustPlan(problemOf(256), "sm_100a").schedule.pSlices, 1u);
  for (unsigned slices : {1u, 2u, 4u, 8u}) {
    Overrides wanted;
    wanted.fix(Choice::PSlices, slices);
    EXPECT_EQ(mustPlan(problemOf(128), "sm_100a", wanted).schedule.pSlices,
              slices);
  }
}

TEST(Planner, LeavesTheSchedulerToThePerson) {
  EXPECT_EQ(mustPlan(problemOf(128), "sm_100a").schedule.scheduler,
            Scheduler::Single);
  for (Scheduler scheduler :
       {Scheduler::Single, Scheduler::Static, Scheduler::Dynamic}) {
    Overrides wanted;
    wanted.fix(Choice::Scheduler, unsigned(scheduler));
    Plan plan = mustPlan(problemOf(128), "sm_100a", wanted);
    EXPECT_EQ(plan.schedule.scheduler, scheduler);
    EXPECT_THAT(explain(problemOf(128), plan),
                HasSubstr(std::string(stringify(scheduler)) + ": "));
  }
}

TEST(Planner, TakesFewerSlicesWhereTheirBarriersHaveNoRoom) {
  // 21 stages and 2 tiles: 42 barriers of the ring and 20 of the tiles leave
  // two of 64, one slice more for each tile.
  Overrides wanted;
  wanted.fix(Choice::QTiles, 2);
  wanted.fix(Choice::KvStages, 21);
  wanted.fix(Choice::KvBlock, 64);
  for (const Rejected &other :
       mustPlan(problemOf(64), "sm_100a", wanted).runnersUp)
    EXPECT_LE(other.schedule.pSlices, 2u);
}

TEST(Planner, NamesWhatKeepsTheBestCandidateBack) {
  // One query tile of 64 rows fails too: the advice of two would be wrong.
  EXPECT_THAT(mustFail(problemOf(2048), "sm_100a"),
              testing::Not(HasSubstr("or one query tile")));
  // 40 stages do not fit with the smallest tiles either.
  Overrides deep;
  deep.fix(Choice::KvStages, 40);
  EXPECT_THAT(mustFail(problemOf(512), "sm_100a", deep),
              HasSubstr("plan.C6: 1 query tile of 65536 bytes"));
}

TEST(Planner, ObeysOverrides) {
  for (unsigned qTiles : {1u, 2u})
    for (PPlacement placement : {PPlacement::Tmem, PPlacement::Smem})
      for (unsigned stages : {2u, 3u}) {
        Schedule got = mustPlan(problemOf(128, 64), "sm_103a",
                                fixed(qTiles, stages, placement))
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
        Plan plan = mustPlan(problem, "sm_100a",
                             fixed(qTiles, std::nullopt, placement));
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

TEST(Planner, ObeysEveryField) {
  // What is asked for is in the plan, or the error names the field.
  for (const ScheduleField &field : scheduleFields())
    for (unsigned value : {0u, 1u, 2u, 64u, 128u}) {
      Overrides overrides;
      overrides.fix(field.choice, value);
      std::string error;
      std::optional<Plan> got =
          plan(problemOf(128), "sm_100a", overrides, error);
      if (got)
        EXPECT_EQ(field.get(got->schedule), value) << field.name;
      else
        EXPECT_THAT(
            error, AnyOf(HasSubstr("the nearest that works: "),
                         HasSubstr("leave " + std::string(field.name) + " out"),
                         HasSubstr("take split_by = sequence")))
            << field.name;
    }
}

TEST(Planner, CountsWhatAReasonStandsFor) {
  Plan plan = mustPlan(problemOf(128), "sm_100a");
  std::map<std::string, unsigned> byRule;
  for (const Rejected &rejected : plan.rejected) {
    std::optional<std::string> reason =
        check(problemOf(128), rejected.schedule);
    ASSERT_TRUE(reason);
    byRule[reason->substr(0, reason->find(':'))] += rejected.candidates;
  }
  EXPECT_GT(byRule["plan.C5"], 1u);
  // Pairs of CTAs are by request only.
  EXPECT_EQ(byRule["plan.C4"], 0u);
  std::vector<Reason> groups = groupByReason(problemOf(128), plan.rejected);
  for (const Reason &group : groups)
    EXPECT_GT(group.candidates, 0u);
  EXPECT_LT(groups.size(), plan.rejected.size());
}

TEST(Planner, RunnersUpWouldDoAndComeInOrder) {
  for (unsigned headDim : {64u, 128u}) {
    Problem problem = problemOf(headDim);
    // Smaller blocks are chosen by another figure.
    Overrides blocks;
    blocks.fix(Choice::KvBlock, 128);
    Plan plan = mustPlan(problem, "sm_100a", blocks);
    ASSERT_FALSE(plan.runnersUp.empty());
    Cost last = modelCost(problem, plan.schedule);
    for (const Rejected &other : plan.runnersUp) {
      EXPECT_EQ(check(problem, withRoles(other.schedule)), std::nullopt);
      Cost cost = modelCost(problem, other.schedule);
      EXPECT_FALSE(isCheaper(cost, last))
          << whySlower(problem, plan, other.schedule);
      last = cost;
    }
  }
}

TEST(Planner, SaysWhyItFails) {
  EXPECT_THAT(mustFail(problemOf(128), "sm_42"), HasSubstr("plan.C1: "));
  EXPECT_THAT(mustFail(problemOf(128), "sm_75"), HasSubstr("cp.async"));
  Overrides wide;
  wide.fix(Choice::QTiles, 2);
  wide.fix(Choice::OColumns, 256);
  EXPECT_THAT(mustFail(problemOf(256), "sm_100a", wide),
              HasSubstr("need 640 tensor-memory columns (S 64 and O 256"));
  Overrides pair;
  pair.fix(Choice::CtaGroup, 2);
  pair.fix(Choice::QTileRows, 128);
  EXPECT_THAT(
      mustFail(problemOf(512), "sm_100a", pair),
      HasSubstr("expected o_columns to be 0 with cta_group = 2, got 128 "
                "(the planner chose o_columns); the nearest that works:"));
  EXPECT_THAT(
      mustFail(problemOf(100), "sm_100a"),
      HasSubstr("got 100; the nearest that works: head_dim = head_dim_v "
                "= 104, padded with zeros, the scale kept"));
  // 64 columns of O would fit tensor memory, but 64 rows of Q take 262144
  // bytes.
  EXPECT_THAT(mustFail(problemOf(2048), "sm_100a"),
              HasSubstr("plan.C6: 1 query tile of 262144 bytes"));
  EXPECT_THAT(
      mustFail(problemOf(128), "sm_100a",
               fixed(std::nullopt, std::nullopt, PPlacement::Registers)),
      HasSubstr("registers is not available"));
  Overrides deep;
  deep.fix(Choice::QTiles, 2).fix(Choice::KvStages, 6);
  deep.fix(Choice::KvBlock, 128);
  EXPECT_THAT(mustFail(problemOf(128), "sm_100a", deep),
              HasSubstr("31248 too many"));
  EXPECT_THAT(
      mustFail(problemOf(128), "sm_100a", fixed(7, {}, PPlacement::Auto)),
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
        Plan plan = mustPlan(problem, "sm_100a", fixed({}, {}, placement));
        EXPECT_EQ(check(problem, plan.schedule), std::nullopt);
        EXPECT_EQ(plan.schedule.pPlacement, placement);
        // O and the scores that P lies over, 64 at least, have 512 columns.
        if (placement == PPlacement::Tmem && v > 512 - 64)
          EXPECT_GT(outputPasses(problem, plan.schedule), 1u) << k << ", " << v;
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
  Problem problem = problemOf(128);
  Plan plan = mustPlan(problem, "sm_100a");
  bool registers = false, smem = false, oneTile = false;
  for (const std::vector<Rejected> *list : {&plan.rejected, &plan.runnersUp})
    for (const Rejected &rejected : *list) {
      EXPECT_THAT(list == &plan.rejected
                      ? whyRejected(problem, rejected.schedule)
                      : whySlower(problem, plan, rejected.schedule),
                  testing::StartsWith("q_tiles = "));
      EXPECT_FALSE(withRoles(rejected.schedule) == plan.schedule);
      registers |= rejected.schedule.pPlacement == PPlacement::Registers;
      smem |= rejected.schedule.pPlacement == PPlacement::Smem;
      oneTile |= rejected.schedule.qTiles == 1;
    }
  EXPECT_TRUE(registers && smem && oneTile);
}

TEST(Planner, GivesItsRolesToAScheduleWithoutAny) {
  for (unsigned qTiles : {1, 2}) {
    Schedule schedule;
    schedule.qTiles = qTiles;
    EXPECT_THAT(*check(problemOf(80), schedule), HasSubstr("plan.C9"));
    Schedule whole = withRoles(schedule);
    EXPECT_EQ(check(problemOf(80), whole), std::nullopt);
    EXPECT_EQ(whole.roles,
              mustPlan(problemOf(80), "sm_100a", fixed(qTiles, {}, {}))
                  .schedule.roles);
    // Roles that are there stay.
    whole.roles.pop_back();
    EXPECT_EQ(withRoles(whole), whole);
  }
}
