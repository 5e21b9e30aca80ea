//===- RunClustersTest.cpp - Clusters over cores and time -----------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Kernel.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

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

TEST(RunClusters, IndependentClustersRunAtOnce) {
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

TEST(RunClusters, FindingsKeepTheirOrderAndCounts) {
  Kernel kernel;
  kernel.grid = {16, 1, 1};
  kernel.words = 16 * 32;
  kernel.declarations = ".shared .align 4 .b32 s[4];\n";
  // Odd CTAs read one word that was never written, CTAs from 8 on another.
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

TEST(RunClusters, ARaceCountsOncePerCluster) {
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

TEST(RunClusters, SharedMemoryOfTheGridFallsBackToTheOrder) {
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
                          bool inOrder = k.options.policy == Policy::Eager;
                          EXPECT_EQ(k.out[32] == 31u * 32 / 2, inOrder);
                        });
}

/// The numbers of CTAs in the order in which they took a ticket.
static std::vector<uint32_t> orderOf(Options options, unsigned ctas,
                                     Dim3 cluster = {1, 1, 1}) {
  Kernel kernel;
  kernel.grid = {ctas, 1, 1};
  kernel.block = {1, 1, 1};
  kernel.cluster = cluster;
  kernel.options = options;
  kernel.words = ctas + 1;
  kernel.body = "atom.global.add.u32 %r4, [%rd0], 1;\n"
                "mad.wide.u32 %rd2, %r4, 4, %rd0;\n"
                "st.global.u32 [%rd2+4], %r2;";
  LaunchResult result = kernel.run();
  EXPECT_EQ(result.status, Status::Ok) << describe(result);
  return {kernel.out.begin() + 1, kernel.out.end()};
}

TEST(RunClusters, ThePolicyOrdersTheClusters) {
  std::vector<uint32_t> plain(40);
  std::iota(plain.begin(), plain.end(), 0u);
  std::vector<uint32_t> reversed(plain.rbegin(), plain.rend());
  std::set<std::vector<uint32_t>> orders;
  underEveryPolicy([&](Options options) {
    std::vector<uint32_t> order = orderOf(options, 40);
    EXPECT_EQ(orderOf(options, 40), order) << "the schedule repeats itself";
    if (options.policy == Policy::Eager) {
      EXPECT_EQ(order, plain);
    } else if (options.policy == Policy::Late) {
      EXPECT_EQ(order, reversed);
    } else {
      EXPECT_NE(order, plain);
      EXPECT_TRUE(std::ranges::is_permutation(order, plain));
    }
    orders.insert(order);
  });
  EXPECT_EQ(orders.size(), 9u);
}

TEST(RunClusters, EachClusterMayComeFirst) {
  std::set<uint32_t> first;
  Options options;
  options.policy = Policy::Random;
  for (options.scheduleSeed = 0; options.scheduleSeed < 40;
       ++options.scheduleSeed)
    first.insert(orderOf(options, 6, {2, 1, 1}).front() / 2);
  EXPECT_EQ(first.size(), 3u);
}

TEST(RunClusters, ASumOfFloatsHangsOnTheOrder) {
  Kernel kernel;
  kernel.grid = {16, 1, 1};
  kernel.block = {1, 1, 1};
  // 2^24, and ones that are lost after it and count before it.
  kernel.body = "setp.eq.u32 %p1, %r2, 0;\n"
                "selp.f32 %f0, 0f4B800000, 0f3F800000, %p1;\n"
                "red.global.add.f32 [%rd0], %f0;";
  std::set<float> sums;
  underEveryThreadCount(kernel, false,
                        [&](const Kernel &k, const LaunchResult &r) {
                          EXPECT_EQ(r.status, Status::Ok) << describe(r);
                          float sum = std::bit_cast<float>(k.out[0]);
                          sums.insert(sum);
                          if (k.options.policy == Policy::Eager) {
                            EXPECT_EQ(sum, 16777216.f);
                          }
                          if (k.options.policy == Policy::Late) {
                            EXPECT_EQ(sum, 16777216.f + 16);
                          }
                        });
  EXPECT_GT(sums.size(), 2u);
}

/// Where CTAs share nothing the order shows in nothing, findings included.
TEST(RunClusters, FindingsAreThoseOfTheFirstCtaWhateverTheOrder) {
  Kernel kernel;
  kernel.grid = {16, 1, 1};
  kernel.words = 16 * 32;
  kernel.declarations = ".shared .align 4 .b32 s[4];\n";
  // An atomic keeps the clusters from running at once.
  kernel.body = "mov.u32 %r4, s; setp.ge.u32 %p2, %r2, 5;\n"
                "red.global.add.u32 [%rd1], 1;\n"
                "@%p2 ld.shared.u32 %r6, [%r4];";
  underEveryThreadCount(kernel, false,
                        [](const Kernel &, const LaunchResult &r) {
                          ASSERT_EQ(r.findings.size(), 1u) << describe(r);
                          EXPECT_EQ(r.findings[0].cta.x, 5u);
                          EXPECT_EQ(r.findingsDropped, 11u * 32 - 1);
                        });
}

/// The other party is named by its CTA, not by when it ran.
TEST(RunClusters, ARaceOfTwoClustersNamesBoth) {
  underEveryPolicy([](Options options) {
    Kernel kernel;
    kernel.options = options;
    kernel.grid = {7, 1, 1};
    kernel.block = {1, 1, 1};
    kernel.body = "setp.ne.u32 %p1, %r2, 2; setp.ne.u32 %p2, %r2, 5;\n"
                  "@%p1 bra A;\nst.global.u32 [%rd0], 1;\n"
                  "A: @%p2 bra B;\nst.global.u32 [%rd0], 2;\nB:";
    LaunchResult result = kernel.run();
    ASSERT_EQ(result.findings.size(), 1u) << describe(result);
    const Finding &finding = result.findings[0];
    ASSERT_TRUE(finding.otherParty);
    EXPECT_EQ(finding.cta.x + finding.otherParty->cta.x, 7u);
    unsigned other = finding.otherParty->cta.x;
    EXPECT_EQ(finding.otherParty->ptxLine,
              kernel.firstLine() + (other == 2 ? 2 : 4));
    EXPECT_NE(finding.other.find("of cluster " + std::to_string(other)),
              std::string::npos)
        << finding.other;
  });
}

TEST(RunClusters, AFaultStopsWhatComesAfterIt) {
  Kernel kernel;
  kernel.grid = {16, 1, 1};
  kernel.words = 16 * 32;
  kernel.body = "st.global.u32 [%rd1], 1; setp.eq.u32 %p1, %r2, 5;\n@%p1 trap;";
  underEveryThreadCount(kernel, false,
                        [](const Kernel &k, const LaunchResult &r) {
                          EXPECT_TRUE(hasFinding(r, "trap"));
                          EXPECT_EQ(k.out[5 * 32], 1u);
                          if (k.options.policy == Policy::Eager) {
                            EXPECT_EQ(k.out[6 * 32], 0u);
                          }
                          if (k.options.policy == Policy::Late) {
                            EXPECT_EQ(k.out[4 * 32], 0u);
                          }
                        });
}

TEST(RunClusters, StepLimitIsThatOfTheOrder) {
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

/// As on a device, which starts them in this order, in as many places as it has
/// for them: whoever has begun finds those before it there or done.
TEST(RunClusters, ClustersMayWaitForEarlierOnesInAnyOrder) {
  underEveryPolicy([](Options options) {
    Kernel kernel;
    kernel.options = options;
    kernel.grid = {24, 1, 1};
    kernel.block = {1, 1, 1};
    kernel.words = 64;
    // CTA i waits for the flag of CTA i - 1.
    kernel.body = "mad.wide.u32 %rd2, %r2, 4, %rd0;\n"
                  "SPIN: ld.acquire.gpu.global.u32 %r4, [%rd2];\n"
                  "setp.ne.u32 %p1, %r2, 0; setp.eq.and.u32 %p1, %r4, 0, %p1;\n"
                  "@%p1 bra SPIN; add.u32 %r4, %r4, 1;\n"
                  "st.release.gpu.global.u32 [%rd2+4], %r4;";
    LaunchResult result = kernel.run();
    EXPECT_EQ(result.status, Status::Ok) << describe(result);
    EXPECT_EQ(kernel.out[24], 24u);
  });
}

/// More of them than are resident.
TEST(RunClusters, ManyClustersMayWaitForTheFirst) {
  for (Policy policy : {Policy::Eager, Policy::Late, Policy::Random}) {
    Kernel kernel;
    kernel.options.policy = policy;
    kernel.grid = {300, 1, 1};
    kernel.block = {1, 1, 1};
    kernel.words = 301;
    kernel.body = "setp.eq.u32 %p1, %r2, 0; @%p1 bra SET;\n"
                  "SPIN: ld.acquire.gpu.global.u32 %r4, [%rd0];\n"
                  "setp.eq.u32 %p1, %r4, 0; @%p1 bra SPIN;\n"
                  "SET: st.release.gpu.global.u32 [%rd1], 1;";
    LaunchResult result = kernel.run();
    EXPECT_EQ(result.status, Status::Ok) << describe(result);
    EXPECT_EQ(std::accumulate(kernel.out.begin(), kernel.out.end(), 0u), 300u);
  }
}

TEST(RunClusters, EarlierClustersMayWaitForLaterOnes) {
  for (const char *load : {"ld.acquire.gpu.global.u32", "ld.global.u32"}) {
    bool races = load == std::string_view("ld.global.u32");
    Kernel kernel;
    kernel.grid = {6, 1, 1};
    kernel.words = 64;
    kernel.block = {1, 1, 1};
    // CTA i waits for the flag of CTA i + 1; the last one waits for none.
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

TEST(RunClusters, AGridBarrierWorks) {
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

/// A cluster that comes to the second barrier in the same visit in which it
/// lets the others go from the first.
TEST(RunClusters, AGridBarrierMayComeTwice) {
  for (unsigned ctas : {2u, 5u}) {
    Kernel kernel;
    kernel.grid = {ctas, 1, 1};
    kernel.block = {1, 1, 1};
    kernel.words = 16;
    std::string all = std::to_string(ctas);
    for (unsigned at : {0u, 4u, 8u}) {
      std::string word = "[%rd0+" + std::to_string(at) + "]";
      std::string label = "SPIN" + std::to_string(at);
      kernel.body += "atom.acq_rel.gpu.global.add.u32 %r4, " + word + ", 1;\n" +
                     label + ": ld.acquire.gpu.global.u32 %r4, " + word +
                     ";\nsetp.lt.u32 %p2, %r4, " + all + "; @%p2 bra " + label +
                     ";\n";
    }
    underEveryThreadCount(kernel, false,
                          [&](const Kernel &k, const LaunchResult &r) {
                            EXPECT_EQ(r.status, Status::Ok) << describe(r);
                            EXPECT_EQ(k.out[2], ctas);
                          });
  }
}

TEST(RunClusters, ClustersThatAllSpinAreALivelock) {
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

TEST(RunClusters, ALongQuietLoopIsNoLivelock) {
  Kernel kernel;
  kernel.grid = {3, 1, 1};
  kernel.block = {64, 1, 1};
  kernel.declarations = ".shared .align 4 .b32 flag;\n";
  // Warp 0 polls what warp 1 writes after a long loop; the atomics keep
  // clusters in order, so that others have turns in between.
  kernel.body = "mov.u32 %r4, 0; st.volatile.shared.u32 [flag], %r4;\n"
                "bar.sync 0; setp.ge.u32 %p1, %r1, 32; @%p1 bra COUNT;\n"
                "POLL: ld.volatile.shared.u32 %r5, [flag];\n"
                "setp.ne.u32 %p2, %r5, 7; @%p2 bra POLL;\n"
                "atom.global.add.u32 %r6, [%rd0], 1; bra DONE;\n"
                "COUNT: add.u32 %r4, %r4, 1; setp.lt.u32 %p2, %r4, 300000;\n"
                "@%p2 bra COUNT; mov.u32 %r5, 7;\n"
                "st.volatile.shared.u32 [flag], %r5;\nDONE:";
  LaunchResult result = kernel.run();
  EXPECT_EQ(result.status, Status::Ok) << describe(result);
  EXPECT_EQ(kernel.out[0], 96u);
}

TEST(RunClusters, WrittenMarksAreThoseOfTheOrder) {
  // The last CTA reads a word that was never written, in memory that others
  // write.
  Kernel kernel;
  kernel.grid = {8, 1, 1};
  kernel.words = 8 * 32 + 64;
  kernel.initialize = false;
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
