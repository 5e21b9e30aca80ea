//===- ResourcesTest.cpp - What a schedule takes of an SM -------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Planning.h"

#include "fmha/Schedule/Model/Resources.h"

using namespace fmha::schedule;

/// The model says of a plan what its memory map says.
TEST(Resources, AgreeWithTheMap) {
  for (unsigned headDim : {64u, 128u})
    for (unsigned qTiles : {1u, 2u})
      for (PPlacement placement : {PPlacement::Tmem, PPlacement::Smem}) {
        Problem problem = problemOf(headDim);
        Plan plan = mustPlan(problem, "sm_100a", fixed(qTiles, {}, placement));
        Resources got = resourcesOf(problem, plan.schedule);
        EXPECT_EQ(got.smemBytes, plan.map.smemBytes);
        EXPECT_EQ(got.tmemAllocated, plan.map.tmemColumns);
        EXPECT_EQ(got.threads, 512u);
        EXPECT_EQ(got.registers, 65536u);
        EXPECT_EQ(exceeded(got, "sm_100a"), std::nullopt);
      }
}

TEST(Resources, RingsHoldWholePanels) {
  Problem problem = problemOf(96);
  Schedule schedule;
  // 96 columns take two panels of 64.
  EXPECT_EQ(ringsOf(problem, schedule).keyBytes, 128u * 128 * 2);
  problem = problemOf(512);
  schedule.keyChunk = 64;
  schedule.valueChunk = 16;
  schedule.kvStages = 4;
  // A stage of a shared ring takes the larger message: 16 KiB both.
  EXPECT_EQ(ringsOf(problem, schedule).keyBytes, 128u * 64 * 2);
  EXPECT_EQ(ringsOf(problem, schedule).valueBytes, 16u * 512 * 2);
  EXPECT_EQ(ringsOf(problem, schedule).bytes(), 4u * 16384);
  schedule.valueChunk = 32;
  schedule.vStages = 2;
  EXPECT_EQ(ringsOf(problem, schedule).bytes(), 4u * 16384 + 2u * 32768);
  schedule.ctaGroup = 2;
  EXPECT_EQ(ringsOf(problem, schedule).bytes(), 2u * 16384 + 32768);
}

TEST(Resources, SharedMessagesBringNoV) {
  Problem problem = problemOf(512);
  problem.headDim = 576;
  problem.vInK = true;
  Schedule schedule;
  schedule.shareKv = true;
  EXPECT_EQ(ringsOf(problem, schedule).valueBytes, 0u);
  EXPECT_EQ(ringsOf(problem, schedule).keyBytes, 128u * 576 * 2);
}

TEST(Resources, NameWhatIsExceeded) {
  Problem problem = problemOf(256);
  Schedule schedule = withRoles({});
  Resources got = resourcesOf(problem, schedule);
  EXPECT_EQ(got.tmemAllocated, 0u);
  EXPECT_EQ(exceeded(got, "sm_100a"),
            "tensor memory: 768 columns needed, 512 available");
  schedule.qTiles = 1;
  schedule.kvStages = 9;
  EXPECT_EQ(exceeded(resourcesOf(problem, schedule), "sm_100a"),
            "shared memory: 656400 bytes needed, 232448 available");
  EXPECT_EQ(exceeded(resourcesOf(problem, schedule), "sm_13"), std::nullopt);
}

TEST(Resources, SixtyFourRowsShareColumnsBetweenSAndO) {
  Problem problem = problemOf(512);
  Schedule schedule;
  schedule.qTiles = 1;
  schedule.qTileRows = 64;
  EXPECT_EQ(resourcesOf(problem, schedule).tmemAllocated, 512u);
  schedule.qTileRows = 128;
  EXPECT_EQ(resourcesOf(problem, schedule).tmemColumns, 640u);
}
