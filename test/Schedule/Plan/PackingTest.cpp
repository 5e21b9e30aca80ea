//===- PackingTest.cpp - Query heads that share a query tile ----*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Planning.h"

#include "fmha/Schedule/Cost/Estimate.h"
#include "fmha/Schedule/Model/Overrides.h"
#include "fmha/Schedule/Report/Explain.h"

#include "gmock/gmock.h"

#include <bit>

using namespace fmha::schedule;
using testing::HasSubstr;

namespace {

/// More sequences than there are SMs, so that every row counts.
Problem launchOf(unsigned qHeads, unsigned kvHeads, unsigned qLen,
                 unsigned headDim = 128) {
  return withHints(problemOf(headDim), {1000, qHeads, kvHeads, qLen, 4096});
}

unsigned planned(const Problem &problem, const Overrides &overrides = {}) {
  return mustPlan(problem, "sm_100a", overrides).schedule.packHeads;
}

Overrides wholeGroup() {
  Overrides overrides;
  overrides.fix(Choice::PackHeads, Overrides::wholeGroup);
  return overrides;
}

const ScheduleField &packing() {
  for (const ScheduleField &field : scheduleFields())
    if (field.isPacking)
      return field;
  ADD_FAILURE() << "no field is the packing of heads";
  return scheduleFields().front();
}

} // namespace

TEST(Packing, PacksWhereQueriesLeaveRowsEmpty) {
  EXPECT_EQ(planned(launchOf(128, 1, 1)), 128u);
  EXPECT_EQ(planned(launchOf(32, 8, 1)), 4u);
  EXPECT_EQ(planned(launchOf(32, 4, 17)), 8u);
  // Rows are full, or there is nothing to fill them with.
  EXPECT_EQ(planned(launchOf(32, 8, 4096)), 1u);
  EXPECT_EQ(planned(launchOf(32, 32, 1)), 1u);
  // Nothing is known of heads, or of queries.
  EXPECT_EQ(planned(problemOf(128, 1)), 1u);
  EXPECT_EQ(planned(launchOf(32, 8, 0)), 1u);
}

TEST(Packing, HoldsAllHeadsOfAGroupOrDividesThem) {
  EXPECT_EQ(planned(launchOf(3, 1, 1)), 4u);
  EXPECT_EQ(planned(launchOf(7, 1, 2)), 8u);
  EXPECT_EQ(planned(launchOf(256, 1, 1)), 128u);
  for (unsigned group : {1u, 2u, 3u, 7u, 8u, 40u, 128u, 200u}) {
    unsigned heads = planned(launchOf(group, 1, 0), wholeGroup());
    EXPECT_EQ(heads, std::min(std::bit_ceil(group), 128u)) << group;
    // No more than a tile has rows.
    EXPECT_LE(planned(launchOf(group, 1, 0, 512), wholeGroup()),
              mustPlan(launchOf(group, 1, 0, 512), "sm_100a", wholeGroup())
                  .schedule.qTileRows);
  }
}

TEST(Packing, AsksForTheGroupThatItIsToHold) {
  EXPECT_THAT(mustFail(problemOf(128), "sm_100a", wholeGroup()),
              HasSubstr("give q-heads and kv-heads, or a number; the "
                        "nearest that works: pack_heads = 1"));
}

TEST(Packing, ReadsAndPrintsItsWords) {
  const ScheduleField &field = packing();
  std::optional<unsigned> value;
  EXPECT_TRUE(field.parse("on", value));
  EXPECT_EQ(value, Overrides::wholeGroup);
  EXPECT_EQ(field.print(*value), "on");
  EXPECT_TRUE(field.parse("off", value));
  EXPECT_EQ(value, 1u);
  EXPECT_TRUE(field.parse("16", value));
  EXPECT_EQ(value, 16u);
  EXPECT_EQ(field.print(*value), "16");
  EXPECT_TRUE(field.parse("auto", value));
  EXPECT_EQ(value, std::nullopt);
  for (const char *text : {"0", "", "yes", "-1", "65537"})
    EXPECT_FALSE(field.parse(text, value)) << text;
  EXPECT_EQ(field.expected(), "auto, on, off or a number from 1 to 65536");
  // Other fields know no such words.
  EXPECT_FALSE(scheduleFields().front().parse("on", value));
}

TEST(Packing, OfAScheduleByHandIsOnWhereItIsNotOff) {
  Schedule schedule;
  EXPECT_TRUE(contradiction(schedule, wholeGroup()));
  schedule.packHeads = 4;
  EXPECT_FALSE(contradiction(schedule, wholeGroup()));
  Overrides eight;
  eight.fix(Choice::PackHeads, 8);
  EXPECT_EQ(contradiction(schedule, eight)->wanted, "8");
}

TEST(Packing, CountsChunksOfGroupsForHeads) {
  // 2 tiles of 128 rows; 4 batches, 2 groups of 20 heads, 100 queries.
  Workload workload{4, 40, 2, 100, 1024};
  KernelModel kernel;
  EXPECT_EQ(estimate(kernel, workload).ctas, 4u * 40 * 1);
  kernel.packHeads = 8; // 3 chunks of up to 8 heads, 32 queries a CTA.
  EXPECT_EQ(estimate(kernel, workload).ctas, 4u * 2 * 3 * 4);
  kernel.packHeads = 32; // One chunk, 8 queries a CTA.
  EXPECT_EQ(estimate(kernel, workload).ctas, 4u * 2 * 1 * 13);
}

TEST(Packing, RowsOfHeadsThatAreNotThereCost) {
  // One query of 3 heads: 3 rows of 4, of 8 or of 128.
  Problem problem = launchOf(3, 1, 1);
  Schedule schedule;
  auto perRow = [&](unsigned heads) {
    schedule.packHeads = heads;
    return modelCost(problem, schedule).clocksPerRow;
  };
  EXPECT_DOUBLE_EQ(perRow(1), 3 * perRow(4));
  EXPECT_DOUBLE_EQ(perRow(128), perRow(4));
  EXPECT_DOUBLE_EQ(perRow(1), 1.5 * perRow(2));
}

TEST(Packing, IsExplained) {
  Problem problem = launchOf(32, 4, 16);
  Plan plan = mustPlan(problem, "sm_100a");
  ASSERT_GT(plan.schedule.packHeads, 1u);
  EXPECT_THAT(
      explain(problem, plan),
      HasSubstr(
          "pack_heads         " + std::to_string(plan.schedule.packHeads) +
          " query heads of a group x " +
          std::to_string(plan.schedule.qTileRows / plan.schedule.packHeads) +
          " queries fill a tile"));
  Problem full = launchOf(32, 32, 16);
  EXPECT_THAT(explain(full, mustPlan(full, "sm_100a")),
              testing::Not(HasSubstr("pack_heads  ")));
}
