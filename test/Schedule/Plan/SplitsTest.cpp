//===- SplitsTest.cpp - KV blocks shared out to several CTAs ----*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Schedule/Plan/Splits.h"
#include "Planning.h"
#include "fmha/Schedule/Cost/CostModel.h"
#include "fmha/Schedule/Model/Overrides.h"
#include "fmha/Schedule/Model/Resources.h"
#include "fmha/Schedule/Report/Explain.h"

#include "gmock/gmock.h"

#include <random>

using namespace fmha::schedule;
using testing::HasSubstr;
using testing::Not;

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
    EXPECT_EQ(chooseSplits(problem, Plan()).splits, 1u);
    EXPECT_EQ(describeLaunchSize(problem, Schedule()), "");
    EXPECT_THAT(mustPlan(problem, "sm_100a").reason, Not(HasSubstr("splits")));
  }
}

/// V is in K, so device memory has each key once, also where a pair of CTAs
/// loads both: with more CTAs than two for each of 32 sequences nothing is
/// gained.
TEST(Splits, CountTheKeysOfLatentAttentionOnce) {
  Problem problem = problemOf(576, /*qLenHint=*/1);
  problem.headDimV = 512;
  problem.vInK = true;
  problem.kvLenHint = 16384;
  problem.batchHint = 32;
  problem.qHeadsHint = 128;
  problem.kvHeadsHint = 1;
  Plan plan = mustPlan(problem, "sm_100a");
  EXPECT_EQ(plan.schedule.ctaGroup, 2u);
  EXPECT_FALSE(plan.schedule.shareKv);
  EXPECT_EQ(plan.schedule.splits, 2u);
}

/// Decoding of a batch by 8 KV heads on an H100 whose sequences differ.
static unsigned slotsOf(unsigned batch, unsigned longest, unsigned mean) {
  Problem problem = decode(longest, batch);
  problem.kvLens = true;
  problem.kvLenMeanHint = mean;
  Plan plan = mustPlan(problem, "sm_90a");
  bool isLength = plan.schedule.splitBy == SplitBy::Length;
  EXPECT_EQ(isLength, splitsByLength(plan.schedule));
  EXPECT_EQ(isLength, plan.reason.find("by length") != std::string::npos);
  return isLength ? plan.schedule.splits : 1;
}

TEST(Splits, ByLengthWhereTheLongestSequenceTakesLong) {
  EXPECT_EQ(slotsOf(8, 65536, 9984), 8u);
  EXPECT_EQ(slotsOf(32, 32768, 2016), 3u);
  EXPECT_EQ(slotsOf(128, 32768, 2000), 2u);
  // Equal lengths, or about; and so many that the longest ends early.
  EXPECT_EQ(slotsOf(32, 4096, 0), 1u);
  EXPECT_EQ(slotsOf(32, 4096, 4096), 1u);
  EXPECT_EQ(slotsOf(32, 4096, 3600), 1u);
  EXPECT_EQ(slotsOf(2048, 4096, 2048), 1u);
  // Nothing to share; and as many slots as fill the GPU.
  EXPECT_EQ(slotsOf(1, 65536, 16384), 1u);
  EXPECT_EQ(slotsOf(2, 65536, 16384), 17u);
}

TEST(Splits, BySequenceInPrefillAndWithWindows) {
  Problem problem = decode(65536, 8);
  problem.kvLens = true;
  problem.kvLenMeanHint = 10000;
  EXPECT_GT(chooseSlots(problem, mustPlan(decode(65536, 8), "sm_90a").schedule),
            1u);
  auto slots = [](const Problem &changed) {
    return splitsByLength(mustPlan(changed, "sm_90a").schedule);
  };
  EXPECT_TRUE(slots(problem));
  Problem window = problem;
  window.mask.left = 1023;
  EXPECT_FALSE(slots(window));
  problem.qLenHint = 4096;
  EXPECT_FALSE(slots(problem));
}

TEST(Splits, ByLengthWhereAUserAsks) {
  Overrides overrides;
  overrides.fix(Choice::SplitBy, unsigned(SplitBy::Length));
  Problem problem = problemOf(128);
  problem.kvLens = true;
  std::string error;
  std::optional<Plan> asked = plan(problem, "sm_90a", overrides, error);
  ASSERT_TRUE(asked) << error;
  EXPECT_EQ(asked->schedule.splits, 3u);
  EXPECT_TRUE(splitsByLength(asked->schedule));
  overrides.fix(Choice::SplitBy, unsigned(SplitBy::Sequence));
  problem = decode(32768, 32);
  problem.kvLens = true;
  problem.kvLenMeanHint = 1000;
  asked = plan(problem, "sm_90a", overrides, error);
  ASSERT_TRUE(asked) << error;
  EXPECT_FALSE(splitsByLength(asked->schedule));
}

TEST(Splits, AnUnknownBatchIsOne) {
  EXPECT_EQ(withHints(problemOf(128), {0, 8, 8, 1, 65536}).batchHint, 1u);
  EXPECT_EQ(withHints(problemOf(128), {5, 8, 8, 1, 65536}).batchHint, 5u);
  EXPECT_EQ(withHints(problemOf(128), {0, 0, 0, 1, 65536}).batchHint, 0u);
}

TEST(Splits, AsManyAsEvenOutTheGpuAndNoMoreThanBlocks) {
  // 148 SMs, blocks of 128 keys.
  EXPECT_EQ(chooseSplits(decode(1 << 16), Plan()).splits, 148u / 8);
  // Without splits 72 CTAs leave SMs idle.
  EXPECT_EQ(chooseSplits(decode(1 << 16, 9), Plan()).splits, 2u);
  // Of 80 CTAs some SMs would have none; of 148 each has one.
  EXPECT_GT(chooseSplits(decode(1 << 16, 10), Plan()).splits, 1u);
  Problem full = decode(1 << 16, 37);
  full.qHeadsHint = full.kvHeadsHint = 4;
  EXPECT_EQ(chooseSplits(full, Plan()).splits, 1u);
  EXPECT_LE(chooseSplits(decode(128 * 12), Plan()).splits, 12u);
  // What combines would take longer than what it saves.
  EXPECT_EQ(chooseSplits(decode(128 * 3), Plan()).splits, 1u);
}

/// Parts have true maxima, which cost what a schedule without them saves.
TEST(Splits, ClocksAreThoseOfThePlanWithThatCount) {
  Problem problem = withHints(problemOf(512), {4, 16, 2, 128, 131072});
  for (unsigned count : {1u, 4u, 8u}) {
    Overrides wanted;
    wanted.fix(Choice::Splits, count);
    Schedule schedule = mustPlan(problem, "sm_100a", wanted).schedule;
    double clocks = modelCost(problem, schedule).launchClocks;
    unsigned found = 0;
    for (const SplitClocks &one : clocksOfSplits(problem, schedule))
      if (one.splits == count && ++found)
        EXPECT_EQ(one.clocks, clocks) << count;
    EXPECT_EQ(found, 1u) << count;
    Overrides other;
    other.fix(Choice::Splits, count == 1 ? 8 : 1);
    // What the list of one count says of another is near what that one takes.
    double its =
        modelCost(problem, mustPlan(problem, "sm_100a", other).schedule)
            .launchClocks;
    for (const SplitClocks &one : clocksOfSplits(problem, schedule))
      if (one.splits == *other[Choice::Splits])
        EXPECT_NEAR(one.clocks / its, 1, 0.03) << count << ' ' << one.splits;
  }
}

TEST(Splits, AWindowShowsFewBlocks) {
  Problem problem = decode(1 << 16);
  problem.mask.kind = Mask::Causal;
  EXPECT_EQ(chooseSplits(problem, Plan()).splits, 148u / 8);
  problem.mask.left = 200;
  // 256 rows and 200 keys before the first of them.
  EXPECT_EQ(chooseSplits(problem, Plan()).splits, 1u);
}

static double launchClocks(const Problem &problem, const Plan &plan) {
  return modelCost(problem, plan.schedule).launchClocks;
}

/// Other counts and tiles take as long by the model, but for what the planner
/// takes for equal: among counts, among schedules, and for counts that give
/// each SM a CTA where memory is the limit. What fills the GPU is not cut.
TEST(Splits, NoOverrideIsFaster) {
  unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  auto any = [&](std::vector<unsigned> values) {
    return values[random() % values.size()];
  };
  for (int n = 0; n < 40; ++n) {
    std::string target = n % 2 ? "sm_90a" : "sm_100a";
    Problem problem = problemOf(any({64, 128, 256, 512}), any({1, 16, 256}));
    problem.kvLenHint = any({300, 512, 2000, 4096, 16384, 65536});
    problem.batchHint = any({1, 2, 7, 10});
    problem.kvHeadsHint = any({1, 2, 3, 8});
    problem.qHeadsHint = problem.kvHeadsHint * any({1, 4, 16});
    Plan own = mustPlan(problem, target);
    double chosen = launchClocks(problem, own);
    for (unsigned splits : {1, 2, 4, 8, 16, 0})
      for (unsigned tiles : {0, 1, 2}) {
        Overrides overrides;
        if (splits)
          overrides.fix(Choice::Splits, splits);
        if (tiles)
          overrides.fix(Choice::QTiles, tiles);
        std::string error;
        auto other = plan(problem, target, overrides, error);
        bool shares = other && other->schedule.splits > 1;
        if (!other || (shares && fillsGpu(problem, own.schedule)))
          continue;
        constexpr double once = 1 + launchTolerance;
        EXPECT_LE(chosen, launchClocks(problem, *other) * once * once * once)
            << target << " head dim " << problem.headDim << ", "
            << problem.qLenHint << " x " << problem.kvLenHint << ", "
            << problem.qHeadsHint << "/" << problem.kvHeadsHint
            << " heads, batch " << problem.batchHint << ": splits " << splits
            << ", tiles " << tiles << " made " << other->reason;
      }
  }
}

TEST(Splits, ThePlannerTakesThemAndSaysWhy) {
  Plan plan = mustPlan(decode(1 << 16), "sm_100a");
  EXPECT_GT(plan.schedule.splits, 148u / 8 / 2);
  EXPECT_LE(plan.schedule.splits, 148u / 8);
  EXPECT_EQ(plan.schedule.rescaleThreshold, 0);
  EXPECT_THAT(plan.reason,
              HasSubstr("splits = " + std::to_string(plan.schedule.splits) +
                        ": 8 CTAs on 148 SMs, 512 KV blocks each; "));
  EXPECT_THAT(plan.reason, HasSubstr(" clk with the merge kernel, "));
  Overrides single;
  single.fix(Choice::Splits, 1);
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
