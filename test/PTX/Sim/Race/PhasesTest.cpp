//===- PhasesTest.cpp - Phases that overtake those who wait ---------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RaceKernel.h"

using namespace ptxsim;
using namespace ptxsim::test;

namespace {

const std::string full = "[%r2]", freed = "[%r2+8]";

/// Two barriers, with their counts, that all threads may use.
std::string setUp(unsigned fullCount, unsigned freeCount) {
  return "@%p0 bra READY;\nmbarrier.init.shared::cta.b64 [%r2], " +
         std::to_string(fullCount) +
         ";\nmbarrier.init.shared::cta.b64 [%r2+8], " +
         std::to_string(freeCount) + ";\nREADY:\nbar.sync 0;\n";
}

std::string arrive(const std::string &barrier, const std::string &order = "") {
  return "mbarrier.arrive" + order + ".shared::cta.b64 _, " + barrier + ";\n";
}

std::string wait(const std::string &barrier, unsigned parity,
                 const std::string &order = "") {
  static unsigned count = 0;
  std::string label = "WAIT" + std::to_string(count++);
  return label + ":\nmbarrier.try_wait.parity" + order +
         ".shared::cta.b64 %p31, " + barrier + ", " + std::to_string(parity) +
         ";\n@!%p31 bra " + label + ";\n";
}

/// Arrives once for the warp.
std::string once(const std::string &text) { return "@!%p1 " + text; }

/// A waiter may be overtaken: where it is, that is a deadlock, and where it
/// happens to be in time the finding says that it might not have been.
void expectOvertaken(const RaceKernel &kernel) {
  unsigned warned = 0;
  forSchedules([&](Policy policy, uint64_t seed) {
    LaunchResult result = runRace(kernel, policy, seed);
    bool warns = idsOf(result).count("mbarrier-phase-overrun");
    EXPECT_TRUE(warns || result.status == Status::Deadlock) << textOf(result);
    warned += warns;
  });
  EXPECT_GT(warned, 0u);
}

/// Warp 0 fills twice; warps 1 and 2 see both. Warp 0 waits for `freeCount`
/// arrivals in between.
std::string twoReaders(unsigned freeCount, const std::string &secondFrees,
                       const std::string &release = "",
                       const std::string &acquire = "") {
  std::string frees = once(arrive(freed, release));
  return setUp(1, freeCount) +
         warpText(0,
                  arrive(full, release) + wait(freed, 0, acquire) +
                      arrive(full, release),
                  true) +
         warpText(1, wait(full, 0, acquire) + frees + wait(full, 1, acquire)) +
         warpText(2, wait(full, 0, acquire) + secondFrees +
                         wait(full, 1, acquire));
}

TEST(Phases, EachWaiterHasAPartInTheNextPhase) {
  expectOvertaken({twoReaders(1, ""), 96});
  expectFinding("", {twoReaders(2, once(arrive(freed))), 96});
}

TEST(Phases, ARelaxedHandOffOrdersWhatComesInTime) {
  std::string relaxed = ".relaxed.cta";
  expectFinding(
      "", {twoReaders(2, once(arrive(freed, relaxed)), relaxed, relaxed), 96});
  expectOvertaken({twoReaders(1, "", relaxed, relaxed), 96});
}

TEST(Phases, ANamedBarrierOrdersTheReaders) {
  std::string meet = "bar.sync 1, 64;\n";
  auto body = [&](const std::string &before, const std::string &after) {
    return setUp(1, 1) +
           warpText(0, arrive(full) + wait(freed, 0) + arrive(full), true) +
           warpText(1, wait(full, 0) + before + once(arrive(freed)) + after +
                           wait(full, 1)) +
           warpText(2, wait(full, 0) + meet + wait(full, 1));
  };
  expectFinding("", {body(meet, ""), 96});
  expectOvertaken({body("", meet), 96});
}

/// One lane waits, another one frees: a collective of the warp between them
/// makes the first come before the second, whatever it says of memory.
TEST(Phases, ACollectiveOrdersTheLanesOfAWarp) {
  auto body = [&](const std::string &between) {
    std::string lanes = "setp.eq.u32 %p4, %r4, 0;\nsetp.eq.u32 %p3, %r4, 9;\n";
    auto waits = [&](unsigned parity) {
      static unsigned count = 0;
      std::string skip = "SKIP" + std::to_string(count++);
      return "@!%p4 bra " + skip + ";\n" + wait(full, parity) + skip + ":\n";
    };
    std::string free = "@%p3 " + arrive(freed);
    return setUp(1, 1) +
           warpText(0, arrive(full) + wait(freed, 0) + arrive(full), true) +
           warpText(1, lanes + waits(0) + between + free + waits(1));
  };
  expectFinding("", {body("shfl.sync.idx.b32 %r5, %r4, 0, 31, -1;\n")});
  expectFinding("", {body("vote.sync.ballot.b32 %r5, 1, -1;\n")});
  expectOvertaken({body("")});
}

TEST(Phases, ALookAtAPhaseIsNoWaitForIt) {
  std::string look =
      "mbarrier.test_wait.parity.shared::cta.b64 %p30, " + full + ", 0;\n";
  expectFinding(
      "",
      {setUp(1, 1) +
       warpText(0, arrive(full) + wait(full, 0) + arrive(full) + wait(full, 1),
                true) +
       warpText(1, look, true)});
}

TEST(Phases, BytesThatAWaiterCompletesArePartOfThePhase) {
  std::string filled =
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, " + full + ", 16;\n";
  std::string counts = "mbarrier.complete_tx.relaxed.cluster.shared::cluster"
                       ".b64 " +
                       full + ", 16;\n";
  expectFinding("",
                {setUp(1, 1) + warpText(0, arrive(full) + filled, true) +
                 warpText(1, wait(full, 0) + once(counts) + wait(full, 1))});
}

TEST(Phases, WhatNobodyWaitsForOvertakesNobody) {
  expectFinding("",
                {setUp(1, 1) +
                 warpText(0, arrive(full) + arrive(full) + arrive(full), true) +
                 "bar.sync 0;\n" + wait(full, 0)});
}

TEST(Phases, AFreshBarrierHasAPhaseBeforeTheFirst) {
  auto body = [](const std::string &between) {
    return setUp(1, 1) + warpText(1, wait(full, 1)) + between +
           warpText(0, arrive(full), true) + warpText(1, wait(full, 0));
  };
  expectFinding("", {body("bar.sync 0;\n")});
  // Warp 0 comes first in some schedules: then warp 1 waits for ever.
  expectOvertaken({setUp(1, 1) +
                       warpText(1, wait(full, 1) + once(arrive(freed))) +
                       warpText(2, wait(full, 1)) +
                       warpText(0, wait(freed, 0) + arrive(full), true) +
                       warpText(2, wait(full, 0)),
                   96});
}

TEST(Phases, AWarpThatCompletesTwoAtOnceIsBehindBoth) {
  expectFinding("", {setUp(16, 1) +
                     warpText(1, wait(full, 1) + once(arrive(freed))) +
                     warpText(0, wait(freed, 0) + arrive(full))});
}

} // namespace
