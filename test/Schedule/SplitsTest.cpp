//===- SplitsTest.cpp - KV blocks shared out to several CTAs ----*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Schedule/Splits.h"
#include "Planning.h"

#include "gmock/gmock.h"

using namespace fmha::schedule;
using testing::HasSubstr;

/// Decoding of one token by 8 heads, whose 8 CTAs leave most SMs idle.
static Problem decode(unsigned kvLen, unsigned batch = 1) {
  Problem problem = problemOf(128, /*qLenHint=*/1);
  problem.kvLenHint = kvLen;
  problem.batchHint = batch;
  problem.qHeadsHint = problem.kvHeadsHint = 8;
  return problem;
}

TEST(Splits, NoneWithoutHints) {
  for (unsigned Problem::*hint : {&Problem::qLenHint, &Problem::kvLenHint,
                                  &Problem::batchHint, &Problem::qHeadsHint}) {
    Problem problem = decode(1 << 16);
    problem.*hint = 0;
    SplitChoice choice = chooseSplits(problem, Schedule());
    EXPECT_EQ(choice.splits, 1u);
    EXPECT_EQ(choice.reason, "");
  }
}

TEST(Splits, AsManyAsFillTheGpuAndNoMoreThanBlocks) {
  // 148 SMs, blocks of 128 keys.
  EXPECT_EQ(chooseSplits(decode(1 << 16), Schedule()).splits, 148u / 8);
  EXPECT_EQ(chooseSplits(decode(128 * 6), Schedule()).splits, 6u);
  EXPECT_EQ(chooseSplits(decode(128 * 5 - 127), Schedule()).splits, 5u);
  EXPECT_EQ(chooseSplits(decode(128 * 4), Schedule()).splits, 1u);
  EXPECT_EQ(chooseSplits(decode(1 << 16, 9), Schedule()).splits, 2u);
  EXPECT_EQ(chooseSplits(decode(1 << 16, 10), Schedule()).splits, 1u);
}

TEST(Splits, AWindowShowsFewBlocks) {
  Problem problem = decode(1 << 16);
  problem.mask.kind = Mask::Causal;
  EXPECT_EQ(chooseSplits(problem, Schedule()).splits, 148u / 8);
  problem.mask.left = 200;
  // 256 rows and 200 keys before the first of them.
  EXPECT_EQ(chooseSplits(problem, Schedule()).splits, 1u);
}

TEST(Splits, ThePlannerTakesThemAndSaysWhy) {
  Plan plan = mustPlan(decode(1 << 16), "sm_100a");
  EXPECT_EQ(plan.schedule.splits, 148u / 8);
  EXPECT_EQ(plan.schedule.rescaleThreshold, 0);
  EXPECT_THAT(plan.reason, HasSubstr("splits = 18: 8 CTAs on 148 SMs, 512 KV "
                                     "blocks each"));
  Overrides single;
  single.splits = 1;
  plan = mustPlan(decode(1 << 16), "sm_100a", single);
  EXPECT_EQ(plan.schedule.splits, 1u);
  EXPECT_EQ(plan.schedule.rescaleThreshold, Schedule().rescaleThreshold);
}

/// Parts know neither LSE nor sink, and are staged nowhere.
TEST(Splits, ThePartsAreAProblemOfTheirOwn) {
  Problem problem = decode(1000);
  problem.lse = problem.sink = true;
  Schedule schedule;
  EXPECT_TRUE(kernelProblem(problem, schedule).sink);
  EXPECT_FALSE(kernelProblem(problem, schedule).isPart);
  schedule.splits = 2;
  Problem parts = kernelProblem(problem, schedule);
  EXPECT_TRUE(parts.isPart && parts.outF32 && parts.unnormalised &&
              parts.rowMax && parts.rowSum);
  EXPECT_FALSE(parts.lse || parts.sink);
  MemoryMap map = layOut(problem, schedule);
  EXPECT_EQ(map.findSmem("out0"), nullptr);
  EXPECT_EQ(verify(problem, schedule, map), std::nullopt);
}
