//===- TripsFileTest.cpp - Reading trips files ---------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TripsText.h"

#include <gmock/gmock.h>

using namespace ptxsim;
using namespace ptxsim::timing;
using namespace ptxsim::timing::test;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

TEST(TripsFile, HasRolesRulesAndBarriers) {
  Trips trips = readTrips(R"({
    "note": "all of it", "kernel": "k", "target": "sm_90a", "ctas_per_sm": 2,
    "parameters": {"keys": 1000, "blocks": "(keys + 127) / 128"},
    "barriers": {"full": {"free": 2, "arrivals": 3, "bytes": "keys * 2"}},
    "roles": [{"name": "load", "warps": "0", "branches": {"0x10": {"arm": "falls"}}},
              {"name": "rest", "warps": "1-3,8", "instructions": {"0x20": {"warps": "8"}}}],
    "branches": {"0x10": {"trips": "blocks - 1", "text": "BRA"},
                 "0x30": {"arms": [{"arm": "taken", "times": 2}, "0x1a0", "falls"]},
                 "0x50": {"trips": null}},
    "instructions": {"0x20": {"barrier": ["a", "b"], "phase": 4, "again": true, "bytes": 64,
                              "partial_rows": 8, "extra_lines": 4, "threads": 96, "amount": 3, "reaches": "l2",
                              "direction": "store", "shape": {"m": 128, "n": 64, "ctas": 2}}}})");
  EXPECT_EQ(trips.kernel, "k");
  EXPECT_EQ(trips.target, "sm_90a");
  EXPECT_EQ(trips.ctasPerSm, 2u);
  EXPECT_EQ(trips.barriers["full"].free, 2u);
  EXPECT_EQ(trips.barriers["full"].arrivals, 3u);
  EXPECT_EQ(trips.barriers["full"].bytes, 2000u);
  ASSERT_EQ(trips.roles.size(), 2u);
  EXPECT_THAT(trips.roles[1].warps, ElementsAre(1, 2, 3, 8));
  EXPECT_EQ(trips.roles[0].rules.branches.at(0x10).arms[0].kind,
            Arm::Kind::Falls);
  EXPECT_EQ(trips.rules.branches.at(0x10).trips, 7u);
  const std::vector<Arm> &arms = trips.rules.branches.at(0x30).arms;
  ASSERT_EQ(arms.size(), 3u);
  EXPECT_EQ(arms[0].times, 2u);
  EXPECT_EQ(arms[1].address, 0x1a0u);
  EXPECT_FALSE(trips.rules.branches.at(0x50).trips);
  const StepRule &step = trips.rules.steps.at(0x20);
  EXPECT_THAT(step.barriers, ElementsAre("a", "b"));
  EXPECT_EQ(step.phase, 4u);
  EXPECT_TRUE(step.isAgain);
  EXPECT_EQ(step.bytes, 64u);
  EXPECT_EQ(step.partialRows, 8u);
  EXPECT_EQ(step.extraLines, 4u);
  EXPECT_EQ(step.threads, 96u);
  EXPECT_EQ(step.amount, 3u);
  EXPECT_EQ(step.reached, Reached::Global);
  EXPECT_EQ(step.direction, CopyDirection::ToGlobal);
  EXPECT_EQ(step.shape->n, 64u);
  EXPECT_EQ(step.shape->ctas, 2u);
}

TEST(TripsFile, ParametersAreReplaced) {
  std::string json = fileOf(
      R"("parameters": {"keys": 8, "blocks": "keys / 4"}, "branches": {"0x0": {"trips": "blocks"}})");
  auto trips = [&](const std::map<std::string, int64_t> &given) {
    return *readTrips(json, given).rules.branches.at(0).trips;
  };
  EXPECT_EQ(trips({}), 2u);
  EXPECT_EQ(trips({{"keys", 40}}), 10u);
  EXPECT_EQ(trips({{"blocks", 5}}), 5u);
  EXPECT_THAT(errorOf(json, {{"rows", 1}}),
              HasSubstr("/parameters: expected a parameter of the file to "
                        "set, got \"rows\""));
}

TEST(TripsFile, NumbersAreExpressions) {
  auto valueOf = [](const std::string &text) {
    return *readTrips(
                fileOf(R"("branches": {"0x0": {"trips": ")" + text + "\"}}"))
                .rules.branches.at(0)
                .trips;
  };
  EXPECT_EQ(valueOf("2 + 3 * 4"), 14u);
  EXPECT_EQ(valueOf(" (2+3)*4 - 1 - 1 "), 18u);
  EXPECT_EQ(valueOf("7 / 2"), 3u);
  EXPECT_EQ(valueOf("-7 / 2 + 5"), 1u);
}

std::string repeated(const std::string &text, unsigned times) {
  std::string all;
  for (unsigned i = 0; i < times; ++i)
    all += text;
  return all;
}

TEST(TripsFile, LimitsItsDepth) {
  auto nested = [](unsigned depth) {
    return errorOf(fileOf(R"("ctas_per_sm": ")" + repeated("(", depth) + "1" +
                          repeated(")", depth) + "\""));
  };
  EXPECT_EQ(nested(64), "none");
  for (unsigned depth : {65, 300000})
    EXPECT_THAT(nested(depth),
                HasSubstr("/ctas_per_sm: expected at most 64 nested "
                          "parentheses and signs, got more"));
  EXPECT_THAT(
      errorOf(fileOf(R"("ctas_per_sm": ")" + repeated("-", 300000) + "1\"")),
      HasSubstr("expected at most 64 nested"));
  EXPECT_THAT(
      errorOf(fileOf(R"("branches": {"0x10": {"arm": )" +
                     repeated(R"({"times": 1, "arm": )", 300000) + "\"falls\"" +
                     repeated("}", 300000) + "}}")),
      HasSubstr("expected at most 64 nested objects and lists, got more"));
  EXPECT_THAT(
      errorOf(fileOf("\"note\": " + repeated("[", 70) + repeated("]", 70))),
      HasSubstr("expected at most 64 nested objects and lists, got more"));
}

TEST(TripsFile, NamesMayBeNoText) {
  EXPECT_THAT(errorOf(fileOf(""), {{"\xff", 1}}),
              HasSubstr("expected a parameter of the file to set, got "
                        "\"\xef\xbf\xbd\""));
}

/// A trips file and a part of the error that reading it throws.
struct Refusal {
  std::string json, error;
};

void expectErrors(std::initializer_list<Refusal> refusals) {
  for (const Refusal &of : refusals)
    EXPECT_THAT(errorOf(of.json), HasSubstr(of.error)) << of.json;
}

TEST(TripsFile, SaysWhatIsWrongInRoles) {
  expectErrors({
      {"{", "trips file: expected JSON, got "},
      {R"({"keys": 1e999})", "trips file: expected JSON, got [json.exception."
                             "out_of_range.406] number overflow"},
      {"[]", "/: expected an object of note, text, kernel"},
      {R"({"role": []})", "/: expected a member of note, text, kernel"},
      {"{}", "/: expected roles, a list"},
      {R"({"roles": [{"name": "a"}]})", "/roles/0: expected a role with name"},
      {R"({"roles": [{"name": "", "warps": "0"}]})",
       "/roles/0/name: expected a name, got \"\""},
      {R"({"roles": [{"name": "a", "warps": "3-1"}]})",
       "/roles/0/warps: expected warps below 32, such as \"0-3,8\", got "
       "\"3-1\""},
      {R"({"roles": [{"name": "a", "warps": "32"}]})", "expected warps below"},
      {R"({"roles": [{"name": "a", "warps": "0-"}]})", "expected warps below"},
      {R"({"roles": [{"name": "a", "warps": 0}]})", "expected warps below"},
      {R"({"roles": [{"name": "a", "warps": "0,0"}]})",
       "expected each warp in one role"},
  });
}

TEST(TripsFile, SaysWhatIsWrongInParametersAndBarriers) {
  expectErrors({
      {fileOf(R"("ctas_per_sm": 0)"),
       "/ctas_per_sm: expected a number from 1 to 32, or an expression of "
       "parameters, got 0"},
      {R"({"ctas_per_sm": 17, "roles": [{"name": "a", "warps": "0-2"},
                                        {"name": "b", "warps": "3"}]})",
       "/ctas_per_sm: expected at most 64 warps on an SM, of 4 warps in each "
       "CTA, got 17"},
      {fileOf(R"("parameters": 3)"), "/parameters: expected an object"},
      {fileOf(R"("parameters": {"n": true})"),
       "/parameters/n: expected a number from"},
      {fileOf(R"("barriers": [])"), "/barriers: expected an object by names"},
      {fileOf(R"("barriers": {"x": {"free": -1}})"),
       "/barriers/x/free: expected a number from 0"},
      {fileOf(R"("barriers": {"x": {"stages": 2}})"),
       "/barriers/x: expected a member of note, text, free, arrivals, bytes, "
       "got \"stages\""},
      {fileOf(R"("parameters": {"n": 18446744073709551615})"),
       "/parameters/n: expected a number from -2147483648 to 4294967295, or an "
       "expression of parameters, got 18446744073709551615"},
  });
}

TEST(TripsFile, SaysWhatIsWrongInBranches) {
  expectErrors({
      {fileOf(R"("branches": [])"), "/branches: expected an object by"},
      {fileOf(R"("branches": {"10": {}})"),
       "/branches: expected an address such as \"0x1a0\", got \"10\""},
      {fileOf(R"("branches": {"0x10": {"trips": 1, "arm": "taken"}})"),
       "/branches/0x10: expected either trips or arms"},
      {fileOf(R"("branches": {"0x10": {"arm": "left"}})"),
       "/branches/0x10/arm: expected an arm: \"taken\", \"falls\" or an "
       "address, got \"left\""},
      {fileOf(R"("branches": {"0x10": {"arms": []}})"),
       "expected a list of arms"},
      {fileOf(R"("branches": {"0x10": {"arms": [{"arm": "taken"}]}})"),
       "expected an arm with times"},
      {fileOf(R"("branches": {"0x10": {"trips": "2 * blocks"}})"),
       "/branches/0x10/trips: expected a number or a parameter (none) in '2 * "
       "blocks', got 'blocks'"},
      {fileOf(R"("branches": {"0x10": {"trips": "2 +"}})"), "got its end"},
      {fileOf(R"("branches": {"0x10": {"trips": "(2"}})"), "expected ')' in"},
      {fileOf(R"("branches": {"0x10": {"trips": "2 3"}})"),
       "expected an operator in '2 3', got '3'"},
      {fileOf(R"("branches": {"0x10": {"trips": "2 / 0"}})"),
       "expected a divisor above 0 in '2 / 0', got '0'"},
      {fileOf(R"("branches": {"0x10": {"trips": "9000000000000000000 * 9"}})"),
       "expected a number of 64 bits"},
      {fileOf(
           R"j("branches": {"0x10": {"trips": "-(0-9223372036854775807-1)"}})j"),
       "expected a number of 64 bits, got a larger one"},
      {fileOf(
           R"("branches": {"0x10": {"arm": {"times": 2, "arm": {"times": 3, "arm": "falls"}}}})"),
       "/branches/0x10/arm/arm: expected an arm: \"taken\", \"falls\" or an "
       "address, got {\"times\":3"},
  });
}

TEST(TripsFile, SaysWhatIsWrongInInstructions) {
  expectErrors({
      {fileOf(R"("instructions": {"0x10": {"amount": 65536}})"),
       "/instructions/0x10/amount: expected a number from 0 to 65535"},
      {fileOf(R"("instructions": {"0x10": {"threads": 1025}})"),
       "/instructions/0x10/threads: expected a number from 0 to 1024"},
      {fileOf(R"("instructions": {"0x10": {"bytes": 16777217}})"),
       "/instructions/0x10/bytes: expected a number from 0 to 16777216"},
      {fileOf(R"("instructions": {"0x10": {"barrier": 3}})"),
       "/instructions/0x10/barrier: expected a name, got 3"},
      {fileOf(R"("instructions": {"0x10": {"again": 1}})"),
       "/instructions/0x10/again: expected true or false, got 1"},
      {fileOf(R"("instructions": {"0x10": {"reaches": "l1"}})"),
       "expected nothing, shared, l2 or device, got \"l1\""},
      {fileOf(R"("instructions": {"0x10": {"direction": "up"}})"),
       "expected load, store or exchange, got \"up\""},
      {fileOf(R"("instructions": {"0x10": {"shape": {"m": 128}}})"),
       "/instructions/0x10/shape: expected a shape"},
      {fileOf(R"("instructions": {"0x10": {"shape": {"m": 16, "n": 8}}})"),
       "/instructions/0x10/shape/m: expected a number from 32 to 256"},
  });
}

} // namespace
