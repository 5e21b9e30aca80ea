//===- ProgressTest.cpp - Barriers, deadlock, livelock, convergence -------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Kernel.h"

#include <gtest/gtest.h>

using namespace ptxsim;
using namespace ptxsim::test;

static void expectClean(const LaunchResult &result) {
  EXPECT_EQ(result.status, Status::Ok) << describe(result);
}

TEST(Barriers, ProducerConsumerWithNamedBarriers) {
  underEveryPolicy([](Options options) {
    Kernel kernel;
    kernel.options = options;
    kernel.block = {128, 1, 1};
    kernel.declarations = ".shared .align 4 .b8 s[256];\n";
    // Warps 0 and 1 fill and arrive at 3; warps 2 and 3 wait there and read.
    kernel.body = "mov.u32 %r4, s; and.b32 %r5, %r1, 63; shl.b32 %r5, %r5, 2;\n"
                  "add.u32 %r4, %r4, %r5; setp.ge.u32 %p1, %r1, 64;\n"
                  "@%p1 bra READ;\nst.shared.u32 [%r4], %r1;\n"
                  "bar.arrive 3, 128;\nbra DONE;\nREAD: bar.sync 3, 128;\n"
                  "ld.shared.u32 %r6, [%r4]; add.u32 %r6, %r6, 1;\n"
                  "st.global.u32 [%rd1], %r6;\nDONE:";
    expectClean(kernel.run());
    for (uint32_t i = 64; i < 128; ++i)
      EXPECT_EQ(kernel.out[i], i - 63);
  });
}

TEST(Barriers, Reductions) {
  Kernel kernel;
  kernel.block = {96, 1, 1};
  kernel.body =
      "setp.lt.u32 %p1, %r1, 40;\n"
      "bar.red.popc.u32 %r4, 0, %p1;\nbar.red.and.pred %p2, 0, %p1;\n"
      "barrier.red.or.pred %p3, 1, !%p1;\nselp.u32 %r5, 1000, 0, %p2;\n"
      "selp.u32 %r6, 10000, 0, %p3; add.u32 %r4, %r4, %r5;\n"
      "add.u32 %r4, %r4, %r6; st.global.u32 [%rd1], %r4;";
  expectClean(kernel.run());
  for (uint32_t i = 0; i < 96; ++i)
    EXPECT_EQ(kernel.out[i], 10040u);
}

TEST(Barriers, DeadlockIsExactAndNamesTheBarrier) {
  underEveryPolicy([](Options options) {
    Kernel kernel;
    kernel.options = options;
    kernel.block = {64, 1, 1};
    kernel.body = "setp.lt.u32 %p1, %r1, 32;\n@%p1 bar.sync 2, 64;\n";
    LaunchResult result = kernel.run();
    EXPECT_EQ(result.status, Status::Deadlock);
    ASSERT_EQ(result.findings.size(), 1u) << describe(result);
    const Finding &finding = result.findings[0];
    EXPECT_EQ(finding.id, "deadlock");
    EXPECT_EQ(finding.ptxLine, kernel.firstLine() + 1);
    EXPECT_NE(finding.message.find("barrier 2 has 32 of 64"), std::string::npos)
        << finding.message;
    EXPECT_LT(result.warpInstructions, 1000u);
  });
}

TEST(Barriers, LivelockOnMemoryThatNobodyWrites) {
  Kernel kernel;
  kernel.block = {64, 1, 1};
  kernel.options.maxSteps = 200000000;
  kernel.body = "SPIN: ld.acquire.gpu.global.u32 %r4, [%rd0];\n"
                "setp.eq.u32 %p1, %r4, 0; @%p1 bra SPIN;";
  LaunchResult result = kernel.run();
  EXPECT_EQ(result.status, Status::Deadlock) << describe(result);
  EXPECT_TRUE(hasFinding(result, "livelock"));
}

TEST(Barriers, LongQuietLoopIsNoLivelock) {
  Kernel kernel;
  kernel.body = "mov.u32 %r4, 0;\nLOOP: add.u32 %r4, %r4, 1;\n"
                "setp.lt.u32 %p1, %r4, 1000000; @%p1 bra LOOP;\n"
                "st.global.u32 [%rd1], %r4;";
  expectClean(kernel.run());
  EXPECT_EQ(kernel.out[0], 1000000u);
}

TEST(Barriers, BadOperands) {
  Kernel kernel;
  kernel.body = "bar.sync 16;";
  EXPECT_TRUE(hasFinding(kernel.run(), "barrier-bad-operand"));
  kernel.body = "bar.sync 1, 33;";
  EXPECT_TRUE(hasFinding(kernel.run(), "barrier-bad-operand"));
  kernel.block = {64, 1, 1};
  kernel.body = "setp.lt.u32 %p1, %r1, 32; @%p1 bar.arrive 1, 64;\n"
                "@!%p1 bar.arrive 1, 96;";
  EXPECT_TRUE(hasFinding(kernel.run(), "barrier-mismatch"));
}

TEST(Convergence, AlignedByPartOfAWarp) {
  Kernel kernel;
  kernel.body = "setp.lt.u32 %p1, %r1, 8;\n@%p1 bra A; bra B;\nA: bar.sync 0; "
                "bra B;\nB: st.global.u32 [%rd1], 1;";
  LaunchResult result = kernel.run();
  ASSERT_TRUE(hasFinding(result, "aligned-partial-warp")) << describe(result);
  EXPECT_EQ(result.findings[0].ptxLine, kernel.firstLine() + 2);
  kernel.body = "setp.lt.u32 %p1, %r1, 8;\n@%p1 bar.sync 0;";
  EXPECT_TRUE(hasFinding(kernel.run(), "aligned-partial-warp"));
}

TEST(Convergence, CollectiveGathersItsMembers) {
  underEveryPolicy([](Options options) {
    Kernel kernel;
    kernel.options = options;
    // Both sides of a branch meet at one shuffle, with no join before it.
    kernel.body = "setp.lt.u32 %p1, %r1, 8; mov.u32 %r4, 1;\n"
                  "@%p1 bra A; mov.u32 %r4, 2;\n"
                  "A: shfl.sync.bfly.b32 %r5|%p2, %r4, 8, 31, -1;\n"
                  "vote.sync.ballot.b32 %r6, %p1, -1;\n"
                  "add.u32 %r5, %r5, %r6; st.global.u32 [%rd1], %r5;";
    expectClean(kernel.run());
    for (uint32_t i = 0; i < 32; ++i)
      EXPECT_EQ(kernel.out[i], ((i ^ 8) < 8 ? 1 : 2) + 0xFFu) << i;
  });
}

TEST(Convergence, MembersThatNeverCome) {
  // The other lanes live on: they come to a barrier first.
  Kernel kernel;
  kernel.body = "setp.lt.u32 %p1, %r1, 8;\n@%p1 shfl.sync.idx.b32 %r4, %r1, 0, "
                "31, -1;\nbar.sync 0;";
  EXPECT_TRUE(hasFinding(kernel.run(), "member-mask"));
  kernel.body = "setp.lt.u32 %p1, %r1, 8;\n@!%p1 bra B; shfl.sync.idx.b32 %r4, "
                "%r1, 0, 31, -1;\nB: bar.sync 0;";
  EXPECT_TRUE(hasFinding(kernel.run(), "member-mask"));
  kernel.body = "vote.sync.any.pred %p1, %p2, 0xFF;";
  EXPECT_TRUE(hasFinding(kernel.run(), "member-mask"));
}

/// PTX ISA 9.7.9.6, 9.7.13.9, 9.7.13.10, 9.7.13.12: a thread waits for the
/// threads of the membermask that have not exited.
TEST(Convergence, MembersThatExitNeedNotCome) {
  const char *collectives[] = {"shfl.sync.idx.b32 %r4, %r1, 3, 31, -1;",
                               "vote.sync.ballot.b32 %r4, %p1, -1;",
                               "match.any.sync.b32 %r4, %r3, -1;",
                               "redux.sync.add.u32 %r4, %r3, -1;",
                               "elect.sync %r4|%p2, -1;",
                               "bar.warp.sync -1; mov.u32 %r4, 5;"};
  const uint32_t expected[] = {3, 0xFFFF, 0xFFFF, 16 * 32, 0, 5};
  // They exit on the spot; after a branch, in the end and with code before it;
  // from within a call; and because a guard has switched them off.
  const char *withCodeBehind = "@!%p1 bra B;\n$ st.global.u32 [%rd1], %r4;\n"
                               "B: add.u32 %r5, %r1, 1;\n@%p1 bra C;\n"
                               "st.global.u32 [%rd1], 77;\nC:\n";
  const char *exits[] = {"@!%p1 exit;\n$ st.global.u32 [%rd1], %r4;\n",
                         "@!%p1 bra B;\n$ st.global.u32 [%rd1], %r4;\nB:\n",
                         withCodeBehind,
                         "call leave, (%r1);\n$ st.global.u32 [%rd1], %r4;\n",
                         "@%p1 $ @%p1 st.global.u32 [%rd1], %r4;\n"};
  for (const char *exit : exits)
    for (size_t i = 0; i < std::size(collectives); ++i) {
      std::string body = exit, collective = collectives[i];
      if (body.starts_with("@%p1 $"))
        collective = collective.substr(0, collective.find(';') + 1);
      body.replace(body.find('$'), 1, collective);
      SCOPED_TRACE(body);
      underEveryPolicy([&](Options options) {
        Kernel kernel;
        kernel.options = options;
        kernel.functions = ".func leave(.reg .u32 %t)\n{\n.reg .pred %p;\n"
                           "setp.ge.u32 %p, %t, 16;\n@!%p bra BACK;\nexit;\n"
                           "BACK: ret;\n}\n";
        kernel.body = "setp.lt.u32 %p1, %r1, 16; mov.u32 %r4, 0;\n" + body;
        expectClean(kernel.run());
        if (!body.starts_with("@%p1 bar")) {
          EXPECT_EQ(kernel.out[3], expected[i]);
        }
      });
    }
}

/// Each round sends half of the lanes that are left home.
TEST(Convergence, MembersExitInTurns) {
  underEveryPolicy([](Options options) {
    Kernel kernel;
    kernel.options = options;
    kernel.body = "mov.u32 %r5, 16;\n"
                  "LOOP: setp.ge.u32 %p1, %r1, %r5;\n@%p1 bra DONE;\n"
                  "vote.sync.ballot.b32 %r4, 1, -1;\n"
                  "st.global.u32 [%rd1], %r4;\n"
                  "shr.u32 %r5, %r5, 1;\nsetp.ne.u32 %p2, %r5, 0;\n"
                  "@%p2 bra LOOP;\nDONE:";
    expectClean(kernel.run());
    for (uint32_t lane = 0; lane < 16; ++lane) {
      uint32_t last = lane < 1   ? 0x1
                      : lane < 2 ? 0x3
                      : lane < 4 ? 0xF
                      : lane < 8 ? 0xFF
                                 : 0xFFFF;
      EXPECT_EQ(kernel.out[lane], last) << lane;
    }
  });
}

/// Lanes that spin elsewhere wait for those who exit, while another warp waits
/// for what comes after their collective.
TEST(Convergence, ExitsAreNoLastResort) {
  underEveryPolicy([](Options options) {
    Kernel kernel;
    kernel.options = options;
    kernel.block = {64, 1, 1};
    kernel.body = "setp.ge.u32 %p1, %r1, 32;\n@%p1 bra POLL;\n"
                  "setp.ge.u32 %p1, %r1, 16;\n@%p1 bra DONE;\n"
                  "shfl.sync.idx.b32 %r4, %r1, 3, 31, -1;\n"
                  "st.volatile.global.u32 [%rd0+256], %r4;\nbra DONE;\n"
                  "POLL: ld.volatile.global.u32 %r4, [%rd0+256];\n"
                  "setp.eq.u32 %p1, %r4, 0;\n@%p1 bra POLL;\nDONE:";
    expectClean(kernel.run());
    EXPECT_EQ(kernel.out[64], 3u);
  });
}

/// Nor is the finding: lanes that live on are missing, whatever spins
/// elsewhere.
TEST(Convergence, MissingMembersAreFoundWhileOthersSpin) {
  underEveryPolicy([](Options options) {
    Kernel kernel;
    kernel.options = options;
    kernel.block = {64, 1, 1};
    kernel.body = "setp.ge.u32 %p1, %r1, 32;\n@%p1 bra POLL;\n"
                  "setp.ge.u32 %p1, %r1, 16;\n@%p1 bra MEET;\n"
                  "shfl.sync.idx.b32 %r4, %r1, 3, 31, -1;\n"
                  "MEET: vote.sync.any.pred %p2, %p1, -1;\n"
                  "st.volatile.global.u32 [%rd0+256], 3;\nbra DONE;\n"
                  "POLL: ld.volatile.global.u32 %r4, [%rd0+256];\n"
                  "setp.eq.u32 %p1, %r4, 0;\n@%p1 bra POLL;\nDONE:";
    LaunchResult result = kernel.run();
    ASSERT_EQ(result.findings.size(), 1u) << describe(result);
    EXPECT_EQ(result.findings[0].id, "member-mask");
  });
}

/// A collective that goes on without those who exit does not excuse the next.
TEST(Convergence, AnExitExcusesOneCollective) {
  underEveryPolicy([](Options options) {
    Kernel kernel;
    kernel.options = options;
    kernel.body = "setp.ge.u32 %p1, %r1, 16;\n@%p1 bra DONE;\n"
                  "bar.warp.sync -1;\n"
                  "setp.ge.u32 %p1, %r1, 8;\n@%p1 bra MORE;\n"
                  "bar.warp.sync -1;\n"
                  "MORE: bar.warp.sync -1;\nDONE:";
    LaunchResult result = kernel.run();
    ASSERT_EQ(result.findings.size(), 1u) << describe(result);
    EXPECT_EQ(result.findings[0].id, "member-mask");
    EXPECT_EQ(result.findings[0].ptxLine, kernel.firstLine() + 5);
  });
}

/// As the tiles of cooperative groups do: each half of the warp goes round as
/// often as it likes.
TEST(Convergence, LanesMayNameDifferentMasks) {
  underEveryPolicy([](Options options) {
    Kernel kernel;
    kernel.options = options;
    kernel.body =
        "setp.lt.u32 %p1, %r1, 16; selp.b32 %r4, 0xffff, 0xffff0000, %p1;\n"
        "selp.b32 %r6, 3, 7, %p1; mov.u32 %r5, 0;\n"
        "AGAIN: shfl.sync.bfly.b32 %r7, %r1, 5, 31, %r4;\n"
        "vote.sync.ballot.b32 %r8, %p1, %r4; add.u32 %r5, %r5, 1;\n"
        "setp.lt.u32 %p2, %r5, %r6; @%p2 bra AGAIN;\n"
        "bar.warp.sync -1; add.u32 %r7, %r7, %r8; st.global.u32 [%rd1], %r7;";
    expectClean(kernel.run());
    for (uint32_t i = 0; i < 32; ++i)
      EXPECT_EQ(kernel.out[i], (i ^ 5) + (i < 16 ? 0xFFFFu : 0)) << i;
  });
}

/// Groups that come in parts: at the same place, and of different masks.
TEST(Convergence, GroupsThatGatherAtOnePlaceStayApart) {
  underEveryPolicy([](Options options) {
    Kernel kernel;
    kernel.options = options;
    kernel.body =
        "and.b32 %r5, %r1, 1; setp.eq.u32 %p1, %r5, 1;\n"
        "setp.lt.u32 %p2, %r1, 16; selp.b32 %r4, 0xffff, 0xffff0000, %p2;\n"
        "mov.u32 %r6, 100; @%p1 bra A; mov.u32 %r6, 200;\n"
        "A: vote.sync.ballot.b32 %r7, %p1, %r4; st.global.u32 [%rd1], %r7;";
    expectClean(kernel.run());
    for (uint32_t i = 0; i < 32; ++i)
      EXPECT_EQ(kernel.out[i], i < 16 ? 0xAAAAu : 0xAAAA0000u) << i;
  });
}

/// PTX ISA 9.7.13.2: all of the mask execute a bar.warp.sync of the same mask,
/// wherever it stands.
TEST(Convergence, WarpBarriersMeetWhereverTheyStand) {
  underEveryPolicy([](Options options) {
    Kernel kernel;
    kernel.options = options;
    kernel.declarations = ".shared .align 4 .b8 s[128];\n";
    kernel.body =
        "mov.u32 %r4, s; shl.b32 %r5, %r1, 2; add.u32 %r4, %r4, %r5;\n"
        "xor.b32 %r5, %r5, 64; mov.u32 %r6, s; add.u32 %r5, %r5, %r6;\n"
        "setp.lt.u32 %p1, %r1, 16; @%p1 bra A;\n"
        "st.shared.u32 [%r4], 7; bar.warp.sync -1;\n"
        "ld.shared.u32 %r7, [%r5]; bra END;\n"
        "A: st.shared.u32 [%r4], 8; bar.warp.sync -1;\n"
        "ld.shared.u32 %r7, [%r5];\n"
        "END: st.global.u32 [%rd1], %r7;";
    expectClean(kernel.run());
    for (uint32_t i = 0; i < 32; ++i)
      EXPECT_EQ(kernel.out[i], i < 16 ? 7u : 8u) << i;
  });
  // Another mask is another barrier.
  Kernel kernel;
  kernel.body = "setp.lt.u32 %p1, %r1, 16; @%p1 bra A;\n"
                "bar.warp.sync -1; bra END;\n"
                "A: bar.warp.sync 0xffff;\nEND: bar.sync 0;";
  EXPECT_TRUE(hasFinding(kernel.run(), "member-mask"));
}

/// Since sm_70 each lane goes on by itself: the one that holds the lock does
/// not wait after the loop for those that want it.
TEST(Convergence, ALockGoesRoundInAWarp) {
  underEveryPolicy([](Options options) {
    Kernel kernel;
    kernel.options = options;
    kernel.block = {3, 1, 1};
    kernel.body = "SPIN: atom.acquire.gpu.global.cas.b32 %r4, [%rd0], 0, 1;\n"
                  "setp.ne.u32 %p1, %r4, 0; @%p1 bra SPIN;\n"
                  "ld.global.u32 %r5, [%rd0+4]; add.u32 %r5, %r5, 1;\n"
                  "st.global.u32 [%rd0+4], %r5;\n"
                  "st.release.gpu.global.u32 [%rd0], 0; bar.sync 0;";
    expectClean(kernel.run());
    EXPECT_EQ(kernel.out[1], 3u);
  });
}

TEST(Convergence, ElectOneLane) {
  Kernel kernel;
  kernel.block = {64, 1, 1};
  kernel.body =
      "elect.sync _|%p1, -1;\n@%p1 atom.global.add.u32 %r4, [%rd0], 1;";
  expectClean(kernel.run());
  EXPECT_EQ(kernel.out[0], 2u);
}

TEST(Barriers, ClusterBarrierMisuse) {
  Kernel kernel;
  kernel.body = "barrier.cluster.wait;";
  EXPECT_TRUE(hasFinding(kernel.run(), "cluster-barrier-misuse"));
  kernel.grid = {2, 1, 1};
  kernel.cluster = Dim3{2, 1, 1};
  kernel.body = "setp.eq.u32 %p1, %r2, 0; @%p1 bra E;\n"
                "barrier.cluster.arrive; barrier.cluster.arrive;\n"
                "barrier.cluster.wait;\nE:";
  EXPECT_TRUE(hasFinding(kernel.run(), "cluster-barrier-misuse"));
}

TEST(Launch, RefusesWhatCannotRun) {
  auto refused = [](auto change) {
    Kernel kernel;
    kernel.body = "ret;";
    change(kernel);
    try {
      kernel.run();
      return false;
    } catch (const Error &error) {
      return error.kind == Error::Kind::Launch;
    }
  };
  EXPECT_TRUE(refused([](Kernel &k) { k.grid.x = 0; }));
  EXPECT_TRUE(refused([](Kernel &k) { k.block.x = 1025; }));
  EXPECT_TRUE(refused([](Kernel &k) { k.dynamicShared = 232449; }));
  EXPECT_TRUE(refused([](Kernel &k) { k.head = ".reqntid 64\n"; }));
  EXPECT_TRUE(refused([](Kernel &k) { k.cluster = Dim3{2, 1, 1}; }));
  EXPECT_FALSE(refused([](Kernel &k) { k.dynamicShared = 232448; }));
  EXPECT_TRUE(refused([](Kernel &k) { k.grid.y = 65536; }));
  EXPECT_TRUE(refused([](Kernel &k) { k.grid = {~0u, ~0u, ~0u}; }));
  // Sums of declarations, each of which is small enough.
  auto declare = [](const std::string &space, unsigned count) {
    std::string text;
    for (unsigned i = 0; i < count; ++i)
      text += space + " .b8 v" + std::to_string(i) + "[262144];\n";
    return text;
  };
  EXPECT_TRUE(
      refused([&](Kernel &k) { k.declarations = declare(".shared", 20000); }));
  EXPECT_TRUE(
      refused([&](Kernel &k) { k.declarations = declare(".local", 20000); }));
  EXPECT_FALSE(
      refused([&](Kernel &k) { k.declarations = declare(".local", 2); }));
}
