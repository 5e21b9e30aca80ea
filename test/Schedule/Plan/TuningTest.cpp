//===- TuningTest.cpp - Schedules to compare by their steps -----*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Planning.h"

#include "fmha/Schedule/Model/Overrides.h"
#include "fmha/Schedule/Plan/Tuning.h"

#include "gmock/gmock.h"

using namespace fmha::schedule;
using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;
using testing::SizeIs;

static Problem launchOf(unsigned headDim, unsigned qHeads, unsigned qLen,
                        unsigned kvLen) {
  Problem problem = problemOf(headDim, qLen);
  problem.batchHint = 1;
  problem.qHeadsHint = qHeads;
  problem.kvHeadsHint = qHeads;
  problem.kvLenHint = kvLen;
  return problem;
}

TEST(Tuning, StepsTheChoiceFirstAndNoShapeTwice) {
  for (const char *target : {"sm_90a", "sm_100a", "sm_103a"})
    for (unsigned headDim : {32u, 64u, 128u, 256u}) {
      Plan plan = mustPlan(launchOf(headDim, 64, 4096, 4096), target);
      std::vector<Schedule> all = schedulesToStep(plan, 6);
      ASSERT_THAT(all, SizeIs(6));
      EXPECT_EQ(differences(all[0], plan.schedule), "");
      for (size_t i = 0; i < all.size(); ++i)
        for (size_t j = 0; j < i; ++j) {
          // Rings and orders of tiles alone do not make another candidate.
          Schedule other = all[j];
          other.kvStages = all[i].kvStages;
          other.scheduler = all[i].scheduler;
          EXPECT_NE(differences(all[i], other), "")
              << target << " " << headDim << ": " << i << " and " << j;
        }
    }
}

TEST(Tuning, StepsNoMoreThanThereAre) {
  Plan plan;
  plan.schedule.kvBlock = 64;
  EXPECT_THAT(schedulesToStep(plan, 8), SizeIs(1));
  plan.runnersUp.resize(2);
  plan.runnersUp[1].schedule.kvStages = 7;
  EXPECT_THAT(schedulesToStep(plan, 8),
              ElementsAre(Field(&Schedule::kvBlock, 64),
                          Field(&Schedule::kvBlock, 128)));
  EXPECT_THAT(schedulesToStep(plan, 1), SizeIs(1));
}

TEST(Tuning, EveryScheduleToStepPassesTheRules) {
  for (const char *target : {"sm_90a", "sm_100a", "sm_103a"}) {
    Problem problem = launchOf(64, 64, 4096, 4096);
    Plan plan = mustPlan(problem, target);
    std::vector<Schedule> all = schedulesToStep(plan, 8);
    for (Schedule &one : withEmulation(problem, plan.schedule, {}))
      all.push_back(std::move(one));
    for (const Schedule &one : all) {
      EXPECT_EQ(check(problem, one), std::nullopt);
      EXPECT_EQ(check(problem, withRoles(forStepping(one))), std::nullopt);
    }
  }
}

TEST(Tuning, TriesLargerSharesUnlessTheShareIsFixed) {
  Problem problem = problemOf(128);
  Overrides overrides;
  overrides.fix(Choice::Exp2Emulated, 0);
  Plan plan = mustPlan(problem, "sm_100a", overrides);
  auto share = [](unsigned percent) {
    return Field(&Schedule::exp2EmulatedPercent, percent);
  };
  EXPECT_THAT(withEmulation(problem, plan.schedule, {}),
              ElementsAre(share(12), share(25)));
  Schedule some = plan.schedule;
  some.exp2EmulatedPercent = 12;
  EXPECT_THAT(withEmulation(problem, some, {}), ElementsAre(share(25)));
  EXPECT_THAT(withEmulation(problem, plan.schedule, overrides), IsEmpty());
  // With wgmma an emulated exponential took as long as two, on an H200.
  EXPECT_THAT(withEmulation(problem, mustPlan(problem, "sm_90a").schedule, {}),
              IsEmpty());
}

TEST(Tuning, SteppedLaunchesHaveWholeTilesAndBlocks) {
  Schedule schedule;
  schedule.qTiles = 2;
  schedule.qTileRows = 64;
  schedule.kvBlock = 176;
  schedule.packHeads = 4;
  schedule.ctasPerSm = 3;
  SteppedLaunch launch = launchToStep(schedule);
  // 128 rows are 32 queries of 4 heads, for each of 3 CTAs. 1024 keys are less
  // than 6 blocks.
  EXPECT_EQ(launch.qHeads, 12u);
  EXPECT_EQ(launch.qLen, 32u);
  EXPECT_EQ(launch.blocks, 6u);
  EXPECT_EQ(launch.shorter, 1056u);
  EXPECT_EQ(launch.longer, 2112u);
}

TEST(Tuning, SteppedPairsHaveTheRowsOfBothCtas) {
  Schedule schedule =
      mustPlan(launchOf(128, 32, 8192, 8192), "sm_103a").schedule;
  ASSERT_EQ(schedule.ctaGroup, 2u);
  ASSERT_EQ(schedule.qTiles * schedule.qTileRows, 256u);
  SteppedLaunch launch = launchToStep(schedule);
  EXPECT_EQ(launch.qHeads, 1u);
  EXPECT_EQ(launch.qLen, 512u);
  // Packed heads of the CTAs of a pair are of the same 16 queries.
  schedule.qTiles = 1;
  schedule.qTileRows = 64;
  schedule.packHeads = 4;
  launch = launchToStep(schedule);
  EXPECT_EQ(launch.qHeads, 8u);
  EXPECT_EQ(launch.qLen, 16u);
}

TEST(Tuning, CostFollowsTheClocksOfABlock) {
  // 148 SMs of a B200 have one CTA of 256 rows each, of 32 blocks. All heads
  // share their keys, or memory would bound the launch.
  Problem problem = launchOf(128, 148, 256, 4096);
  problem.kvHeadsHint = 1;
  Overrides blocks;
  blocks.fix(Choice::KvBlock, 128);
  Schedule schedule = mustPlan(problem, "sm_100a", blocks).schedule;
  schedule.splits = schedule.packHeads = 1;
  Cost planned = modelCost(problem, schedule);
  Cost same = steppedCost(problem, schedule, planned.clocks);
  EXPECT_DOUBLE_EQ(same.launchClocks, planned.launchClocks);
  EXPECT_DOUBLE_EQ(same.clocksPerRow, planned.clocksPerRow);
  Cost slower = steppedCost(problem, schedule, planned.clocks + 100);
  EXPECT_NEAR(slower.launchClocks - planned.launchClocks, 32 * 100, 1);
}
