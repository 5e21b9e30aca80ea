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
