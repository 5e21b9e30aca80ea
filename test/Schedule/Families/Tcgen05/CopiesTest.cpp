//===- CopiesTest.cpp - Ways to copy K and V with tensor memory -----------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Rules/CheckCase.h"

#include "fmha/Schedule/Model/Schedule.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace fmha;
using namespace fmha::schedule;
using testing::StartsWith;

namespace {

/// Returns the rule that a schedule violates which gathers rows of pages of one
/// key, after `change`.
std::string gathered(const std::function<void(Problem &)> &change) {
  return violation([&](Problem &p, Schedule &s) {
    p.pageSize = 1;
    p.blockTables = p.kvLens = true;
    s.kvCopy = KvCopy::Gather4;
    change(p);
  });
}

} // namespace

TEST(Tcgen05Copies, C8GathersSingleRows) {
  EXPECT_EQ(gathered([](Problem &) {}), "");
  EXPECT_THAT(gathered([](Problem &p) { p.pageSize = 2; }),
              StartsWith("plan.C8: expected lists of keys (topk) or pages of "
                         "one key with kv_copy = gather4"));
  EXPECT_THAT(gathered([](Problem &p) { p.pageSize = 2; }),
              testing::EndsWith("got pages of 2 keys; take kv_copy = tma"));
  EXPECT_THAT(gathered([](Problem &p) {
                p.pageSize = 0;
                p.blockTables = false;
              }),
              testing::EndsWith("got neither; take kv_copy = tma"));
  EXPECT_THAT(gathered([](Problem &p) { p.source2 = true; }),
              StartsWith("plan.C8: expected one KV segment with kv_copy = "
                         "gather4, got two; take kv_copy = tma"));
}

TEST(Tcgen05Copies, C8CopiesByThreads) {
  EXPECT_THAT(
      violation([](Problem &, Schedule &s) { s.kvCopy = KvCopy::CpAsync; }),
      StartsWith("plan.C8: expected kv_copy to be tma or gather4, or convert "
                 "for e4m3, on sm_100a, got cp_async"));
  EXPECT_THAT(
      violation([](Problem &, Schedule &s) { s.kvCopy = KvCopy::Convert; }),
      StartsWith("plan.C8: expected kv_copy = convert if and only if K and V "
                 "are of e4m3, got convert"));
}

/// A list of keys, and pages of one key, are gathered; other pages are boxes.
TEST(Tcgen05Copies, PlannerGathersSingleRows) {
  for (const char *target : {"sm_100a", "sm_103a"}) {
    auto copy = [&](unsigned pageSize, bool topk, Overrides overrides = {}) {
      Problem problem = problemOf(128);
      problem.pageSize = pageSize;
      problem.blockTables = problem.kvLens = pageSize != 0;
      problem.topk = topk;
      std::string error;
      std::optional<Plan> made = plan(problem, target, overrides, error);
      EXPECT_TRUE(made) << error;
      return made.value_or(Plan()).schedule.kvCopy;
    };
    for (unsigned size : {0u, 1u, 2u, 64u}) {
      EXPECT_EQ(copy(size, true), KvCopy::Gather4) << size;
      EXPECT_EQ(copy(size, false), size == 1 ? KvCopy::Gather4 : KvCopy::Tma)
          << size;
    }
    Overrides rows;
    rows.fix(Choice::KvCopy, unsigned(KvCopy::Tma));
    EXPECT_EQ(copy(1, true, rows), KvCopy::Tma);
    EXPECT_EQ(copy(1, false, rows), KvCopy::Tma);
  }
}

/// A message has four rows whatever the page, or the chunk of V, is.
TEST(Tcgen05Copies, BoxesHaveFourRows) {
  Problem problem = problemOf(128);
  problem.pageSize = 1;
  Schedule schedule = soundSchedule();
  schedule.kvCopy = KvCopy::Gather4;
  for (Operand operand : {Operand::Key, Operand::Value})
    EXPECT_EQ(boxRows(problem, schedule, operand), 4u);
  EXPECT_EQ(boxRows(problem, schedule, Operand::Query), schedule.qTileRows);
}
