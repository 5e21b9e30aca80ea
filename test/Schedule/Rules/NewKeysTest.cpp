//===- NewKeysTest.cpp - Tiles that append new keys -------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Planning.h"

#include "fmha/Schedule/Model/Overrides.h"
#include "fmha/Schedule/Plan/Families.h"

#include "gmock/gmock.h"

#include <bit>

using namespace fmha::schedule;
using testing::HasSubstr;

namespace {

constexpr const char *targets[] = {"sm_90a", "sm_100a"};

Problem launchOf(unsigned qHeads, unsigned kvHeads, unsigned qLen,
                 unsigned headDim = 128) {
  Problem problem = problemOf(headDim);
  problem.keyNew = problem.kvLens = true;
  return withHints(problem, {4, qHeads, kvHeads, qLen, 4096});
}

/// Returns the error of a plan for tensor cores.
std::string errorOf(const Problem &problem, Overrides overrides,
                    const char *target) {
  overrides.fix(Choice::Family, unsigned(FamilyKind::Mma));
  return mustFail(problem, target, overrides);
}

} // namespace

TEST(NewKeys, ATileHasAllRowsOfAKvHead) {
  for (const char *target : targets)
    for (unsigned group : {1, 3, 4, 8, 16, 64})
      for (unsigned qLen : {1, 2, 8, 128})
        for (unsigned headDim : {64, 128, 256}) {
          unsigned rows = std::bit_ceil(group) * qLen;
          if (rows > 128)
            continue;
          SCOPED_TRACE(std::string(target) + ", group " +
                       std::to_string(group) + ", q_len " +
                       std::to_string(qLen) + ", head dim " +
                       std::to_string(headDim));
          Problem problem = launchOf(2 * group, 2, qLen, headDim);
          Schedule made = mustPlan(problem, target).schedule;
          EXPECT_EQ(made.family, FamilyKind::Mma);
          EXPECT_EQ(made.packHeads, std::bit_ceil(group));
          EXPECT_GE(made.qTiles * made.qTileRows, rows);
          EXPECT_EQ(outputPasses(problem, made), 1u);
          EXPECT_EQ(made.scheduler, Scheduler::Single);
          EXPECT_TRUE(appendsNewKeys(problem, target, {}));
        }
}

TEST(NewKeys, MoreRowsAreForPlainThreads) {
  for (const char *target : targets)
    for (const Problem &problem :
         {launchOf(2, 1, 65), launchOf(128, 1, 1), launchOf(8, 1, 17),
          launchOf(0, 0, 1), launchOf(8, 1, 0)}) {
      EXPECT_EQ(mustPlan(problem, target).schedule.family, FamilyKind::Fma);
      EXPECT_FALSE(appendsNewKeys(problem, target, {}));
    }
}

TEST(NewKeys, GoToCachesOf8Bits) {
  for (const char *target : targets)
    for (bool perPage : {false, true}) {
      Problem problem = launchOf(8, 1, 1);
      problem.kvE4M3 = true;
      problem.scalePerPage = problem.blockTables = perPage;
      problem.pageSize = perPage ? 16 : 0;
      Schedule made = mustPlan(problem, target).schedule;
      EXPECT_EQ(made.family, FamilyKind::Mma);
      EXPECT_EQ(made.kvCopy, KvCopy::Convert);
      EXPECT_TRUE(appendsNewKeys(problem, target, {}));
    }
}

TEST(NewKeys, SplitsShareThem) {
  for (const char *target : targets) {
    Problem problem = withHints(launchOf(8, 1, 1), {1, 8, 1, 1, 1 << 17});
    Schedule made = mustPlan(problem, target).schedule;
    EXPECT_GT(made.splits, 1u);
    EXPECT_EQ(made.packHeads, 8u);
  }
}

TEST(NewKeys, C8SaysWhatIsNeeded) {
  Problem problem = launchOf(8, 2, 2);
  for (const char *target : targets) {
    Overrides heads, tiles, loop;
    heads.fix(Choice::PackHeads, 2);
    EXPECT_THAT(
        errorOf(problem, heads, target),
        HasSubstr("plan.C8: expected pack_heads of at least 4, the "
                  "query heads of a KV head, with key_new, since no "
                  "CTA may read keys that another one writes, got 2; "
                  "the nearest that works: pack_heads = 4, or family = fma"));
    tiles.fix(Choice::QTiles, 1);
    EXPECT_THAT(errorOf(launchOf(8, 2, 33), tiles, target),
                HasSubstr("plan.C8: expected the 132 rows of all queries and "
                          "packed heads in the query tiles of one CTA with "
                          "key_new"));
    loop.fix(Choice::Scheduler, unsigned(Scheduler::Static));
    EXPECT_THAT(errorOf(problem, loop, target),
                HasSubstr("plan.C8: expected scheduler = single with key_new"));
    Schedule made = mustPlan(problem, target).schedule;
    made.packHeads = 2;
    EXPECT_THAT(check(problem, made).value_or(""),
                HasSubstr("got 2; take pack_heads = 4, family = fma, or append "
                          "by fmha.append"));
    EXPECT_FALSE(appendsNewKeys(problem, target, heads));
    EXPECT_FALSE(appendsNewKeys(problem, target, loop));
  }
  Overrides columns;
  columns.fix(Choice::OColumns, 64);
  EXPECT_THAT(errorOf(problem, columns, "sm_90a"),
              HasSubstr("plan.C8: expected all columns of the output "
                        "(o_columns) in one CTA with key_new"));
}
