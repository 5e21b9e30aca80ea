//===- DeadlockTest.cpp - The wait-for graph ------------------------------===//
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

namespace {

/// Two barriers of one arrival each; warp 0 waits for `empty`, warp 1 for
/// `full`, and each would arrive at the other's after its wait.
Kernel circle() {
  Kernel kernel;
  kernel.block = {64, 1, 1};
  kernel.declarations = ".shared .align 8 .b64 full;\n"
                        ".shared .align 8 .b64 empty[2];\n";
  kernel.body =
      "setp.ne.u32 %p1, %r1, 0; mov.u32 %r4, full;\n"
      "mov.u32 %r5, empty; @%p1 bra READY;\n"
      "mbarrier.init.shared::cta.b64 [%r4], 1;\n"
      "mbarrier.init.shared::cta.b64 [empty+8], 3;\n"
      "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r4], 64;\n"
      "READY: bar.sync 0; setp.ge.u32 %p1, %r1, 32; @%p1 bra SECOND;\n"
      "A: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r5+8], 0;\n"
      "@!%p2 bra A; mbarrier.arrive.shared::cta.b64 _, [full];\n"
      "ret;\n"
      "SECOND: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r4], 0;\n"
      "@!%p2 bra SECOND; mbarrier.arrive.shared::cta.b64 _, [empty+8];";
  return kernel;
}

const WaitObject *find(const DeadlockReport &report, const std::string &name) {
  for (const WaitObject &object : report.objects)
    if (object.name == name)
      return &object;
  return nullptr;
}

} // namespace

TEST(Deadlock, ACollectiveWhoseLanesAreHeldUpIsInnocent) {
  // Lane 0 waits for a phase that no thread completes, and would come to the
  // instruction that the others stand at.
  for (const char *collective :
       {"bar.warp.sync 0xffffffff;", "shfl.sync.idx.b32 %r6, %r1, 0, 31, -1;",
        "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"}) {
    SCOPED_TRACE(collective);
    underEveryPolicy([&](Options options) {
      Kernel kernel;
      kernel.declarations = ".shared .align 8 .b64 full;\n";
      kernel.body =
          std::string("setp.ne.u32 %p1, %r1, 0; mov.u32 %r4, full;\n"
                      "@%p1 bra MEET;\n"
                      "mbarrier.init.shared::cta.b64 [%r4], 1;\n"
                      "A: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r4], "
                      "0;\n@!%p2 bra A;\nMEET: ") +
          collective;
      kernel.options = options;
      LaunchResult result = kernel.run();
      EXPECT_EQ(result.status, Status::Deadlock) << describe(result);
      ASSERT_EQ(result.findings.size(), 1u) << describe(result);
      EXPECT_EQ(result.findings[0].id, "deadlock");
      ASSERT_TRUE(result.deadlock.has_value());
      EXPECT_EQ(result.deadlock->paths.size(), 2u);
      EXPECT_NE(find(*result.deadlock, "full"), nullptr);
    });
  }
}

TEST(Deadlock, ACollectiveThatItsLanesNeverReachIsAtFault) {
  // Lane 0 waits on a way that leads past the shfl of the others: its mask is
  // wrong, whatever becomes of the wait.
  underEveryPolicy([&](Options options) {
    Kernel kernel;
    kernel.declarations = ".shared .align 8 .b64 full;\n";
    kernel.body = "setp.ne.u32 %p1, %r1, 0; mov.u32 %r4, full;\n"
                  "@%p1 bra MEET;\nmbarrier.init.shared::cta.b64 [%r4], 1;\n"
                  "A: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r4], 0;\n"
                  "@!%p2 bra A;\nret;\n"
                  "MEET: shfl.sync.idx.b32 %r6, %r1, 1, 31, -1;";
    kernel.options = options;
    LaunchResult result = kernel.run();
    EXPECT_TRUE(hasFinding(result, "member-mask")) << describe(result);
  });
}

TEST(Deadlock, GraphNamesBarriersAndWhoCouldArrive) {
  underEveryPolicy([](Options options) {
    Kernel kernel = circle();
    kernel.options = options;
    LaunchResult result = kernel.run();
    ASSERT_EQ(result.status, Status::Deadlock) << describe(result);
    EXPECT_LT(result.warpInstructions, 10000u);
    ASSERT_TRUE(result.deadlock.has_value());
    const DeadlockReport &graph = *result.deadlock;
    ASSERT_EQ(graph.objects.size(), 2u);
    const WaitObject *full = find(graph, "full"),
                     *empty = find(graph, "empty+8");
    ASSERT_TRUE(full && empty);
    EXPECT_EQ(full->kind, "mbarrier");
    EXPECT_EQ(full->address, 1024u);
    EXPECT_EQ(full->parityWanted, 0u);
    EXPECT_EQ(full->phase, 0u);
    EXPECT_EQ(full->pendingArrivals, 1);
    EXPECT_EQ(full->pendingBytes, 64);
    EXPECT_EQ(empty->pendingArrivals, 3);
    EXPECT_EQ(empty->pendingBytes, 0);
    // The addresses of the arrivals are constants: each has one warp only.
    unsigned line = kernel.firstLine();
    ASSERT_EQ(full->couldComplete.size(), 1u);
    EXPECT_EQ(full->couldComplete[0],
              "cta 0,0,0 warp 0: mbarrier.arrive.shared::cta.b64 at line " +
                  std::to_string(line + 7) + " (blocked at line " +
                  std::to_string(line + 6) + ")");
    ASSERT_EQ(empty->couldComplete.size(), 1u);
    EXPECT_EQ(empty->couldComplete[0].substr(0, 16), "cta 0,0,0 warp 1");
    ASSERT_EQ(full->events.size(), 2u);
    EXPECT_EQ(full->events[0], "init 1 by warp 0 lane 0 (line " +
                                   std::to_string(line + 2) + ")");
    EXPECT_EQ(full->events[1].substr(0, 12), "expect_tx 64");
    ASSERT_EQ(graph.paths.size(), 2u);
    EXPECT_EQ(graph.paths[0].ptxLine, line + 6);
    EXPECT_EQ(&graph.objects[size_t(graph.paths[0].object)], empty);
    EXPECT_EQ(graph.paths[0].lanes, 0xFFFFFFFFu);
  });
}

TEST(Deadlock, NobodyCouldArriveAndTheExitedWarpIsNamed) {
  Kernel kernel;
  kernel.block = {96, 1, 1};
  kernel.body = "setp.lt.u32 %p1, %r1, 32; @%p1 ret;\nbar.sync 4, 96;\n";
  LaunchResult result = kernel.run();
  ASSERT_EQ(result.status, Status::Deadlock) << describe(result);
  const DeadlockReport &graph = *result.deadlock;
  ASSERT_EQ(graph.objects.size(), 1u);
  EXPECT_EQ(graph.objects[0].name, "barrier 4");
  EXPECT_EQ(graph.objects[0].pendingArrivals, 32);
  EXPECT_EQ(graph.objects[0].couldComplete, std::vector<std::string>());
  EXPECT_EQ(graph.exitedWarps, std::vector<std::string>{"cta 0,0,0 warp 0"});
  EXPECT_TRUE(graph.inFlight.empty());
}

TEST(Deadlock, LivelockUnderEveryPolicy) {
  underEveryPolicy([](Options options) {
    Kernel kernel;
    kernel.options = options;
    kernel.options.maxSteps = 100000000;
    kernel.block = {64, 1, 1};
    kernel.declarations = ".shared .align 8 .b64 full;\n";
    // The wait's outcome is not looked at, so that a poll of memory spins
    // beside waits that end without cause.
    kernel.body = "setp.ne.u32 %p1, %r1, 0; mov.u32 %r4, full;\n"
                  "@!%p1 mbarrier.init.shared::cta.b64 [%r4], 1; bar.sync 0;\n"
                  "SPIN: ld.volatile.global.u32 %r5, [%rd0];\n"
                  "mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r4], 0;\n"
                  "setp.eq.u32 %p1, %r5, 0; @%p1 bra SPIN;";
    LaunchResult result = kernel.run();
    EXPECT_EQ(result.status, Status::Deadlock) << describe(result);
    ASSERT_TRUE(result.deadlock.has_value());
    EXPECT_EQ(result.deadlock->paths.size(), 2u);
  });
}
