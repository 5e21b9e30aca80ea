//===- SassRecordingTest.cpp - Recordings in SASS -------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kernel.h"
#include "SassText.h"

#include "fmha/PTX/Time/SassRecording.h"

#include <gmock/gmock.h>

using namespace ptxsim;
using namespace ptxsim::timing;
using namespace ptxsim::timing::test;
using testing::HasSubstr;

namespace {

/// Returns how often the first warp executes each instruction.
std::vector<unsigned> timesOf(const Recording &recording, size_t count) {
  std::vector<unsigned> times(count);
  for (const Step &step : recording.warps[0].steps)
    ++times[step.code];
  return times;
}

std::vector<unsigned> timesOf(const Kernel &kernel,
                              const std::vector<Sass> &list) {
  return timesOf(inSass(record(kernel), functionOf(list)), list.size());
}

/// Adds 1 in a loop, and 10 in each round whose number is odd.
std::string loopOf(unsigned rounds) {
  return "mov.u32 %r1, 0;\n"           // 0
         "LOOP:\n"                     // 1
         "and.b32 %r2, %r1, 1;\n"      // 2
         "setp.eq.u32 %p1, %r2, 0;\n"  // 3
         "@%p1 bra NEXT;\n"            // 4
         "add.u32 %r3, %r3, 10;\n"     // 5
         "mul.lo.u32 %r3, %r3, %r3;\n" // 6
         "NEXT:\n"                     // 7
         "add.u32 %r1, %r1, 1;\n"      // 8
         "setp.lt.u32 %p2, %r1, " +    // 9
         std::to_string(rounds) +
         ";\n"
         "@%p2 bra LOOP;\n"; // 10
}

TEST(SassRecording, LoopsHaveTheTripsOfThePtx) {
  for (unsigned rounds : {1u, 2u, 7u}) {
    std::vector<Sass> list = {{"MOV R1, RZ", 0},
                              {"LOP3.LUT P1, R2, R1, 0x1", 2},
                              {"@P1 BRA `(.L_1)", 4, {.stall = 5}, 5},
                              {"IADD3 R3, R3, 0xa, RZ", 5},
                              {"IMAD R3, R3, R3, RZ", 6},
                              {"IADD3 R1, R1, 0x1, RZ", 8},
                              {"ISETP.LT.U32 P2, PT, R1, 0x7, PT", 9},
                              {"@P2 BRA `(.L_2)", 10, {.stall = 5}, 1},
                              {"EXIT", 11}};
    unsigned odd = rounds / 2;
    std::vector<unsigned> expected = {1,      rounds, rounds, odd, odd,
                                      rounds, rounds, rounds, 1};
    EXPECT_EQ(timesOf({loopOf(rounds)}, list), expected) << rounds;
  }
}

/// ptxas inverts a branch, places rare code at the end, and begins the loop at
/// another instruction.
TEST(SassRecording, BranchesMayBeTurnedAndBlocksMoved) {
  std::vector<Sass> list = {{"MOV R1, RZ", 0},
                            {"LOP3.LUT P1, R2, R1, 0x1", 2},
                            {"@!P1 BRA `(.L_1)", 4, {.stall = 5}, 7},
                            {"IADD3 R1, R1, 0x1, RZ", 8},
                            {"ISETP.GE.U32 P2, PT, R1, 0x7, PT", 9},
                            {"@!P2 BRA `(.L_2)", 10, {.stall = 5}, 1},
                            {"EXIT", 11},
                            {"IADD3 R3, R3, 0xa, RZ", 5},
                            {"IMAD R3, R3, R3, RZ", 6},
                            {"BRA `(.L_3)", 6, {.stall = 5}, 3}};
  std::vector<unsigned> expected = {1, 7, 7, 7, 7, 7, 1, 3, 3, 3};
  EXPECT_EQ(timesOf({loopOf(7)}, list), expected);
}

/// Two rounds of a loop become one of SASS, or eight become none.
TEST(SassRecording, LoopsMayBeUnrolled) {
  std::string body = "mov.u32 %r1, 0;\n"           // 0
                     "LOOP:\n"                     // 1
                     "mul.lo.u32 %r3, %r3, %r3;\n" // 2
                     "xor.b32 %r3, %r3, %r1;\n"    // 3
                     "add.u32 %r1, %r1, 1;\n"      // 4
                     "setp.lt.u32 %p2, %r1, 8;\n"  // 5
                     "@%p2 bra LOOP;\n";           // 6
  std::vector<Sass> list = {{"MOV R1, RZ", 0}};
  for (int i = 0; i < 2; ++i) {
    list.push_back({"IMAD R3, R3, R3, RZ", 2});
    list.push_back({"LOP3.LUT R3, R3, R1, RZ", 3});
  }
  list.push_back({"IADD3 R1, R1, 0x2, RZ", 4});
  list.push_back({"@P2 BRA `(.L_2)", 6, {.stall = 5}, 1});
  list.push_back({"EXIT", 7});
  std::vector<unsigned> expected = {1, 4, 4, 4, 4, 4, 4, 1};
  EXPECT_EQ(timesOf({body}, list), expected);
  list = {{"MOV R1, RZ", 0}};
  for (int i = 0; i < 8; ++i) {
    list.push_back({"IMAD R3, R3, R3, RZ", 2});
    list.push_back({"LOP3.LUT R3, R3, R1, RZ", 3});
  }
  list.push_back({"EXIT", 7});
  EXPECT_EQ(timesOf({body}, list), std::vector<unsigned>(list.size(), 1));
}

std::string barrierInRound(unsigned round) {
  return "mov.u32 %r1, 0;\n" // 0
         "LOOP:\n"           // 1
         "setp.ne.u32 %p1, %r1, " +
         std::to_string(round) + // 2
         ";\n"
         "@%p1 bra NEXT;\n"           // 3
         "bar.sync 1, 32;\n"          // 4
         "NEXT:\n"                    // 5
         "add.u32 %r1, %r1, 1;\n"     // 6
         "setp.lt.u32 %p2, %r1, 3;\n" // 7
         "@%p2 bra LOOP;\n";          // 8
}

/// A branch around a barrier becomes its guard: the barrier takes part in the
/// round in which the PTX has it.
TEST(SassRecording, GuardsMayBeBranchesOfThePtx) {
  std::vector<Sass> list = {{"MOV R1, RZ", 0},
                            {"ISETP.NE P1, PT, R1, 0x1, PT", 2},
                            {"@!P1 BAR.SYNC 0x1, 0x20", 4},
                            {"IADD3 R1, R1, 0x1, RZ", 6},
                            {"@P2 BRA `(.L_2)", 8, {.stall = 5}, 1},
                            {"EXIT", 9}};
  for (unsigned round : {0u, 1u, 2u}) {
    Recording recording =
        inSass(record({barrierInRound(round)}), functionOf(list));
    const WarpRecord &warp = recording.warps[0];
    ASSERT_FALSE(warp.facts.empty());
    unsigned seen = 0;
    for (uint32_t i = 0; i < warp.facts[0].step; ++i)
      seen += warp.steps[i].code == 2;
    EXPECT_EQ(warp.steps[warp.facts[0].step].code, 2u);
    EXPECT_EQ(seen, round);
  }
}

/// The first attempt of a wait precedes its loop.
TEST(SassRecording, AWaitThatWasPeeledIsOne) {
  std::string body = "mov.u32 %r9, 32;\n"                               // 0
                     "mbarrier.init.shared::cta.b64 [smem], %r9;\n"     // 1
                     "mbarrier.arrive.shared::cta.b64 %q1, [smem];\n" + // 2
                     waitFor(0, "0", "WAIT"); // 3 to 5
  std::vector<Sass> list = {{"SYNCS.EXCH.64 URZ, [UR4], UR6", 1},
                            {"SYNCS.ARRIVE.TRANS64 RZ, [UR4], RZ", 2},
                            {"SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR4], R0", 2},
                            {"@!P0 BRA `(.L_1)", 2, {.stall = 5}, 5},
                            {"EXIT", 6},
                            {"SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR4], R0", 4},
                            {"@!P0 BRA `(.L_1)", 5, {.stall = 5}, 5},
                            {"BRA `(.L_2)", 5, {.stall = 5}, 4}};
  std::vector<unsigned> expected = {1, 1, 1, 1, 1, 0, 0, 0};
  EXPECT_EQ(timesOf({body}, list), expected);
}

/// With a time limit, ptxas copies the address before the loop, and sleeps in
/// it.
TEST(SassRecording, AWaitWithATimeLimitIsOne) {
  std::string body = "mov.u32 %r9, 32;\n"                               // 0
                     "mbarrier.init.shared::cta.b64 [smem], %r9;\n"     // 1
                     "mbarrier.arrive.shared::cta.b64 %q1, [smem];\n" + // 2
                     waitFor(0, "0", "WAIT"); // 3 to 5
  std::vector<Sass> list = {{"SYNCS.EXCH.64 URZ, [UR4], UR6", 1},
                            {"SYNCS.ARRIVE.TRANS64 RZ, [UR4], RZ", 2},
                            {"SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR4], R0", 4},
                            {"@!P0 BRA `(.L_1)", 5, {.stall = 5}, 5},
                            {"EXIT", 6},
                            {"MOV R7, UR4", 4},
                            {"SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [R7], R0", 4},
                            {"@!P0 NANOSLEEP.SYNCS 0x989680", 4},
                            {"@!P0 SYNCS.PHASECHK.TRANS64 P0, [R7], R0", 4},
                            {"@!P0 BRA `(.L_2)", 5, {.stall = 5}, 6},
                            {"BRA `(.L_3)", 5, {.stall = 5}, 4}};
  std::vector<unsigned> expected = {1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(timesOf({body}, list), expected);
}

/// ptxas makes a jump through a table of branches on one register.
TEST(SassRecording, ATableOfBranchesGoesOnWhereThePtxDid) {
  std::string body = "mov.u32 %r1, 2;\n"           // 0
                     "setp.eq.u32 %p1, %r1, 1;\n"  // 1
                     "@%p1 bra ONE;\n"             // 2
                     "setp.eq.u32 %p2, %r1, 2;\n"  // 3
                     "@%p2 bra TWO;\n"             // 4
                     "bar.sync 1, 32;\n"           // 5
                     "ONE:\n"                      // 6
                     "mul.lo.u32 %r3, %r3, %r3;\n" // 7
                     "bra END;\n"                  // 8
                     "TWO:\n"                      // 9
                     "bar.sync 2, 32;\n"           // 10
                     "END:\n";                     // 11
  std::vector<Sass> list = {
      {"MOV R1, 0x2", 0},
      {"BRX R4", 4, {.stall = 5}, sass::kNoTarget, {2, 3}},
      {"IMAD R3, R3, R3, RZ", 7},
      {"BAR.SYNC 0x2, 0x20", 10},
      {"EXIT", 12}};
  EXPECT_EQ(timesOf({body}, list), (std::vector<unsigned>{1, 1, 0, 1, 1}));
}

/// The handshake of two CTAs that allocate tensor memory is none of the PTX.
TEST(SassRecording, AllocationsMayArrive) {
  std::string body = "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 "
                     "[smem], 32;\n"                                  // 0
                     "ld.shared.b32 %r1, [smem];\n"                   // 1
                     "tcgen05.dealloc.cta_group::1.sync.aligned.b32 " // 2
                     "%r1, 32;\n"
                     "bar.sync 0;\n"; // 3
  std::vector<Sass> list = {{"SYNCS.ARRIVE.TRANS64.RED RZ, [UR4], RZ", 0},
                            {"UTCATOMSWS.FIND_AND_SET UP0, UR4, UR4", 0},
                            {"LDS R1, [UR4]", 1},
                            {"BAR.SYNC 0x0", 3},
                            {"EXIT", 4}};
  EXPECT_EQ(timesOf({body}, list), (std::vector<unsigned>{1, 1, 1, 1, 1}));
}

/// Returns the error for SASS that does not match the PTX.
std::string errorOf(const std::string &body, const std::vector<Sass> &list) {
  try {
    inSass(record({body}), functionOf(list));
  } catch (const Error &error) {
    return error.what();
  }
  return "nothing";
}

TEST(SassRecording, SaysWhatDoesNotFollow) {
  EXPECT_THAT(errorOf("bar.sync 0;", {{"EXIT", 1}}),
              HasSubstr("PTX has 1 of 'Barrier' and SASS has 0"));
  EXPECT_THAT(errorOf("", {{"BAR.SYNC 0x0", 0}, {"EXIT", 0}}),
              HasSubstr("PTX has 0 of 'Barrier' and SASS has 1"));
  EXPECT_THAT(errorOf("", {{"BRA `(.L_1)", 0, {.stall = 1}, 0}}),
              HasSubstr("no path of its branches reaches an exit"));
  EXPECT_THAT(errorOf("", {}),
              HasSubstr("no path of its branches reaches an exit"));
}

// --- in time ---

double clocksOf(const std::vector<Sass> &list, unsigned threads = 32,
                const char *target = "sm_100a") {
  Recording recording =
      inSass(record({"mov.u32 %r1, 0;", threads}), functionOf(list));
  return schedule(recording, *figuresOf(target, Level::Middle)).clocks;
}

TEST(SassReplay, StallCountsSpaceInstructions) {
  std::vector<Sass> list;
  for (int i = 0; i < 10; ++i)
    list.push_back({"FFMA R1, R1, R1, R1", 0, {.stall = 7}});
  list.push_back({"EXIT", 1});
  EXPECT_EQ(clocksOf(list), 10 * 7);
}

TEST(SassReplay, NothingPassesAWaitForAScoreboard) {
  // The FADD does not need the exponential, but follows an instruction that
  // does.
  std::vector<Sass> list = {
      {"MUFU.EX2 R1, R2", 0, {.stall = 1, .writeBarrier = 3}},
      {"FADD R3, R1, R1", 0, {.stall = 1, .waits = 1 << 3}},
      {"FADD R4, R5, R5", 0},
      {"EXIT", 1}};
  double ready =
      figure(Figure::MufuLatency) + figure(Figure::ScoreboardLatency);
  EXPECT_EQ(clocksOf(list), ready + 1 + figure(Figure::FmaLatency));
  list[1].control.waits = 1 << 2;
  EXPECT_EQ(clocksOf(list), figure(Figure::MufuLatency));
}

/// Each of two banks of registers is read once a clock, within three clocks of
/// the issue.
TEST(SassReplay, InstructionsShareTheBanksOfRegisters) {
  auto clocksWith = [](const std::string &text) {
    std::vector<Sass> list(10, {text, 0});
    list.push_back({"EXIT", 1});
    return clocksOf(list) - figure(Figure::FmaLatency);
  };
  EXPECT_EQ(clocksWith("FFMA R1, R1, R2, R1"), 9);
  // The first reads in clocks 0 and 1, the second in 2 and 3, from issue 1 on.
  EXPECT_EQ(clocksWith("FFMA R1, R2, R4, R5"), 1 + 8 * 2);
  EXPECT_EQ(clocksWith("FFMA R1, R2, R4, R6"), 9 * 3);
  // Of pairs, the interval has the reads.
  EXPECT_EQ(clocksWith("FFMA2 R2, R4, R6, R8"),
            9 * figure(Figure::Fma2Interval));
}

TEST(SassReplay, OthersIssueWhileABankIsRead) {
  std::vector<Sass> list;
  for (int i = 0; i < 10; ++i) {
    list.push_back({"FFMA R1, R2, R4, R6", 0});
    list.push_back({"FADD R3, R1, R1", 0});
    list.push_back({"FADD R5, R1, R1", 0});
  }
  list.push_back({"EXIT", 1});
  EXPECT_EQ(clocksOf(list), 29 + figure(Figure::FmaLatency));
  // Without a window, they wait for its three reads.
  EXPECT_EQ(clocksOf(list, 32, "sm_90a"), 49 + figure(Figure::FmaLatency));
}

TEST(SassReplay, WarpsShareThePipesOfTheirSubPartition) {
  std::vector<Sass> list;
  for (int i = 0; i < 10; ++i)
    list.push_back({"MUFU.EX2 R1, R2", 0});
  list.push_back({"EXIT", 1});
  double interval = figure(Figure::MufuInterval);
  double one = 9 * interval + figure(Figure::MufuLatency);
  EXPECT_EQ(clocksOf(list), one);
  EXPECT_EQ(clocksOf(list, 128), one);
  EXPECT_EQ(clocksOf(list, 256), one + 10 * interval);
}

/// Three warps that compete for a pipe end together if they take turns; if the
/// youngest is first, the oldest waits for the others.
TEST(SassReplay, WarpsTakeTurnsOrTheYoungestIsFirst) {
  std::vector<Sass> list(10, {"MUFU.EX2 R1, R2", 0, {.stall = 9}});
  list.push_back({"EXIT", 1});
  Recording recording =
      inSass(record({"mov.u32 %r1, 0;", 384}), functionOf(list));
  auto lead = [&](const char *target, Level level) {
    Schedule launch = schedule(recording, *figuresOf(target, level));
    return launch.steps[0][9].issue - launch.steps[8][9].issue;
  };
  double interval = figure(Figure::MufuInterval);
  for (const char *target : {"sm_90a", "sm_100a"}) {
    EXPECT_LE(std::abs(lead(target, Level::Middle)), 4 * interval) << target;
    EXPECT_GE(lead(target, Level::High), 9 * interval) << target;
  }
}

} // namespace
