//===- LoopsTest.cpp - Loops over tiles with wgmma --------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WgmmaCase.h"

#include "gmock/gmock.h"

#include <functional>

using namespace fmha;
using namespace fmha::schedule;
using namespace fmha::schedule::wgmma;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

namespace {

/// A kernel of head dim 64 that goes from tile to tile, and what changes in it.
struct Loop {
  const char *what;
  std::function<void(Problem &, Schedule &)> change;

  /// What check() says with so many consumers, or CTAs of one.
  std::string with(unsigned tiles, unsigned ctas,
                   Scheduler scheduler = Scheduler::Static) const {
    return violation([&](Problem &p, Schedule &s) {
      p = problemOf(64);
      s.qTiles = tiles;
      s.ctasPerSm = ctas;
      s.kvStages = 2;
      s.kvBlock = 32;
      s.scheduler = scheduler;
      change(p, s);
    });
  }
};

void setSplits(Problem &, Schedule &s) {
  s.splits = 3;
  s.rescaleThreshold = 0;
}

void setListsAndLeft(Problem &p, Schedule &) {
  p.kvLens = true;
  p.mask.left = 100;
}

} // namespace

TEST(Wgmma, C8WhatALoopOverTilesLeavesToOne) {
  const Loop loops[] = {
      {"splits", setSplits},
      {"varlen metadata and a left bound of the window", setListsAndLeft},
      {"o_columns below head_dim_v",
       [](Problem &p, Schedule &s) {
         p = problemOf(96);
         s.oColumns = 64;
       }},
      {"a second KV segment and a head_dim_v above 192",
       [](Problem &p, auto &) {
         p.headDimV = 200;
         p.source2 = true;
       }}};
  for (const Loop &loop : loops) {
    auto refused = [&](const std::string &field, unsigned got) {
      return AllOf(
          StartsWith("plan.C8: expected " + field + " = 1 on sm_90a with"),
          HasSubstr(loop.what),
          HasSubstr(" of RegisterDemand.def), got " + std::to_string(got) +
                    "; take " + field + " = 1"),
          HasSubstr(" scheduler = single"));
    };
    EXPECT_THAT(loop.with(2, 1), refused("q_tiles", 2));
    EXPECT_EQ(loop.with(2, 1, Scheduler::Single), "") << loop.what;
    // More columns than several CTAs have registers for.
    if (&loop != std::end(loops) - 1) {
      EXPECT_THAT(loop.with(1, 2), refused("ctas_per_sm", 2));
      EXPECT_EQ(loop.with(1, 2, Scheduler::Single), "") << loop.what;
    }
    EXPECT_EQ(loop.with(1, 1), "") << loop.what;
  }
  EXPECT_THAT(loops[0].with(3, 1), HasSubstr("got 3; take q_tiles = 1, "));
  EXPECT_THAT(loops[0].with(1, 3), HasSubstr("got 3; take ctas_per_sm = 1, "));
}

/// Each of them alone, and none with two tiles or CTAs.
TEST(Wgmma, C8WhatALoopOverTilesLeavesToTwo) {
  const Loop loops[] = {
      {"a second KV segment", [](Problem &p, auto &) { p.source2 = true; }},
      {"an output of f32", [](Problem &p, auto &) { p.outF32 = true; }}};
  for (const Loop &loop : loops) {
    std::string text = " of at most 2 on sm_90a with scheduler static and " +
                       std::string(loop.what);
    EXPECT_THAT(
        loop.with(1, 3),
        AllOf(
            StartsWith("plan.C8: expected ctas_per_sm" + text),
            HasSubstr(
                "got 3; take ctas_per_sm of at most 2 or scheduler = single")));
    EXPECT_THAT(loop.with(3, 1),
                AllOf(StartsWith("plan.C8: expected q_tiles" + text),
                      HasSubstr("take q_tiles of at most 2 or")));
    EXPECT_EQ(loop.with(2, 1), "") << loop.what;
    EXPECT_EQ(loop.with(1, 2), "") << loop.what;
    EXPECT_EQ(loop.with(1, 3, Scheduler::Single), "") << loop.what;
  }
  Loop widest{"", [](Problem &p, auto &) {
                p.headDimV = 192;
                p.source2 = true;
              }};
  EXPECT_EQ(widest.with(2, 1), "");
  EXPECT_EQ(widest.with(1, 2), "");
}

TEST(Wgmma, AcceptsReadsForEachKeyInALoopOfThree) {
  Loop loop{"", [](Problem &p, auto &) {
              p.score = p.scoreByKey = true;
              p.captures = {{"f32", 4}};
            }};
  EXPECT_EQ(loop.with(1, 3), "");
  EXPECT_EQ(loop.with(3, 1), "");
}

/// So that the scheduler `single` is a way out of plan.C8 wherever it is told.
TEST(Wgmma, C2ComesAheadOfLoops) {
  auto three = [](Problem &p, Schedule &s) {
    p = problemOf(128);
    setSplits(p, s);
  };
  EXPECT_THAT((Loop{"", three}.with(1, 3)),
              StartsWith("plan.C2: a thread starts with 80"));
}

/// Two CTAs of an SM leave the warps that load 40 registers, three 24.
TEST(Wgmma, C8ListsBesideTwoOtherCtas) {
  auto with = [](unsigned ctas, Scheduler scheduler) {
    return violation([=](Problem &p, Schedule &s) {
      p = problemOf(64);
      p.kvLens = true;
      s.qTiles = 1;
      s.ctasPerSm = ctas;
      s.kvBlock = 64;
      s.scheduler = scheduler;
    });
  };
  EXPECT_THAT(
      with(3, Scheduler::Static),
      StartsWith("plan.C8: expected ctas_per_sm of at most 2 on sm_90a with "
                 "scheduler static, varlen metadata and ctas_per_sm"));
  EXPECT_EQ(with(2, Scheduler::Static), "");
  EXPECT_EQ(with(3, Scheduler::Single), "");
}
