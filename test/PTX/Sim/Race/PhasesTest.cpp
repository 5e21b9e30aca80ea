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

TEST(Phases, AWarpThatCompletesTwoInParallelIsAfterBoth) {
  expectFinding("", {setUp(16, 1) +
                     warpText(1, wait(full, 1) + once(arrive(freed))) +
                     warpText(0, wait(freed, 0) + arrive(full))});
}

// --- flags in memory ---

/// How a thread sets a flag, adds to it, and polls it: all of it relaxed.
struct Flag {
  std::string set, add, read;
};

const std::vector<Flag> flags = {
    {"st.relaxed.cta.shared.u32 [%r3], 1;\n",
     "red.relaxed.cta.shared.add.u32 [%r3], 1;\n",
     "ld.relaxed.cta.shared.u32 %r9, [%r3];\n"},
    {"st.volatile.shared.u32 [%r3], 1;\n",
     "atom.shared.add.u32 %r10, [%r3], 1;\n",
     "ld.volatile.shared.u32 %r9, [%r3];\n"},
    {"atom.shared.exch.b32 %r10, [%r3], 1;\n",
     "atom.shared.inc.u32 %r10, [%r3], 100;\n",
     "atom.shared.add.u32 %r9, [%r3], 0;\n"},
    {"st.relaxed.gpu.global.u32 [%q0], 1;\n",
     "red.relaxed.gpu.global.add.u32 [%q0], 1;\n",
     "ld.relaxed.gpu.global.u32 %r9, [%q0];\n"},
    {"atom.global.exch.b32 %r10, [%q0], 1;\n",
     "atom.global.add.u32 %r10, [%q0], 1;\n",
     "ld.volatile.global.u32 %r9, [%q0];\n"},
};

/// Polls until the flag is `value`.
std::string poll(const std::string &read, unsigned value = 1) {
  static unsigned count = 0;
  std::string label = "POLL" + std::to_string(count++);
  return label + ":\n" + read + "setp.ne.u32 %p30, %r9, " +
         std::to_string(value) + ";\n@%p30 bra " + label + ";\n";
}

std::string clearFlag() {
  return "@%p0 bra CLEAR;\nst.shared.u32 [%r3], 0;\nCLEAR:\n";
}

TEST(Phases, ARelaxedFlagOrdersThem) {
  for (const Flag &flag : flags) {
    SCOPED_TRACE(flag.set);
    auto body = [&](const std::string &before, const std::string &after) {
      return clearFlag() + setUp(1, 1) +
             warpText(0, arrive(full) + poll(flag.read) + arrive(full), true) +
             warpText(1, before + wait(full, 0) + after + wait(full, 1), true);
    };
    expectFinding("", {body("", flag.set)});
    expectOvertaken({body(flag.set, "")});
    // Behind another wait and before this one.
    expectOvertaken({body(wait(freed, 1) + flag.set, "")});
  }
}

/// PTX ISA 8.2.4: an access of a vector is one of each element.
TEST(Phases, AFlagMayBeAnElementOfAVector) {
  const Flag vectors[] = {
      {"st.relaxed.gpu.global.v2.u32 [%q0], {1, 1};\n", "",
       "ld.relaxed.gpu.global.u32 %r9, [%q0+4];\n"},
      {"st.relaxed.gpu.global.u32 [%q0+12], 1;\n", "",
       "ld.relaxed.gpu.global.v4.u32 {%r10, %r11, %r12, %r9}, [%q0];\n"},
      {"st.volatile.global.v4.u32 [%q0], {1, 1, 1, 1};\n", "",
       "ld.volatile.global.v2.u32 {%r10, %r9}, [%q0+8];\n"},
  };
  for (const Flag &flag : vectors) {
    SCOPED_TRACE(flag.set);
    auto body = [&](const std::string &before, const std::string &after) {
      return setUp(1, 1) +
             warpText(0, arrive(full) + poll(flag.read) + arrive(full), true) +
             warpText(1, before + wait(full, 0) + after + wait(full, 1), true);
    };
    expectFinding("", {body("", flag.set)});
    expectOvertaken({body(flag.set, "")});
  }
}

TEST(Phases, AFlagThatAllLanesSetOrdersThem) {
  for (const Flag &flag : flags)
    expectFinding(
        "",
        {clearFlag() + setUp(1, 1) +
         warpText(0, arrive(full) + poll(flag.read, 32) + arrive(full), true) +
         warpText(1, wait(full, 0) + flag.add + wait(full, 1))});
}

/// The value that is read says who has come: of two that store the same one
/// the last, of a counter as many as it counts.
TEST(Phases, AFlagOrdersThoseWhoseValueIsRead) {
  for (const Flag &flag : flags) {
    SCOPED_TRACE(flag.add);
    auto body = [&](unsigned wanted, const std::string &sets) {
      std::string waits = wait(full, 0) + once(sets) + wait(full, 1);
      return clearFlag() + setUp(1, 1) +
             warpText(0, arrive(full) + poll(flag.read, wanted) + arrive(full),
                      true) +
             warpText(1, waits) +
             warpText(2, wait(full, 0) + once(sets) + wait(full, 1));
    };
    expectFinding("", {body(2, flag.add), 96});
    if (flag.set.starts_with("st."))
      expectOvertaken({body(1, flag.set), 96});
  }
}

/// One lane waits and another one sets the flag.
TEST(Phases, AFlagSaysWhereItsLaneIs) {
  auto body = [&](const std::string &between) {
    std::string lanes = "setp.eq.u32 %p4, %r4, 0;\nsetp.eq.u32 %p3, %r4, 9;\n";
    auto waits = [&](unsigned parity) {
      static unsigned count = 0;
      std::string skip = "ASIDE" + std::to_string(count++);
      return "@!%p4 bra " + skip + ";\n" + wait(full, parity) + skip + ":\n";
    };
    return clearFlag() + setUp(1, 1) +
           warpText(0, arrive(full) + poll(flags[0].read) + arrive(full),
                    true) +
           warpText(1, lanes + waits(0) + between + "@%p3 " + flags[0].set +
                           waits(1));
  };
  expectFinding("", {body("shfl.sync.idx.b32 %r5, %r4, 0, 31, -1;\n")});
  expectOvertaken({body("")});
}

/// A red learns nothing of those who came before it.
TEST(Phases, ACounterOrdersWhoReadsIt) {
  auto body = [&](const std::string &count) {
    return clearFlag() + setUp(1, 1) +
           warpText(0,
                    arrive(full) + wait(freed, 0) + count + arrive(full) +
                        flags[0].read,
                    true) +
           warpText(1, wait(full, 0) + once(arrive(freed)) + wait(full, 1)) +
           warpText(2, wait(full, 0) + once(count) + wait(full, 1));
  };
  expectOvertaken({body("red.relaxed.cta.shared.add.u32 [%r3], 1;\n"), 96});
}

TEST(Phases, AFlagIsHandedOn) {
  for (const Flag &flag : flags)
    expectFinding(
        "",
        {clearFlag() + setUp(1, 1) +
             warpText(0,
                      arrive(full) + wait(freed, 0, ".relaxed.cta") +
                          arrive(full),
                      true) +
             warpText(1, wait(full, 0) + once(flag.set) + wait(full, 1)) +
             warpText(2, poll(flag.read) + arrive(freed, ".relaxed.cta"), true),
         96});
}

/// What the flag says comes before is no matter of memory: other accesses race.
TEST(Phases, ARelaxedFlagOrdersNoAccess) {
  for (const Flag &flag : flags) {
    SCOPED_TRACE(flag.set);
    auto body = [&](const std::string &release, const std::string &acquire) {
      return clearFlag() + setUp(1, 1) +
             warpText(0,
                      arrive(full) + poll(flag.read) + acquire +
                          "ld.global.u32 %r11, [%q0+64];\n" + arrive(full),
                      true) +
             warpText(1,
                      wait(full, 0) + "st.global.u32 [%q0+64], 1;\n" + release +
                          flag.set + wait(full, 1),
                      true);
    };
    std::string fence = "fence.acq_rel.gpu;\n";
    expectTwins("race-global", {body("", "")}, body(fence, fence));
    expectFinding("race-global", {body(fence, "")});
    expectFinding("race-global", {body("", fence)});
  }
}

/// The waiting CTA sets a flag in the other one, or in global memory; that one
/// completes the next phase from there.
TEST(Phases, AFlagOrdersThemAcrossACluster) {
  const std::string meet = "barrier.cluster.arrive;\nbarrier.cluster.wait;\n";
  auto body = [&](const std::string &set, const std::string &read,
                  bool isEarly) {
    std::string waits = wait(full, 0);
    std::string remote = "mbarrier.arrive.release.cluster.shared::cluster.b64 "
                         "_, [%r12];\n";
    return clearFlag() + setUp(1, 1) +
           "mapa.shared::cluster.u32 %r12, %r2, 0;\n"
           "mapa.shared::cluster.u32 %r13, %r3, 1;\n"
           "setp.ne.u32 %p5, %r7, 0;\n" +
           meet + "@%p5 bra SECOND;\n" +
           warpText(0, (isEarly ? set + waits : waits + set) + wait(full, 1),
                    true) +
           "bra MEET;\nSECOND:\n" +
           warpText(0, remote + poll(read) + remote, true) + "MEET:\n" + meet;
  };
  const std::pair<const char *, const char *> cases[] = {
      {"st.relaxed.cluster.shared::cluster.u32 [%r13], 1;\n",
       "ld.relaxed.cluster.shared::cta.u32 %r9, [%r3];\n"},
      {"red.relaxed.cluster.shared::cluster.add.u32 [%r13], 1;\n",
       "ld.volatile.shared.u32 %r9, [%r3];\n"},
      {"st.relaxed.cluster.global.u32 [%q0], 1;\n",
       "ld.relaxed.cluster.global.u32 %r9, [%q0];\n"}};
  for (auto [set, read] : cases) {
    SCOPED_TRACE(set);
    expectFinding("", {body(set, read, false), 32, 2, 2});
    expectOvertaken({body(set, read, true), 32, 2, 2});
  }
}

} // namespace
