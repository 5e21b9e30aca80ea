//===- RegisterDemandTest.cpp - The rows of RegisterDemand.def --*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Schedule/Rules/RegisterDemand.h"

#include "CheckCase.h"

#include "gmock/gmock.h"

#include <set>
#include <sstream>

using namespace fmha::schedule;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

TEST(RegisterDemand, EachRowHasANameOfItsOwnAndEvidence) {
  std::istringstream lines(demand::listRows());
  std::set<std::string> names;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream columns(line);
    std::string name, reader, family, spilled, evidence;
    for (std::string *column : {&name, &reader, &family, &spilled, &evidence})
      std::getline(columns, *column, '\t');
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_THAT(reader, testing::AnyOf("plan.C2", "plan.C8", "workaround"))
        << name;
    EXPECT_THAT(family, testing::AnyOf("tcgen05", "wgmma", "any")) << name;
    EXPECT_THAT(evidence, HasSubstr("--head-dim=")) << name;
    // It gives registers back, and no kernel is spilled without it.
    EXPECT_EQ(spilled == "0", name == "oneMatrix") << name;
  }
  EXPECT_GT(names.size(), 40u);
}

/// Rule, role, what is needed and there, row and ways out.
TEST(RegisterDemand, TheMessageNamesAllOfARow) {
  EXPECT_THAT(
      violation([](Problem &p, Schedule &s) {
        p.captures = {{"f32", 1}};
        p.kvLens = true;
        s.packHeads = 8;
      }),
      AllOf(StartsWith("plan.C8: expected q_tiles = 1 with packed heads, "
                       "varlen metadata and a score_mod that "
                       "reads, where softmax needs 192"),
            HasSubstr(" registers per thread, 184 are available (row "
                      "packedLists of RegisterDemand.def), got 2"),
            EndsWith("; take q_tiles = 1 or pack_heads = 1")));
}

TEST(RegisterDemand, WorkaroundsHoldForTheirKernels) {
  using demand::Workaround;
  auto needs = [](Workaround what, unsigned headDim, unsigned tiles,
                  bool source2, Scheduler scheduler) {
    Problem problem = problemOf(headDim);
    problem.source2 = source2;
    Schedule schedule = soundSchedule();
    schedule.qTiles = tiles;
    schedule.scheduler = scheduler;
    return demand::needs(what, problem, schedule);
  };
  // 14 steps of a product of 16 columns, in a loop of two tiles beside a second
  // source 12.
  constexpr Scheduler single = Scheduler::Single, loop = Scheduler::Static;
  EXPECT_FALSE(needs(Workaround::OwnNumbers, 224, 2, false, single));
  EXPECT_TRUE(needs(Workaround::OwnNumbers, 232, 2, false, single));
  EXPECT_FALSE(needs(Workaround::OwnNumbers, 232, 1, false, single));
  EXPECT_FALSE(needs(Workaround::OwnNumbers, 232, 2, false, loop));
  EXPECT_FALSE(needs(Workaround::RereadExtents, 224, 2, false, loop));
  EXPECT_TRUE(needs(Workaround::RereadExtents, 232, 1, false, loop));
  EXPECT_FALSE(needs(Workaround::RereadExtents, 200, 2, true, loop));
  EXPECT_FALSE(needs(Workaround::RereadExtents, 232, 2, true, single));
  EXPECT_TRUE(needs(Workaround::FreeInRole, 200, 2, true, loop));
  EXPECT_FALSE(needs(Workaround::FreeInRole, 192, 2, true, loop));
}

TEST(RegisterDemand, ARowMayBeIgnored) {
  auto packed = [] {
    return violation([](Problem &p, Schedule &s) {
      p.source2 = true;
      p.captures = {{"f32", 1}};
      s.packHeads = 8;
      s.qTiles = 1;
      s.roles = defaultRoles(1);
    });
  };
  EXPECT_THAT(packed(), HasSubstr("row packedReads of"));
  EXPECT_FALSE(demand::ignoreRow("packed"));
  EXPECT_EQ(demand::ignoredRows(), "");
  EXPECT_TRUE(demand::ignoreRow("packedReads"));
  EXPECT_EQ(demand::ignoredRows(), "packedReads");
  EXPECT_EQ(packed(), "");
  EXPECT_TRUE(demand::ignoreRow("packedReads", /*ignore=*/false));
  EXPECT_THAT(packed(), HasSubstr("row packedReads of"));
}
