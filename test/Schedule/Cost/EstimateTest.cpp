//===- EstimateTest.cpp - Launches by hand ----------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Schedule/Cost/Estimate.h"

#include "gtest/gtest.h"

using namespace fmha::schedule;

TEST(Estimate, CountsCtasAndWaves) {
  KernelModel kernel;
  Estimate one = estimate(kernel, {1, 148, 1, 256, 1280});
  EXPECT_EQ(one.ctas, 148u);
  EXPECT_DOUBLE_EQ(one.waves, 1);
  EXPECT_DOUBLE_EQ(one.occupancy, 1);
  // Ten blocks and two trips to memory.
  EXPECT_NEAR(one.clocks, 10 * modelCost(kernel).clocks + 2 * 1400, 1e-6);
  // One CTA more takes a wave of its own, from its start to its end.
  Estimate two = estimate(kernel, {1, 149, 1, 256, 1280});
  EXPECT_NEAR(two.clocks - one.clocks,
              10 * modelCost(kernel).clocks + 5000 + 23 * 128, 1e-6);
  EXPECT_NEAR(two.occupancy, 149.0 / 296, 1e-12);
}

TEST(Estimate, PassesMultiplyCtasAndNotFlops) {
  KernelModel kernel;
  kernel.tiles = 1;
  kernel.headDim = kernel.headDimV = 512;
  Workload workload{8, 128, 1, 2048, 2048};
  Estimate whole = estimate(kernel, workload);
  kernel.headDimV = 256;
  kernel.passes = 2;
  Estimate halves = estimate(kernel, workload);
  EXPECT_EQ(halves.ctas, 2 * whole.ctas);
  EXPECT_NEAR(halves.teraflops * halves.seconds,
              whole.teraflops * whole.seconds, 1e-6);
}

TEST(Estimate, SplitsShareTheBlocksOut) {
  KernelModel kernel;
  Workload workload{1, 16, 1, 256, 1280};
  Estimate whole = estimate(kernel, workload);
  // 10 blocks: 4, 3 and 3, and no CTA of a split has more than 4.
  kernel.splits = 3;
  Estimate split = estimate(kernel, workload);
  EXPECT_EQ(split.ctas, 3 * whole.ctas);
  EXPECT_NEAR(split.clocks - split.combineClocks,
              4 * modelCost(kernel).clocks + 2 * 1400, 1e-6);
  EXPECT_EQ(whole.combineClocks, 0);
  EXPECT_NEAR(split.teraflops * split.seconds, whole.teraflops * whole.seconds,
              1e-6);
}

TEST(Estimate, PartsWithoutBlocksHaveNoWork) {
  KernelModel kernel;
  Workload workload;
  workload.qLen = 256;
  workload.kvLen = 1280;
  double whole = estimate(kernel, workload).occupancy;
  // 10 blocks: one in each of 10 parts; two in 5 parts of 6; 10 of 20 parts.
  for (auto [splits, used] : {std::pair(10u, 10u), {6u, 5u}, {20u, 10u}}) {
    kernel.splits = splits;
    EXPECT_NEAR(estimate(kernel, workload).occupancy, used * whole, 1e-9);
  }
}

/// A launch, and rounds of loads of eight parts or the bytes of all parts.
TEST(Estimate, PartsAreCombined) {
  KernelModel kernel;
  auto combine = [&](unsigned splits, uint64_t rows) {
    kernel.splits = splits;
    Workload workload;
    workload.qLen = rows;
    workload.kvLen = 1 << 16;
    return estimate(kernel, workload).combineClocks;
  };
  EXPECT_EQ(combine(2, 1), combine(8, 1));
  EXPECT_EQ(combine(16, 1) - combine(8, 1), combine(24, 1) - combine(16, 1));
  // 7200 GB/s at 1965 MHz.
  double bytes = 8 * 128 * sizeof(float) * 4096;
  EXPECT_NEAR(combine(24, 4096) - combine(16, 4096), bytes * 1.965e9 / 7.2e12,
              1e-3);
  EXPECT_EQ(combine(8, 0), 0);
}

TEST(Estimate, WhatHasNoMoreCtasThanThatHasManyTilesEach) {
  KernelModel kernel;
  kernel.persistent = true;
  kernel.mostCtas = 148;
  Estimate few = estimate(kernel, {1, 147, 1, 256, 1280});
  EXPECT_EQ(few.ctas, 147u);
  Estimate many = estimate(kernel, {1, 149, 1, 256, 1280});
  EXPECT_EQ(many.ctas, 148u);
  EXPECT_EQ(many.tiles, 149u);
  EXPECT_DOUBLE_EQ(many.waves, 2);
}

TEST(Estimate, CtasThatRunAheadSaveClocksOfEachFurtherTile) {
  KernelModel single, ahead, restarting;
  ahead.persistent = restarting.persistent = restarting.restarts = true;
  auto clocks = [](const KernelModel &kernel, uint64_t heads, Mask mask = {}) {
    return estimate(kernel, {1, heads, 1, 256, 1280, mask}).clocks;
  };
  // No SM has a second tile.
  EXPECT_EQ(clocks(ahead, 148), clocks(single, 148));
  EXPECT_GT(clocks(single, 149) - clocks(ahead, 149), 5000);
  EXPECT_NEAR(clocks(single, 1480) - clocks(ahead, 1480),
              9 * (clocks(single, 149) - clocks(ahead, 149)), 1e-6);
  // Nothing overlaps between tiles that begin with new barriers.
  EXPECT_EQ(clocks(restarting, 1480), clocks(single, 1480));
  // Tiles of a causal mask are spread evenly, so half of a tile counts.
  EXPECT_NEAR(clocks(single, 222, Mask::Causal) -
                  clocks(ahead, 222, Mask::Causal),
              (clocks(single, 149) - clocks(ahead, 149)) / 2, 1e-6);
}

/// FLOP of attention under `mask`, score by score.
static double maskedFlops(int64_t q, int64_t kv, const Mask &mask) {
  double scores = 0;
  for (int64_t row = 0; row < q; ++row)
    for (int64_t key = 0; key < kv; ++key) {
      int64_t place = row + (mask.kind == Mask::CausalTopLeft ? 0 : kv - q);
      scores += (mask.kind == Mask::None || key <= place) &&
                (!mask.left || key >= place - int64_t(*mask.left)) &&
                (!mask.right || key <= place + int64_t(*mask.right));
    }
  return 2 * scores * (128 + 128);
}

TEST(Estimate, CountsTheScoresThatAMaskLeaves) {
  for (auto [q, kv] :
       {std::pair<uint64_t, uint64_t>{1, 1}, {300, 300}, {7, 500}, {500, 7}})
    for (Mask::Kind kind : {Mask::None, Mask::Causal, Mask::CausalTopLeft})
      for (int window = 0; window < 4; ++window) {
        Mask mask = kind;
        if (window & 1)
          mask.left = 20;
        if (window & 2)
          mask.right = 9;
        Estimate got = estimate({}, {1, 1, 1, q, kv, mask});
        EXPECT_NEAR(got.teraflops * got.seconds * 1e12,
                    maskedFlops(q, kv, mask), 1e-3)
            << q << " " << kv << " " << stringify(mask);
      }
}

TEST(Estimate, AWindowTakesTheTimeOfItsBlocks) {
  Workload wide{1, 128, 128, 128, 1 << 15};
  Workload window = wide, few = wide;
  window.mask = Mask::Causal;
  window.mask.left = 127;
  few.kvLen = 256;
  EXPECT_LT(estimate({}, window).clocks, 0.05 * estimate({}, wide).clocks);
  EXPECT_LE(estimate({}, window).clocks, 1.5 * estimate({}, few).clocks);
}

TEST(Estimate, CausalTakesAboutHalfTheTime) {
  Workload dense{2, 64, 8, 16384, 16384};
  Workload causal = dense;
  causal.mask = Mask::Causal;
  double ratio = estimate({}, causal).clocks / estimate({}, dense).clocks;
  EXPECT_GT(ratio, 0.5);
  EXPECT_LT(ratio, 0.53);
  // So many CTAs that they are not counted one by one.
  causal.qLen = causal.kvLen = dense.qLen = dense.kvLen = 1 << 20;
  ratio = estimate({}, causal).clocks / estimate({}, dense).clocks;
  EXPECT_NEAR(ratio, 0.5, 0.01);
}

TEST(Estimate, AWindowIsPricedAlikeOnBothSidesOfTheCount) {
  // 1024 CTAs a head are counted one by one, 1025 are not.
  Workload counted{1, 1, 1, 1024 * 256, 1024 * 256, Mask::Causal};
  counted.mask.left = 127;
  Workload more = counted;
  more.qLen = more.kvLen = 1025 * 256;
  EXPECT_NEAR(estimate({}, more).clocks / estimate({}, counted).clocks, 1, 0.5);
}

TEST(Estimate, OneQueryIsBoundByMemory) {
  Estimate decode = estimate({}, {256, 8, 8, 1, 32768});
  EXPECT_TRUE(decode.memoryBound);
  EXPECT_FALSE(estimate({}, {2, 64, 8, 4096, 4096}).memoryBound);
}

TEST(Estimate, NothingTakesNoTime) {
  EXPECT_EQ(estimate({}, {0, 8, 8, 128, 128}).clocks, 0);
  EXPECT_EQ(estimate({}, {1, 8, 8, 0, 128}).ctas, 0u);
  Estimate empty = estimate({}, {1, 1, 1, 128, 0, Mask::Causal});
  EXPECT_EQ(empty.teraflops, 0);
}

TEST(Estimate, NeedsEveryHint) {
  Problem problem;
  EXPECT_FALSE(workloadOf(problem));
  problem.qLenHint = problem.kvLenHint = 100;
  problem.batchHint = problem.qHeadsHint = 4;
  EXPECT_FALSE(workloadOf(problem));
  problem.kvHeadsHint = 2;
  ASSERT_TRUE(workloadOf(problem));
  EXPECT_EQ(workloadOf(problem)->kvHeads, 2u);
}
