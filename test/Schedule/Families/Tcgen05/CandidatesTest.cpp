//===- CandidatesTest.cpp - What is planned with tensor memory ------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Planning.h"

#include "gmock/gmock.h"

using namespace fmha;
using namespace fmha::schedule;

TEST(CandidatesTcgen05, FitsTilesToListedBlocks) {
  auto plan = [](unsigned rows, unsigned keys) {
    Problem problem = withHints(problemOf(64), {2, 16, 16, 8192, 8192});
    problem.kvNumBlocks = problem.kvIndices = true;
    problem.blockRows = rows;
    problem.blockKeys = keys;
    Schedule s = mustPlan(problem, "sm_100a").schedule;
    EXPECT_EQ(s.splits, 1u);
    EXPECT_EQ(s.packHeads, 1u);
    return std::pair(s.qTiles * s.qTileRows, s.kvBlock);
  };
  EXPECT_EQ(plan(256, 128), std::pair(256u, 128u));
  EXPECT_EQ(plan(128, 128), std::pair(128u, 128u));
  EXPECT_EQ(plan(128, 192), std::pair(128u, 64u));
  EXPECT_EQ(plan(128, 96), std::pair(128u, 32u));
  EXPECT_EQ(plan(128, 48), std::pair(128u, 16u));
  // Tiles of 64 rows, which 128 does not divide.
  EXPECT_EQ(plan(192, 64), std::pair(64u, 64u));
  EXPECT_EQ(plan(16, 64), std::pair(64u, 64u));
}

/// Blocks of 80 keys leave P columns of its own at head dim 128. Pages and
/// lists have other blocks, and no order of softmax was read for the others.
TEST(CandidatesTcgen05, ChoosesBlocksThatLeaveRoomForP) {
  for (const char *target : {"sm_100a", "sm_103a"})
    for (Mask mask : {Mask::None, Mask::Causal}) {
      Problem problem = problemOf(128);
      problem.mask = mask;
      Plan made = mustPlan(problem, target);
      EXPECT_EQ(made.schedule.kvBlock, 80u);
      EXPECT_EQ(made.schedule.pSlices, 1u);
      EXPECT_EQ(made.map.findTmem("P0")->aliases, "");
      EXPECT_THAT(made.reason,
                  testing::HasSubstr("kv_block = 80: P has columns of its own, "
                                     "and by the order in which ptxas emits "
                                     "softmax 128 keys take "));
    }
  Overrides whole;
  whole.fix(Choice::KvBlock, 128);
  EXPECT_EQ(mustPlan(problemOf(128), "sm_100a", whole).schedule.kvBlock, 128u);
  EXPECT_EQ(mustPlan(problemOf(64), "sm_100a").schedule.kvBlock, 128u);
  auto keysWith = [](auto change) {
    Problem problem = problemOf(128);
    change(problem);
    return mustPlan(problem, "sm_100a").schedule.kvBlock;
  };
  EXPECT_EQ(keysWith([](Problem &p) { p.kvLens = true; }), 80u);
  EXPECT_EQ(keysWith([](Problem &p) { p.lse = true; }), 80u);
  // Every block would rescale O.
  EXPECT_EQ(keysWith([](Problem &p) { p.rowMax = true; }), 128u);
  EXPECT_EQ(keysWith([](Problem &p) {
              p.kvLens = p.blockTables = true;
              p.pageSize = 128;
            }),
            128u);
  // Two blocks of 80 keys, or one of 128.
  EXPECT_EQ(keysWith([](Problem &p) { p.kvLenHint = 128; }), 128u);
  EXPECT_EQ(keysWith([](Problem &p) { p.kvLenHint = 1024; }), 80u);
}
