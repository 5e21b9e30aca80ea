//===- SpreadTest.cpp - Clusters over cores and time ----------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kernel.h"

#include <gtest/gtest.h>

using namespace ptxsim;
using namespace ptxsim::test;

namespace {

/// Everything that a launch shows, as text.
std::string digestOf(const Kernel &kernel, const LaunchResult &result) {
  std::string text = std::to_string(int(result.status)) + " " +
                     std::to_string(result.warpInstructions) + " " +
                     std::to_string(result.findingsDropped) + "\n";
  for (const Finding &finding : result.findings)
    text += finding.id + " " + std::to_string(finding.ptxLine) + " " +
            std::to_string(finding.cta.x) + " " + std::to_string(finding.warp) +
            " " + finding.message + "\n";
  for (uint32_t word : kernel.out)
    text += " " + std::to_string(word);
  return text;
}

/// Runs with 1, 2 and 5 threads under every policy, expects the same, and
/// hands the last result to `check`.
template <typename F>
void underEveryThreadCount(Kernel kernel, bool atOnce, F check) {
  underEveryPolicy([&](Options options) {
    std::string first;
    for (unsigned threads : {1u, 2u, 5u}) {
      options.threads = threads;
      options.maxSteps = kernel.options.maxSteps;
      kernel.options = options;
      LaunchResult result = kernel.run();
      std::string digest = digestOf(kernel, result);
      if (threads == 1)
        first = digest;
      EXPECT_EQ(digest, first)
          << threads << " threads, policy " << int(options.policy) << " seed "
          << options.scheduleSeed;
      EXPECT_EQ(result.threads, atOnce ? threads : 1u) << result.whySequential;
      check(kernel, result);
    }
  });
}

} // namespace

TEST(Spread, IndependentClustersRunAtOnce) {
  Kernel kernel;
  kernel.grid = {24, 1, 1};
  // Which warp is last in shared memory depends on the schedule of the CTA, not
  // on the core; so does what its clocks say.
  kernel.block = {64, 1, 1};
  kernel.words = 24 * 64;
  kernel.declarations = ".shared .align 4 .b32 s;\n";
  kernel.body = "mov.u32 %r4, s; shr.u32 %r5, %r1, 5;\n"
                "st.volatile.shared.u32 [%r4], %r5; bar.sync 0;\n"
                "ld.volatile.shared.u32 %r6, [%r4]; mov.u32 %r7, %clock;\n"
                "mad.lo.u32 %r6, %r6, 1000, %r0; add.u32 %r6, %r6, %r7;\n"
                "st.global.u32 [%rd1], %r6;";
  underEveryThreadCount(kernel, true,
                        [](const Kernel &, const LaunchResult &r) {
                          EXPECT_EQ(r.status, Status::Ok) << describe(r);
                        });
}

TEST(Spread, FindingsKeepTheirOrderAndCounts) {
  Kernel kernel;
  kernel.grid = {16, 1, 1};
  kernel.words = 16 * 32;
  kernel.declarations = ".shared .align 4 .b32 s[4];\n";
  // Odd CTAs read one word that nobody wrote, CTAs from 8 on another.
  kernel.body = "mov.u32 %r4, s; and.b32 %r5, %r2, 1;\n"
                "setp.eq.u32 %p1, %r5, 1; setp.ge.u32 %p2, %r2, 8;\n"
                "@%p2 ld.shared.u32 %r6, [%r4];\n"
                "@%p1 ld.shared.u32 %r7, [%r4+4];\n"
                "st.global.u32 [%rd1], %r0;";
  underEveryThreadCount(kernel, true,
                        [](const Kernel &, const LaunchResult &r) {
                          ASSERT_EQ(r.findings.size(), 2u) << describe(r);
                          EXPECT_EQ(r.findings[0].cta.x, 1u);
                          EXPECT_EQ(r.findings[1].cta.x, 8u);
                          EXPECT_EQ(r.findingsDropped, 16u * 32 - 2);
                        });
}

TEST(Spread, ARaceCountsOncePerCluster) {
  Kernel kernel;
  kernel.grid = {12, 1, 1};
  kernel.block = {64, 1, 1};
  kernel.words = 12 * 64;
  kernel.declarations = ".shared .align 4 .b32 s;\n";
  // Each CTA has the same race, in 32 lanes of two warps.
  kernel.body = "mov.u32 %r4, s; st.shared.u32 [%r4], %r1;\n"
                "st.global.u32 [%rd1], %r0;";
  underEveryThreadCount(kernel, true,
                        [](const Kernel &, const LaunchResult &r) {
                          ASSERT_EQ(r.findings.size(), 1u) << describe(r);
                          EXPECT_EQ(r.findings[0].id, "race-shared");
                          EXPECT_EQ(r.findings[0].cta.x, 0u);
                          EXPECT_EQ(r.findingsDropped, 12u - 1);
                        });
}

TEST(Spread, SharedMemoryOfTheGridFallsBackToTheOrder) {
  Kernel kernel;
  kernel.grid = {32, 1, 1};
  kernel.block = {1, 1, 1};
  kernel.words = 33;
  // out[i + 1] = out[i] + i, by plain accesses: right in the plain order only,
  // and a race in any.
  kernel.body = "ld.global.u32 %r4, [%rd1]; add.u32 %r4, %r4, %r2;\n"
                "st.global.u32 [%rd1+4], %r4;";
  underEveryThreadCount(kernel, false,
                        [](const Kernel &k, const LaunchResult &r) {
                          EXPECT_EQ(r.status, Status::Findings);
                          EXPECT_TRUE(hasFinding(r, "race-global"));
                          EXPECT_EQ(k.out[32], 31u * 32 / 2);
                        });
}

TEST(Spread, AFaultStopsWhatComesAfterIt) {
  Kernel kernel;
  kernel.grid = {16, 1, 1};
  kernel.words = 16 * 32;
  kernel.body = "st.global.u32 [%rd1], 1; setp.eq.u32 %p1, %r2, 5;\n@%p1 trap;";
  underEveryThreadCount(kernel, false,
                        [](const Kernel &k, const LaunchResult &r) {
                          EXPECT_TRUE(hasFinding(r, "trap"));
                          EXPECT_EQ(k.out[5 * 32], 1u);
                          EXPECT_EQ(k.out[6 * 32], 0u);
                        });
}

TEST(Spread, StepLimitIsThatOfTheOrder) {
  Kernel kernel;
  kernel.grid = {16, 1, 1};
  kernel.words = 16 * 32;
  kernel.body = "st.global.u32 [%rd1], 1;";
  kernel.options.maxSteps = 50;
  underEveryThreadCount(kernel, false,
                        [](const Kernel &, const LaunchResult &r) {
                          EXPECT_EQ(r.status, Status::StepLimit);
                        });
}

TEST(Spread, EarlierClustersMayWaitForLaterOnes) {
  for (const char *load : {"ld.acquire.gpu.global.u32", "ld.global.u32"}) {
    bool races = load == std::string_view("ld.global.u32");
    Kernel kernel;
    kernel.grid = {6, 1, 1};
    kernel.words = 64;
    kernel.block = {1, 1, 1};
    // CTA i waits for the flag of CTA i + 1; the last one waits for nobody.
    kernel.body =
        "setp.eq.u32 %p1, %r2, 5; @%p1 bra SET;\nSPIN: " + std::string(load) +
        " %r4, [%rd1+4]; setp.eq.u32 %p2, %r4, 0; @%p2 bra SPIN;\n"
        "SET: add.u32 %r4, %r4, 1; setp.eq.u32 %p1, %r2, 5;\n"
        "selp.u32 %r4, 1, %r4, %p1; st.volatile.global.u32 [%rd1], %r4;";
    for (unsigned threads : {1u, 4u}) {
      kernel.options.threads = threads;
      LaunchResult result = kernel.run();
      EXPECT_EQ(result.status, races ? Status::Findings : Status::Ok)
          << describe(result);
      EXPECT_EQ(hasFinding(result, "race-global"), races) << load;
      EXPECT_EQ(kernel.out[0], 6u) << load;
    }
  }
}

TEST(Spread, AGridBarrierWorks) {
  Kernel kernel;
  kernel.grid = {8, 1, 1};
  kernel.block = {32, 1, 1};
  kernel.words = 1024;
  kernel.body =
      "setp.ne.u32 %p1, %r1, 0; add.u64 %rd2, %rd0, 2048; @%p1 bra JOIN;\n"
      "st.global.u32 [%rd1], 7;\n"
      "atom.release.gpu.global.add.u32 %r4, [%rd2], 1;\n"
      "SPIN: ld.acquire.gpu.global.u32 %r4, [%rd2];\n"
      "setp.lt.u32 %p2, %r4, 8; @%p2 bra SPIN;\n"
      "JOIN: bar.sync 0; xor.b32 %r5, %r2, 7; mul.wide.u32 %rd3, %r5, 128;\n"
      "add.u64 %rd3, %rd0, %rd3; ld.global.u32 %r6, [%rd3];\n"
      "st.global.u32 [%rd1+2560], %r6;";
  underEveryThreadCount(kernel, false,
                        [](const Kernel &k, const LaunchResult &r) {
                          EXPECT_EQ(r.status, Status::Ok) << describe(r);
                          for (unsigned cta = 0; cta < 8; ++cta)
                            EXPECT_EQ(k.out[640 + cta * 32], 7u) << cta;
                        });
}

TEST(Spread, ClustersThatAllSpinAreALivelock) {
  Kernel kernel;
  kernel.grid = {3, 1, 1};
  kernel.block = {1, 1, 1};
  kernel.options.maxSteps = 100000000;
  kernel.body = "SPIN: ld.acquire.gpu.global.u32 %r4, [%rd1];\n"
                "setp.eq.u32 %p2, %r4, 0; @%p2 bra SPIN;";
  for (unsigned threads : {1u, 3u}) {
    kernel.options.threads = threads;
    LaunchResult result = kernel.run();
    EXPECT_EQ(result.status, Status::Deadlock) << describe(result);
    EXPECT_TRUE(hasFinding(result, "livelock"));
  }
}

TEST(Spread, WrittenMarksAreThoseOfTheOrder) {
  // The last CTA reads a word that nobody wrote, in memory that others write.
  Kernel kernel;
  kernel.grid = {8, 1, 1};
  kernel.words = 8 * 32 + 64;
  kernel.initialise = false;
  kernel.body =
      "setp.eq.u32 %p1, %r2, 7;\n@%p1 ld.global.u32 %r5, [%rd1+256];\n"
      "st.global.u32 [%rd1], %r0;";
  for (unsigned threads : {1u, 4u}) {
    kernel.options.threads = threads;
    LaunchResult result = kernel.run();
    EXPECT_EQ(result.threads, threads) << result.whySequential;
    EXPECT_TRUE(hasFinding(result, "uninit-global")) << describe(result);
    EXPECT_EQ(kernel.out[0], 0u);
    EXPECT_EQ(kernel.out[7 * 32 + 31], 7u * 32 + 31);
  }
}
