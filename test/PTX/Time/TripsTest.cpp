//===- TripsTest.cpp - Recordings by trip counts --------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kernel.h"
#include "SassText.h"
#include "TripsText.h"

#include <gmock/gmock.h>

using namespace ptxsim;
using namespace ptxsim::timing;
using namespace ptxsim::timing::test;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

// --- the path ---

Recording recorded(const std::vector<Sass> &list, const std::string &members) {
  return recordingOf(readTrips(fileOf(members)), functionOf(list));
}

/// Returns how often warp 0 executes each instruction.
std::vector<unsigned> timesOf(const std::vector<Sass> &list,
                              const std::string &members) {
  Recording recording = recorded(list, members);
  std::vector<unsigned> times(list.size());
  for (const Step &step : recording.warps[0].steps)
    ++times[step.code];
  return times;
}

std::string pathErrorOf(const std::vector<Sass> &list,
                        const std::string &members) {
  try {
    recorded(list, members);
  } catch (const Error &error) {
    return error.what();
  }
  return "none";
}

/// A loop in a loop; each ends with a branch back.
const std::vector<Sass> kNested = {{"MOV R1, RZ"},
                                   {"IADD3 R2, R2, 0x1, RZ"},
                                   {"IADD3 R3, R3, 0x1, RZ"},
                                   {"@P0 BRA `(.L_2)", 0, {.stall = 5}, 2},
                                   {"@!P1 BRA `(.L_1)", 0, {.stall = 5}, 1},
                                   {"EXIT"}};

TEST(TripsPath, LoopsHaveTheGivenTrips) {
  EXPECT_THAT(timesOf(kNested, R"("branches": {"0x30": {"trips": 3},
                                               "0x40": {"trips": 2}})"),
              ElementsAre(1, 2, 6, 6, 2, 1));
  EXPECT_THAT(timesOf(kNested, R"("branches": {"0x30": {"trips": 1},
                                               "0x40": {"trips": 1}})"),
              ElementsAre(1, 1, 1, 1, 1, 1));
}

/// The branch forward leaves the loop, so it is reached once more than the rest
/// of the loop.
TEST(TripsPath, ALoopMayBeLeftAtItsTop) {
  std::vector<Sass> list = {{"IADD3 R2, R2, 0x1, RZ"},
                            {"@P0 BRA `(.L_2)", 0, {.stall = 5}, 4},
                            {"IADD3 R3, R3, 0x1, RZ"},
                            {"BRA `(.L_1)", 0, {.stall = 5}, 0},
                            {"EXIT"}};
  EXPECT_THAT(timesOf(list, R"("branches": {"0x10": {"trips": 4}})"),
              ElementsAre(4, 4, 3, 3, 1));
}

/// The inner loop has two exits. When a warp leaves by the one with arms, the
/// trips of the other start again with the next entry.
TEST(TripsPath, ALoopMayHaveTwoExits) {
  std::vector<Sass> list = {{"MOV R1, RZ"},
                            {"IADD3 R2, R2, 0x1, RZ"},
                            {"IADD3 R3, R3, 0x1, RZ"},
                            {"@P2 BRA `(.L_3)", 0, {.stall = 5}, 5},
                            {"@P0 BRA `(.L_2)", 0, {.stall = 5}, 2},
                            {"@P1 BRA `(.L_1)", 0, {.stall = 5}, 1},
                            {"EXIT"}};
  // The first entry has two whole trips and a part, the second one has three.
  EXPECT_THAT(timesOf(list, R"("branches": {
                "0x30": {"arms": [{"arm": "falls", "times": 2}, "taken",
                                  "falls"]},
                "0x40": {"trips": 3}, "0x50": {"trips": 2}})"),
              ElementsAre(1, 2, 6, 6, 5, 2, 1));
  // Both exits have trips: the nearer one is taken each time.
  EXPECT_THAT(timesOf(list, R"("branches": {
                "0x30": {"trips": 2}, "0x40": {"trips": 5},
                "0x50": {"trips": 4}})"),
              ElementsAre(1, 4, 8, 8, 4, 4, 1));
}

TEST(TripsPath, OtherBranchesHaveArms) {
  std::vector<Sass> list = {{"MOV R1, RZ"},
                            {"@P0 BRA `(.L_2)", 0, {.stall = 5}, 3},
                            {"IADD3 R3, R3, 0x1, RZ"},
                            {"BRA.U !UP1, `(.L_1)", 0, {.stall = 5}, 1},
                            {"@P2 EXIT"},
                            {"IADD3 R4, R4, 0x1, RZ"},
                            {"EXIT"}};
  auto with = [&](const std::string &arms, const std::string &exit) {
    return timesOf(list, R"("branches": {"0x30": {"trips": 5}, "0x10": )" +
                             arms + R"(, "0x40": {"arm": ")" + exit + "\"}}");
  };
  EXPECT_THAT(with(R"({"arm": "falls"})", "taken"),
              ElementsAre(1, 5, 5, 5, 1, 0, 0));
  EXPECT_THAT(with(R"({"arms": ["falls", "taken"]})", "falls"),
              ElementsAre(1, 5, 1, 5, 1, 1, 1));
  EXPECT_THAT(
      with(R"({"arms": [{"arm": "taken", "times": 2}, "falls"]})", "falls"),
      ElementsAre(1, 5, 3, 5, 1, 1, 1));
  EXPECT_THAT(
      with(R"({"arms": [{"arm": "taken", "times": 0}, "falls"]})", "falls"),
      ElementsAre(1, 5, 5, 5, 1, 1, 1));
}

TEST(TripsPath, ATableOfBranchesNeedsAnAddress) {
  std::vector<Sass> list = {
      {"BRX R4", 0, {.stall = 5}, sass::kNoTarget, {1, 2}}, {"EXIT"}, {"EXIT"}};
  EXPECT_THAT(timesOf(list, R"("branches": {"0x0": {"arm": "0x20"}})"),
              ElementsAre(1, 0, 1));
  EXPECT_THAT(pathErrorOf(list, R"("branches": {"0x0": {"arm": "taken"}})"),
              HasSubstr("expected the address of one of its targets for 'BRX "
                        "R4' at 0x0, got taken or falls"));
}

/// BSYNC continues where the last BSSY on its register says.
TEST(TripsPath, JoinsFollowTheirBssy) {
  std::vector<Sass> list = {{"BSSY B0, `(.L_1)", 0, {.stall = 1}, 4},
                            {"BSYNC B0"},
                            {"MOV R1, RZ"},
                            {"EXIT"},
                            {"BSSY B0, `(.L_2)", 0, {.stall = 1}, 2},
                            {"BSYNC B0"}};
  EXPECT_THAT(timesOf(list, ""), ElementsAre(1, 1, 1, 1, 1, 1));
}

/// All warps and CTAs share one limit of 2^25 instructions. A trip has two
/// here, and the first role takes nearly all of them.
TEST(TripsPath, AllWarpsShareOneLimit) {
  std::vector<Sass> list = {{"IADD3 R2, R2, 0x1, RZ"},
                            {"@P0 BRA `(.L_1)", 0, {.stall = 5}, 0},
                            {"EXIT"}};
  auto error = [&](const std::string &warps, unsigned trips) {
    std::string rule = R"("branches": {"0x10": {"trips": )";
    std::string json =
        R"({"ctas_per_sm": 2, "roles": [{"name": "a", "warps": ")" + warps +
        "\", " + rule + std::to_string(trips) + R"(}}},
        {"name": "b", "warps": "8", )" +
        rule + "16}}}]}";
    try {
      recordingOf(readTrips(json), functionOf(list));
    } catch (const Error &error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  EXPECT_THAT(error("0-7", 1 << 20),
              HasSubstr("trips of role 'a': expected a path of at most 2097152 "
                        "instructions for 'EXIT' at 0x20, got more"));
  EXPECT_THAT(error("0-7", (1 << 20) - 1),
              HasSubstr("trips of role 'b': expected a path of at most 8 "
                        "instructions"));
}

TEST(TripsPath, SaysWhichBranchHasNoRule) {
  EXPECT_THAT(pathErrorOf(kNested, R"("branches": {"0x40": {"trips": 1}})"),
              HasSubstr("trips of role 'all': expected trips or an arm for "
                        "'@P0 BRA `(.L_2)' at 0x30, got none"));
  EXPECT_THAT(pathErrorOf(kNested, R"("branches": {"0x30": {"trips": null}})"),
              HasSubstr("at 0x30, got null"));
  EXPECT_THAT(pathErrorOf(kNested, R"("branches": {"0x30": {"trips": 0}})"),
              HasSubstr("expected at least one trip, since it is reached, for "
                        "'@P0 BRA `(.L_2)' at 0x30, got 0"));
  EXPECT_THAT(pathErrorOf(kNested, R"("branches": {"0x31": {"trips": 1}})"),
              HasSubstr("got 0x31: is the file for another build of the "
                        "cubin?"));
  EXPECT_THAT(pathErrorOf(kNested, R"("branches": {"0x30": {"arm": "taken"}})"),
              HasSubstr("a loop does not end, or has too many trips"));
  EXPECT_THAT(pathErrorOf({{"@P0 EXIT"}, {"EXIT"}},
                          R"("branches": {"0x0": {"trips": 2}})"),
              HasSubstr("expected an arm, since it leaves no loop, for '@P0 "
                        "EXIT' at 0x0, got trips"));
  EXPECT_THAT(pathErrorOf({{"@P0 EXIT"}, {"EXIT"}}, ""),
              HasSubstr("expected an arm, taken or falls, for '@P0 EXIT'"));
  EXPECT_THAT(pathErrorOf({{"BSYNC B0"}, {"EXIT"}}, ""),
              HasSubstr("expected a BSSY before it for 'BSYNC B0'"));
  EXPECT_THAT(pathErrorOf({}, ""), HasSubstr("expected instructions"));
}

// --- rules that suit their instructions ---

TEST(TripsRules, AreOfBranchesThatHaveArms) {
  std::vector<Sass> list = {{"MOV R1, RZ"},
                            {"BRA `(.L_1)", 0, {.stall = 5}, 2},
                            {"@P0 EXIT"},
                            {"EXIT"}};
  auto error = [&](const std::string &address) {
    return pathErrorOf(list, R"("branches": {"0x20": {"arm": "falls"}, ")" +
                                 address + R"(": {"arm": "falls"}})");
  };
  EXPECT_EQ(error("0x20"), "none");
  EXPECT_THAT(error("0x0"),
              HasSubstr("trips: expected a branch with a condition or a table "
                        "for each rule of branches, got 'MOV R1, RZ' at 0x0"));
  EXPECT_THAT(error("0x10"), HasSubstr("got 'BRA `(.L_1)' at 0x10"));
  EXPECT_THAT(error("0x30"), HasSubstr("got 'EXIT' at 0x30"));
}

TEST(TripsRules, HaveMembersOfTheirInstructions) {
  struct Case {
    std::string inst, rule, error;
  };
  const Case cases[] = {
      {"MOV R1, RZ", R"("bytes": 64)",
       "trips: expected a member of warps for 'MOV R1, RZ' at 0x0, got bytes"},
      {"LDS.128 R4, [R2]", R"("barrier": "x")",
       "expected a member of amount, reaches, warps for"},
      {"SYNCS.ARRIVE.TRANS64 RZ, [UR4], R3", R"("barrier": "x", "again": true)",
       "expected a member of barrier, phase, warps for"},
      {"SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [R3], R4", R"("threads": 32)",
       "expected a member of barrier, phase, again, warps for"},
      {"@!P0 SYNCS.PHASECHK.TRANS64 P0, [R3], R4", R"("barrier": "x")",
       "expected a member of warps for"},
      {"BAR.SYNC 0x1, 0x20", R"("bytes": 1)",
       "expected a member of barrier, phase, threads, warps for"},
      {"UCGABAR_ARV", R"("threads": 32)", "expected a member of warps for"},
      {"UTMALDG.2D [UR8], [UR16]", R"("shape": {"m": 128, "n": 64})",
       "expected a member of barrier, bytes, partial_rows, extra_lines, "
       "reaches, direction, warps for"},
      {"UTMASTG.2D [UR8], [UR16]", R"("barrier": "x")",
       "expected a member of bytes, partial_rows, direction, warps for"},
      {"UTCCP.T.S.4x32dp128bit tmem[UR4], gdesc[UR6]", R"("barrier": "x")",
       "expected a member of bytes, warps for"},
      {"UTCHMMA gdesc[UR4], gdesc[UR6], tmem[UR8], tmem[UR10], idesc[UR11]",
       R"("bytes": 64)", "expected a member of shape, warps for"},
      {"UTCBAR [UR4], URZ", R"("amount": 1)",
       "expected a member of barrier, phase, warps for"}};
  for (const Case &of : cases)
    EXPECT_THAT(pathErrorOf({{of.inst}, {"EXIT"}},
                            R"("instructions": {"0x0": {)" + of.rule + "}}"),
                HasSubstr(of.error))
        << of.inst;
}

TEST(TripsRules, NameBarriersOfInstructions) {
  auto error = [](const std::string &name) {
    return pathErrorOf(
        {{"SYNCS.ARRIVE.TRANS64 RZ, [UR4], R3"}, {"EXIT"}},
        R"("barriers": {"full": {}}, "instructions": {"0x0": {"barrier": ")" +
            name + "\"}}");
  };
  EXPECT_EQ(error("full"), "none");
  EXPECT_THAT(error("ful"),
              HasSubstr("trips: expected barriers that an instruction has "
                        "(ful), got 'full'"));
}

// --- the facts ---

/// Warp 0 copies two boxes for each of three phases of a ring of two stages,
/// warp 1 waits for them and frees the stages.
const std::vector<Sass> kRing = {
    {"@P0 BRA `(.L_1)", 0, {.stall = 5}, 8},
    {"SYNCS.PHASECHK.TRANS64.TRYWAIT P1, [UR4+0x40], R2"},
    {"@!P1 BRA `(.L_2)", 0, {.stall = 5}, 13},
    {"SYNCS.ARRIVE.TRANS64 RZ, [UR4+0x30], R3"},
    {"UTMALDG.2D [UR8], [UR16]"},
    {"UTMALDG.2D [UR8], [UR16]"},
    {"@!P2 BRA `(.L_3)", 0, {.stall = 5}, 1},
    {"EXIT"},
    {"SYNCS.PHASECHK.TRANS64.TRYWAIT P1, [UR4+0x30], R2"},
    {"@P1 BRA `(.L_4)", 0, {.stall = 5}, 11},
    {"BRA `(.L_5)", 0, {.stall = 5}, 8},
    {"SYNCS.ARRIVE.TRANS64.A1T0 RZ, [UR4+0x40], RZ"},
    {"@!P2 BRA `(.L_5)", 0, {.stall = 5}, 8},
    {"EXIT"}};

std::string ringOf(const std::string &loads, const std::string &free = "2") {
  return R"({"roles": [
      {"name": "load", "warps": "0", "branches": {"0x0": {"arm": "falls"}}},
      {"name": "use", "warps": "1", "branches": {"0x0": {"arm": "taken"}}}],
    "barriers": {"empty": {"free": )" +
         free + R"(}},
    "branches": {"0x60": {"trips": )" +
         loads + R"(}, "0xc0": {"trips": 3}},
    "instructions": {"0x10": {"barrier": "empty"}, "0x30": {"barrier": "full"},
      "0x40": {"barrier": "full", "bytes": 4096},
      "0x50": {"barrier": "full", "bytes": 1024, "partial_rows": 16, "extra_lines": 5},
      "0x80": {"barrier": "full"}, "0xb0": {"barrier": "empty"}}})";
}

TEST(TripsFacts, ARingHasPhases) {
  Recording recording = recordingOf(readTrips(ringOf("3")), functionOf(kRing));
  ASSERT_EQ(recording.warps.size(), 2u);
  std::vector<uint32_t> signals, waits;
  uint32_t copies = 0, extraLines = 0;
  for (const WarpRecord &warp : recording.warps)
    for (const Fact &fact : warp.facts) {
      if (fact.kind == Fact::Kind::Wait)
        waits.push_back(fact.value);
      if (fact.kind == Fact::Kind::Copy)
        ++copies, extraLines += fact.extraLines;
    }
  // The load finds two stages free, then waits for the first to be used.
  ASSERT_EQ(waits.size(), 6u);
  EXPECT_EQ(waits[0], kNoPhase);
  EXPECT_EQ(waits[1], kNoPhase);
  EXPECT_EQ(recording.signals[waits[2]], 1u);
  EXPECT_EQ(copies, 6u);
  EXPECT_EQ(extraLines, 3 * 5u);
  EXPECT_EQ(recording.readBytes, 3 * 5120u);
  // An arrival and two copies.
  for (size_t i = 3; i < 6; ++i)
    EXPECT_EQ(recording.signals[waits[i]], 3u);
  EXPECT_NE(waits[3], waits[4]);
  Schedule launch = schedule(recording, *figuresOf("sm_90a", Level::Middle));
  EXPECT_GT(launch.clocks, 3 * figure(Figure::WaitLatency));
}

/// Without free stages, the load waits for warps that wait for the load.
TEST(TripsFacts, SaysWhatIsNeverSignaled) {
  auto error = [](const std::string &json) -> std::string {
    try {
      recordingOf(readTrips(json), functionOf(kRing));
    } catch (const Error &error) {
      return error.what();
    }
    return "none";
  };
  EXPECT_THAT(error(ringOf("2")),
              HasSubstr("expected a signal for phase 2 of 'full', which warp 1 "
                        "waits for with 'SYNCS.PHASECHK.TRANS64.TRYWAIT P1, "
                        "[UR4+0x30], R2' at 0x80, got none"));
  EXPECT_EQ(error(ringOf("3")), "none");
}

TEST(TripsFacts, SaysWhatAnInstructionLacks) {
  auto lacks = [](const std::string &inst, const std::string &rule) {
    return pathErrorOf({{inst}, {"EXIT"}},
                       R"("instructions": {"0x0": )" + rule + "}");
  };
  EXPECT_THAT(lacks("SYNCS.ARRIVE.TRANS64 RZ, [UR4], R3", "{}"),
              HasSubstr("trips of role 'all': expected a barrier for "
                        "'SYNCS.ARRIVE.TRANS64 RZ, [UR4], R3' at 0x0, got "
                        "none"));
  EXPECT_THAT(lacks("UTMALDG.2D [UR8], [UR16]", R"({"barrier": "x"})"),
              HasSubstr("expected bytes for 'UTMALDG"));
  EXPECT_THAT(lacks("UTMALDG.2D [UR8], [UR16]",
                    R"({"barrier": "x", "bytes": 64, "extra_lines": 1})"),
              HasSubstr("expected partial_rows for 'UTMALDG"));
  EXPECT_THAT(
      lacks("UTMALDG.2D [UR8], [UR16]", R"({"barrier": "x", "bytes": 64})"),
      HasSubstr("expected an arrival at 'x' by the same warp before it, or "
                "bytes of that barrier, for 'UTMALDG"));
  EXPECT_THAT(lacks("UTCHMMA gdesc[UR4], gdesc[UR6], tmem[UR8], tmem[UR10], "
                    "idesc[UR11], UPT",
                    "{}"),
              HasSubstr("expected a shape for 'UTCHMMA"));
  EXPECT_THAT(lacks("UTCBAR [UR4], URZ", "{}"),
              HasSubstr("expected a barrier for 'UTCBAR"));
  EXPECT_THAT(lacks("BAR.SYNC R1, 0x20", "{}"),
              HasSubstr("expected a barrier for 'BAR.SYNC R1, 0x20'"));
  EXPECT_THAT(lacks("BAR.SYNC 0x1, R3", "{}"),
              HasSubstr("expected threads for 'BAR.SYNC 0x1, R3'"));
  EXPECT_THAT(lacks("BAR.SYNC 0x1, 0x40", "{}"),
              HasSubstr("expected 2 warps for phase 0 of 'BAR 1', which warp 0 "
                        "waits for with 'BAR.SYNC 0x1, 0x40' at 0x0, got 1"));
  EXPECT_EQ(lacks("BAR.SYNC 0x1, 0x40", R"({"warps": "1"})"), "none");
}

/// All warps share the class and the amount of an instruction.
TEST(TripsFacts, RolesCopyTheSameBytesToTensorMemory) {
  auto error = [](const std::string &bytes) -> std::string {
    try {
      recordingOf(readTrips(R"({"roles": [
          {"name": "a", "warps": "0", "instructions": {"0x0": {"bytes": 0}}},
          {"name": "b", "warps": "1", "instructions": {"0x0": {"bytes": )" +
                            bytes + "}}}]}"),
                  functionOf({{"UTCCP.T.S.4x32dp128bit tmem[UR4], gdesc[UR6]"},
                              {"EXIT"}}));
    } catch (const Error &error) {
      return error.what();
    }
    return "none";
  };
  EXPECT_EQ(error("0"), "none");
  EXPECT_THAT(error("512"),
              HasSubstr("trips of role 'b': expected 0 bytes, as other roles "
                        "have, for 'UTCCP.T.S.4x32dp128bit tmem[UR4], "
                        "gdesc[UR6]' at 0x0, got 512"));
}

/// With a time limit, ptxas asks once more; that needs no rule.
TEST(TripsFacts, ARepeatedWaitIsNone) {
  std::vector<Sass> list = {{"SYNCS.ARRIVE.TRANS64 RZ, [UR4], R3"},
                            {"SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [R3+URZ], R4"},
                            {"@!P0 NANOSLEEP.SYNCS 0x989680"},
                            {"@!P0 SYNCS.PHASECHK.TRANS64 P0, [R3+URZ], R4"},
                            {"@!P0 BRA `(.L_1)", 0, {.stall = 5}, 1},
                            {"EXIT"}};
  Recording recording = recorded(
      list,
      R"("instructions": {"0x0": {"barrier": "x"}, "0x10": {"barrier": "x"}})");
  EXPECT_EQ(recording.warps[0].facts.size(), 2u);
  EXPECT_EQ(recording.warps[0].steps.size(), 6u);
  EXPECT_THAT(firstTrips(functionOf(list), "sm_90a", 1),
              testing::Not(HasSubstr("\"0x30\"")));
}

/// gsb0 closes a group of wgmma, and a wait leaves open as many as it says.
TEST(TripsFacts, GroupsOfWgmmaArePhases) {
  std::vector<Sass> list = {
      {"HGMMA.64x128x16.F32.BF16 R24, gdesc[UR4], RZ, !UPT"},
      {"HGMMA.64x128x16.F32.BF16 R24, gdesc[UR4], R24, gsb0"},
      {"HGMMA.64x64x16.F32.BF16 R96, R4, gdesc[UR8].tnspB, R96, gsb0"},
      {"WARPGROUP.DEPBAR.LE gsb0, 0x1"},
      {"EXIT"}};
  Recording recording = recorded(list, "");
  EXPECT_EQ(recording.codes[1].amount, 128);
  EXPECT_TRUE(recording.codes[1].isAInSmem);
  EXPECT_EQ(recording.codes[2].amount, 64);
  EXPECT_FALSE(recording.codes[2].isAInSmem);
  const std::vector<Fact> &facts = recording.warps[0].facts;
  ASSERT_EQ(facts.size(), 4u);
  EXPECT_EQ(facts[3].kind, Fact::Kind::Wait);
  EXPECT_EQ(facts[3].value, facts[0].value);
  EXPECT_EQ(facts[0].value, facts[1].value);
  EXPECT_NE(facts[2].value, facts[0].value);
}

TEST(TripsFacts, CtasOfOneSmHaveBarriersOfTheirOwn) {
  Recording recording = recordingOf(
      readTrips(
          R"({"ctas_per_sm": 2, "roles": [{"name": "a", "warps": "0-3"}]})"),
      functionOf({{"BAR.SYNC.DEFER_BLOCKING 0x0"}, {"EXIT"}}));
  EXPECT_EQ(recording.warps.size(), 8u);
  EXPECT_THAT(recording.signals, ElementsAre(4, 4));
}

TEST(TripsFacts, DepbarWaitsForCopiesOfItsScoreboardOnly) {
  std::vector<Sass> list = {{"UTMACMDFLUSH", 0, {.stall = 1, .readBarrier = 0}},
                            {"DEPBAR.LE SB0, 0x1"},
                            {"DEPBAR.LE SB1, 0x0"},
                            {"EXIT"}};
  Recording recording = recorded(list, "");
  EXPECT_EQ(recording.codes[1].of->action, Action::CopyWait);
  EXPECT_EQ(recording.codes[1].amount, 1);
  EXPECT_EQ(recording.codes[2].of->name, "Hint");
}

// --- the first file ---

TEST(FirstTrips, ListsWhatIsOpen) {
  std::string json = firstTrips(functionOf(kRing), "sm_100a", 2);
  ASSERT_EQ(errorOf(json), "none") << json;
  Trips trips = readTrips(json);
  EXPECT_EQ(trips.kernel, "k");
  EXPECT_EQ(trips.target, "sm_100a");
  EXPECT_THAT(trips.roles[0].warps, ElementsAre(0, 1));
  EXPECT_THAT(trips.rules.steps.at(0x30).barriers,
              ElementsAre("mbarrier 0x30"));
  EXPECT_TRUE(trips.rules.branches.contains(0x0));
  EXPECT_FALSE(trips.rules.branches.at(0x60).trips);
  EXPECT_THAT(json, HasSubstr("leaves the loop that begins at 0x10"));
  // A branch that tests a wait needs no rule, and what repeats a wait is not
  // listed.
  EXPECT_FALSE(trips.rules.branches.contains(0x20));
  EXPECT_FALSE(trips.rules.branches.contains(0x90));
}

TEST(FirstTrips, GuessesWhatIsConstant) {
  Trips trips = readTrips(firstTrips(
      functionOf({{"UMOV UR5, 0x8100490"},
                  {"UTCHMMA gdesc[UR2], gdesc[UR6], tmem[UR8], tmem[UR4], "
                   "idesc[UR5], UPT"},
                  {"MOV R3, 0x1400"},
                  {"SYNCS.ARRIVE.TRANS64 RZ, [UR4+0x30], R3"},
                  {"UTMALDG.2D [UR8], [UR16]"},
                  {"UTMALDG.2D [UR8], [UR16]"},
                  {"SYNCS.ARRIVE.TRANS64 RZ, [UR4+0x38], R6"},
                  {"UTMALDG.2D [UR8], [UR16]"},
                  {"EXIT"}}),
      "sm_100a", 1));
  EXPECT_EQ(trips.rules.steps.at(0x10).shape->m, 128u);
  EXPECT_EQ(trips.rules.steps.at(0x10).shape->n, 64u);
  EXPECT_EQ(trips.rules.steps.at(0x40).bytes, 0xa00u);
  EXPECT_EQ(trips.rules.steps.at(0x50).bytes, 0xa00u);
  EXPECT_FALSE(trips.rules.steps.at(0x70).bytes);
}

} // namespace
