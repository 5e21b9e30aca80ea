//===- PolicyTest.cpp - Schedules and their exploration -------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Kernel.h"

#include "fmha/PTX/Sim/Exploration.h"

#include <gtest/gtest.h>

using namespace ptxsim;
using namespace ptxsim::test;

namespace {

struct Explored {
  std::set<std::vector<uint32_t>> results;
  uint64_t schedules = 0, redundant = 0;
  bool exhausted = false;
  std::string lastPath;
};

Explored explore(Kernel kernel, uint64_t maxSchedules = 10000) {
  Exploration all(maxSchedules);
  kernel.options.policy = Policy::Exhaustive;
  kernel.options.exploration = &all;
  kernel.words = 8;
  Explored explored;
  while (all.next()) {
    LaunchResult result = kernel.run();
    EXPECT_EQ(result.status, Status::Ok) << describe(result);
    if (all.redundant()) {
      ++explored.redundant;
      continue;
    }
    explored.results.insert(kernel.out);
    explored.lastPath = all.path();
  }
  explored.schedules = all.schedules();
  explored.exhausted = all.exhausted();
  return explored;
}

/// `warps` warps, whose first lanes execute `body`.
Kernel single(unsigned warps, const std::string &body) {
  Kernel kernel;
  kernel.block = {32 * warps, 1, 1};
  kernel.body = "and.b32 %r4, %r1, 31; setp.ne.u32 %p1, %r4, 0; @%p1 ret;\n"
                "shr.u32 %r4, %r1, 5; mul.wide.u32 %rd2, %r4, 4;\n"
                "add.u64 %rd2, %rd0, %rd2;\n" +
                body;
  return kernel;
}

} // namespace

TEST(Exhaustive, IndependentWarpsHaveOneSchedule) {
  Explored explored = explore(single(4, "st.global.u32 [%rd2], 7;\n"
                                        "st.global.u32 [%rd2+16], 8;"));
  EXPECT_TRUE(explored.exhausted);
  EXPECT_EQ(explored.results.size(), 1u);
  EXPECT_EQ(explored.schedules, 1u);
}

TEST(Exhaustive, EveryOrderOfConflictingStoresIsSeen) {
  // x = 2x + w in all orders of three warps: 3! results.
  Explored explored =
      explore(single(3, "atom.global.exch.b32 %r5, [%rd0+28], %r4;\n"
                        "st.global.u32 [%rd2], %r5;"));
  EXPECT_TRUE(explored.exhausted);
  EXPECT_EQ(explored.results.size(), 6u);
}

TEST(Exhaustive, StoreBufferingOutcomesOfInterleaving) {
  // Each warp writes its own word and reads the other's. Under interleaving
  // (0, 0) is impossible and the other three outcomes occur.
  Kernel kernel = single(
      2, "xor.b32 %r5, %r4, 1; mul.wide.u32 %rd3, %r5, 4;\n"
         "add.u64 %rd3, %rd0, %rd3;\n"
         "atom.global.exch.b32 %r6, [%rd2], 1;\n"
         "ld.volatile.global.u32 %r6, [%rd3];\nst.global.u32 [%rd2+8], %r6;");
  Explored explored = explore(kernel);
  EXPECT_TRUE(explored.exhausted);
  std::set<std::pair<uint32_t, uint32_t>> outcomes;
  for (const auto &words : explored.results)
    outcomes.insert({words[2], words[3]});
  std::set<std::pair<uint32_t, uint32_t>> expected = {{0, 1}, {1, 0}, {1, 1}};
  EXPECT_EQ(outcomes, expected);
}

TEST(Exhaustive, BoundIsToldAndAPathReplays) {
  Kernel kernel = single(4, "atom.global.exch.b32 %r5, [%rd0+28], %r4;\n"
                            "st.global.u32 [%rd2], %r5;");
  Explored cut = explore(kernel, 3);
  EXPECT_FALSE(cut.exhausted);
  EXPECT_LE(cut.schedules, 3u);
  kernel.words = 8;
  kernel.options.policy = Policy::Exhaustive;
  Exploration first(1);
  kernel.options.exploration = &first;
  first.next();
  kernel.run();
  EXPECT_EQ(first.path(), "-");
  for (int repeat = 0; repeat < 2; ++repeat) {
    Exploration replay(cut.lastPath);
    kernel.options.exploration = &replay;
    ASSERT_TRUE(replay.next());
    kernel.run();
    EXPECT_EQ(replay.path(), cut.lastPath);
    EXPECT_EQ(cut.results.count(kernel.out), 1u);
    EXPECT_FALSE(replay.next());
  }
}

TEST(Exhaustive, RefusesPathsAndLaunchesThatDoNotFit) {
  for (const char *text : {"", "x", "1", "1:", "1:2,", "1:2;", "-1:2"})
    EXPECT_THROW(Exploration{std::string_view(text)}, Error) << text;
  Kernel kernel = single(2, "");
  kernel.options.policy = Policy::Exhaustive;
  EXPECT_THROW(kernel.run(), Error);
  Exploration far("0:9");
  kernel.options.exploration = &far;
  far.next();
  EXPECT_THROW(kernel.run(), Error);
  Exploration all(10);
  kernel.options.exploration = &all;
  kernel.grid = {2, 1, 1};
  EXPECT_THROW(kernel.run(), Error);
}

TEST(Pct, SpinsDoNotStarveWhatTheyWaitFor) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Kernel kernel =
        single(4, "setp.eq.u32 %p1, %r4, 3; @%p1 bra SET;\n"
                  "SPIN: ld.volatile.global.u32 %r5, [%rd0+28];\n"
                  "setp.eq.u32 %p2, %r5, 0; @%p2 bra SPIN; bra DONE;\n"
                  "SET: st.volatile.global.u32 [%rd0+28], 1;\n"
                  "DONE: st.global.u32 [%rd2], 5;");
    kernel.options.policy = Policy::Pct;
    kernel.options.scheduleSeed = seed;
    LaunchResult result = kernel.run();
    EXPECT_EQ(result.status, Status::Ok) << "seed " << seed << describe(result);
    EXPECT_LT(result.warpInstructions, 100000u) << "seed " << seed;
  }
}

TEST(Pct, SeedsDifferAndRepeat) {
  auto orderOf = [](uint64_t seed) {
    Kernel kernel = single(4, "atom.global.exch.b32 %r5, [%rd0+28], %r4;\n"
                              "st.global.u32 [%rd2], %r5;");
    kernel.options.policy = Policy::Pct;
    kernel.options.scheduleSeed = seed;
    kernel.run();
    return kernel.out;
  };
  std::set<std::vector<uint32_t>> orders;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    orders.insert(orderOf(seed));
    EXPECT_EQ(orderOf(seed), orderOf(seed)) << "seed " << seed;
  }
  // 24 are possible.
  EXPECT_GT(orders.size(), 12u);
}
