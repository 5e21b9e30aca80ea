//===- CostsTest.cpp - Figures and classes --------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Time/Costs.h"
#include "fmha/PTX/Time/Classes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

using namespace ptxsim::timing;

namespace {

constexpr std::string_view targets[] = {"sm_90a", "sm_100a", "sm_103a"};

/// Figures of units that only some targets have.
bool isOptional(std::string_view name) {
  return name.starts_with("Tmem") || name.starts_with("Wgmma") ||
         (name.starts_with("Mma") && !name.starts_with("MmaSync"));
}

TEST(Costs, EachTargetHasEachFigureOnce) {
  for (std::string_view target : targets)
    for (size_t i = 0; i < size_t(Figure::Count); ++i) {
      const CostRow *row = rowOf(Figure(i), target);
      if (!row)
        row = rowOf(Figure(i), target == "sm_90a" ? "sm_100a" : "sm_90a");
      ASSERT_TRUE(row) << "figure " << i << " of " << target;
      EXPECT_TRUE(rowOf(Figure(i), target) || isOptional(row->name))
          << row->name << " of " << target;
      EXPECT_FALSE(row->source.empty()) << row->name;
    }
}

TEST(Costs, MiddleIsBetweenLowAndHigh) {
  for (std::string_view target : targets)
    for (size_t i = 0; i < size_t(Figure::Count); ++i)
      if (const CostRow *row = rowOf(Figure(i), target)) {
        EXPECT_GE((row->middle - row->low) * (row->high - row->middle), 0)
            << row->name;
      }
}

TEST(Costs, PtxWithoutASuffixHasTheFiguresOfItsDevice) {
  auto plain = figuresOf("sm_90", Level::Middle);
  ASSERT_TRUE(plain);
  EXPECT_EQ((*plain)[Figure::WgmmaLeast], 13);
  EXPECT_EQ((*figuresOf("sm_103a", Level::Low))[Figure::MufuInterval], 4);
}

TEST(Costs, DrawnFiguresAreWithinTheirRanges) {
  bool differ = false;
  for (std::string_view target : targets)
    for (uint32_t seed = 1; seed <= 20; ++seed) {
      Figures drawn = *drawnFigures(target, seed);
      Figures next = *drawnFigures(target, seed + 1);
      for (size_t i = 0; i < size_t(Figure::Count); ++i)
        if (const CostRow *row = rowOf(Figure(i), target)) {
          auto [least, most] = std::minmax(row->low, row->high);
          EXPECT_GE(drawn[row->figure], least) << row->name << ", " << seed;
          EXPECT_LE(drawn[row->figure], most) << row->name << ", " << seed;
          EXPECT_EQ(drawn[row->figure],
                    (*drawnFigures(target, seed))[row->figure]);
          differ |= drawn[row->figure] != next[row->figure];
        }
    }
  EXPECT_TRUE(differ);
}

TEST(Costs, HalfOfTheDrawsAreBelowTheMiddle) {
  constexpr uint32_t draws = 400;
  const CostRow *row = rowOf(Figure::MmaCommit, "sm_100a");
  ASSERT_LT(row->low, row->middle);
  unsigned below = 0;
  for (uint32_t seed = 1; seed <= draws; ++seed)
    below += (*drawnFigures("sm_100a", seed))[row->figure] < row->middle;
  EXPECT_NEAR(below, draws / 2, 50);
}

TEST(Costs, FiguresNearTheMiddleAreOnBothSides) {
  constexpr uint32_t draws = 400;
  constexpr double share = 0.3;
  const CostRow *row = rowOf(Figure::MufuLatency, "sm_90a");
  double nearer = std::min(row->middle - row->low, row->high - row->middle);
  ASSERT_GT(nearer, 0);
  double sum = 0, farthest = 0;
  for (uint32_t seed = 1; seed <= draws; ++seed) {
    double off =
        (*figuresNear("sm_90a", seed, share))[row->figure] - row->middle;
    sum += off;
    farthest = std::max(farthest, std::abs(off));
  }
  EXPECT_NEAR(sum / draws, 0, 0.1 * share * nearer);
  EXPECT_LE(farthest, share * nearer);
  EXPECT_GT(farthest, 0.9 * share * nearer);
  EXPECT_EQ((*figuresNear("sm_90a", 1, 0))[row->figure], row->middle);
}

TEST(Costs, OtherTargetsHaveNone) {
  EXPECT_FALSE(figuresNear("sm_80", 1, 0.3));
  EXPECT_FALSE(drawnFigures("sm_80", 1));
  EXPECT_FALSE(figuresOf("sm_80", Level::Middle));
  EXPECT_FALSE(figuresOf("nonsense", Level::Middle));
  EXPECT_EQ(targetsWithFigures(), "sm_90a, sm_100a and sm_103a");
}

TEST(Classes, FirstRowThatSuitsDecides) {
  const std::pair<const char *, const char *> expected[] = {
      {"fma.rn.ftz.f32x2", "Fma2"},
      {"fma.rn.f32", "Fma"},
      {"fma.rn.bf16x2", "Half"},
      {"mul.wide.u32", "IntegerMultiply"},
      {"ex2.approx.ftz.f32", "Mufu"},
      {"ex2.approx.ftz.bf16x2", "Mufu2"},
      {"rcp.approx.ftz.f32", "Mufu"},
      {"rcp.rn.f32", "Expanded"},
      {"cvt.rn.bf16x2.f32", "Convert"},
      {"cvt.rn.f32.s32", "SlowConvert"},
      {"cvt.u64.u32", "Move"},
      {"add.s64", "AluWide"},
      {"add.s32", "Alu"},
      {"max.f32", "MinMax"},
      {"max.s32", "Alu"},
      {"bar.sync", "Barrier"},
      {"bar.warp.sync", "Alu"},
      {"barrier.cluster.arrive.aligned", "ClusterBarrier"},
      {"cp.async.bulk.wait_group.read", "CopyWaitRead"},
      {"cp.async.bulk.wait_group", "CopyWait"},
      {"cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::"
       "bytes",
       "Copy"},
      {"cp.async.cg.shared.global", "CpAsync"},
      {"tcgen05.wait::ld.sync.aligned", "TmemWaitLoad"},
      {"tcgen05.ld.sync.aligned.32x32b.x32.b32", "TmemLoad"},
      {"ld.param.u64", "Constant"},
      {"ld.global.f32", "Load"},
      {"not.pred", "Move"},
      {"not.b32", "Alu"},
      {"something.new", "Alu"}};
  for (auto [opcode, name] : expected)
    EXPECT_EQ(classOf(opcode).name, name) << opcode;
}

} // namespace
