//===- FmaTest.cpp - Schedules of plain threads -----------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Planning.h"

#include "fmha/Schedule/Cost/CostModel.h"
#include "fmha/Schedule/Model/FmaThreads.h"
#include "fmha/Target/Target.h"

#include "gtest/gtest.h"

#include <functional>
#include <set>

using namespace fmha;
using namespace fmha::schedule;

namespace {

Problem problemOf(DataType type, unsigned headDim) {
  Problem problem;
  problem.dtype = type;
  problem.headDim = problem.headDimV = headDim;
  return problem;
}

Overrides onThreads() {
  return Overrides().fix(Choice::Family, unsigned(FamilyKind::Fma));
}

/// Returns the message for a sound schedule after `change`.
std::string checkAfter(const std::function<void(Problem &, Schedule &)> &change,
                       DataType type = DataType::F32) {
  Problem problem = problemOf(type, 128);
  Schedule schedule = mustPlan(problem, "sm_90a", onThreads()).schedule;
  change(problem, schedule);
  return check(problem, schedule).value_or("");
}

bool contains(const std::string &text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(Fma, ServesF32OnEachTarget) {
  for (const std::string &target : target::names(/*supported=*/true))
    for (unsigned dim : {4, 32, 48, 64, 80, 96, 128, 160, 192, 256}) {
      Plan plan = mustPlan(problemOf(DataType::F32, dim), target);
      EXPECT_EQ(plan.schedule.family, FamilyKind::Fma) << target << ' ' << dim;
      EXPECT_EQ(plan.map.tmemColumns, 0u);
      EXPECT_EQ(verify(problemOf(DataType::F32, dim), plan.schedule, plan.map),
                std::nullopt);
    }
}

TEST(Fma, ServesTypesOf16BitsOnRequestOnly) {
  for (DataType type : {DataType::F16, DataType::BF16}) {
    EXPECT_EQ(mustPlan(problemOf(type, 64), "sm_100a").schedule.family,
              FamilyKind::Mma);
    EXPECT_EQ(
        mustPlan(problemOf(type, 64), "sm_100a", onThreads()).schedule.family,
        FamilyKind::Fma);
  }
}

TEST(Fma, TensorCoresDoNotTakeF32) {
  for (const char *target : {"sm_90a", "sm_100a"}) {
    std::string error =
        mustFail(problemOf(DataType::F32, 64), target,
                 Overrides().fix(Choice::Family, unsigned(FamilyKind::Mma)));
    EXPECT_TRUE(contains(error, "plan.C1: expected q, k and v of f16 or bf16 "
                                "with family = mma, got f32"))
        << error;
    EXPECT_TRUE(contains(error, "the nearest that works: family = fma"))
        << error;
  }
}

/// Caches of 8 bits, with queries of any type: vectors of keys have 16
/// elements, those of queries as many as their type allows.
TEST(Fma, ServesCachesOfE4M3OnEachTargetThatConvertsThem) {
  for (const std::string &target : target::names(/*supported=*/true)) {
    if (!target::findTarget(target)->hasE4M3Conversions)
      continue;
    for (DataType type :
         {DataType::F32, DataType::F16, DataType::BF16, DataType::E4M3})
      for (unsigned dim : {16, 32, 48, 64, 80, 96, 128, 160, 192, 256}) {
        Problem problem = problemOf(type, dim);
        problem.kvE4M3 = problem.kScale = problem.vScale = true;
        Plan plan = mustPlan(problem, target, onThreads());
        EXPECT_EQ(plan.schedule.family, FamilyKind::Fma)
            << target << ' ' << dim;
        EXPECT_EQ(verify(problem, plan.schedule, plan.map), std::nullopt);
        FmaThreads all(problem, plan.schedule);
        EXPECT_EQ(all.vectorElements, 16u);
        EXPECT_EQ(all.threadsPerKey * all.vectorsPerThread * 16, dim);
        EXPECT_EQ(all.queryElements * bytesOf(type), 16u);
        EXPECT_EQ(all.queryElements * all.queryVectors, dim);
      }
  }
}

TEST(Fma, CachesOfE4M3HaveWholeVectors) {
  Problem problem = problemOf(DataType::BF16, 64);
  problem.kvE4M3 = true;
  Schedule schedule = mustPlan(problem, "sm_90a", onThreads()).schedule;
  problem.headDimV = 72;
  EXPECT_TRUE(contains(check(problem, schedule).value_or(""),
                       "plan.C2: expected head_dim_v to be a multiple of 16, "
                       "the elements of 16 bytes, from 16 to 256 with family = "
                       "fma, got 72; take 80"));
}

/// Four rows of vectors of 16 elements do not fit the registers of a thread.
TEST(Fma, PacksTwoHeadsWithCachesOfE4M3) {
  Problem problem = problemOf(DataType::BF16, 64);
  problem.kvE4M3 = true;
  problem.qHeadsHint = 8;
  problem.kvHeadsHint = 2;
  Schedule schedule = mustPlan(problem, "sm_90a", onThreads()).schedule;
  EXPECT_EQ(schedule.packHeads, 2u);
  schedule.packHeads = schedule.qTileRows = 4;
  EXPECT_TRUE(contains(check(problem, schedule).value_or(""),
                       "plan.C3: expected pack_heads to be 1 or 2 with k and v "
                       "of e4m3 and family = fma, whose threads keep all rows "
                       "in registers, got 4"));
}

TEST(Fma, TensorCoresDoNotTakeQueriesOfE4M3) {
  Overrides onCores =
      Overrides().fix(Choice::Family, unsigned(FamilyKind::Mma));
  Problem stored = problemOf(DataType::E4M3, 64);
  for (const char *target : {"sm_90a", "sm_100a"}) {
    std::string error = mustFail(stored, target, onCores);
    EXPECT_TRUE(contains(error, "plan.C1: expected q, k and v of f16 or bf16 "
                                "with family = mma, got e4m3"))
        << error;
  }
}

TEST(Fma, OutputsHaveTypesOfTheirOwn) {
  Problem problem = problemOf(DataType::E4M3, 64);
  for (DataType type : {DataType::F32, DataType::F16, DataType::BF16}) {
    problem.setOutDtype(type);
    EXPECT_EQ(problem.outDtype(), type);
    Problem part = partOf(problem);
    EXPECT_EQ(part.outDtype(), DataType::F32);
  }
  problem = problemOf(DataType::F16, 64);
  problem.setOutDtype(DataType::F16);
  EXPECT_FALSE(problem.outF16 || problem.outBF16 || problem.outF32);
  EXPECT_EQ(problem.outDtype(), DataType::F16);
}

/// The heads of a KV head share its keys.
TEST(Fma, PacksTheGroup) {
  struct {
    unsigned qHeads, kvHeads, packed;
  } const cases[] = {{8, 8, 1}, {8, 4, 2}, {6, 2, 4}, {8, 2, 4}, {16, 1, 4}};
  for (auto [qHeads, kvHeads, packed] : cases) {
    Problem problem = problemOf(DataType::F32, 64);
    problem.qHeadsHint = qHeads;
    problem.kvHeadsHint = kvHeads;
    Schedule schedule = mustPlan(problem, "sm_90a").schedule;
    EXPECT_EQ(schedule.packHeads, packed) << qHeads << ' ' << kvHeads;
    EXPECT_EQ(schedule.qTileRows, packed);
  }
}

TEST(Fma, SplitsAFewLongSequences) {
  Problem problem = withHints(
      problemOf(DataType::F32, 128),
      {.batch = 1, .qHeads = 8, .kvHeads = 8, .qLen = 1, .kvLen = 1 << 17});
  EXPECT_GT(mustPlan(problem, "sm_90a").schedule.splits, 4u);
  problem.batchHint = 256;
  EXPECT_EQ(mustPlan(problem, "sm_90a").schedule.splits, 1u);
}

/// Each vector of a key has one thread, and each column of a value one thread
/// for each slot.
TEST(Fma, ThreadsCoverKeysAndValues) {
  for (DataType type : {DataType::F32, DataType::BF16})
    for (unsigned dim : {32, 48, 80, 96, 160, 192, 256}) {
      Problem problem = problemOf(type, dim);
      Schedule schedule = mustPlan(problem, "sm_90a", onThreads()).schedule;
      FmaThreads all(problem, schedule);
      EXPECT_EQ(all.threadsPerKey * all.vectorsPerThread * all.vectorElements,
                dim);
      EXPECT_EQ(32 % all.threadsPerKey, 0u) << "a key has one warp";
      EXPECT_EQ(all.keysAtOnce * all.threadsPerKey, all.threads);
      EXPECT_EQ(all.valueVectors * all.vectorElements, dim);
      EXPECT_GE(all.valueSlots, 1u);
      EXPECT_LE(all.valueSlots * all.valueVectors, all.threads);
    }
}

TEST(Fma, RegionsHoldScoresOfTwoBlocks) {
  Problem problem = problemOf(DataType::F32, 128);
  Plan plan = mustPlan(problem, "sm_90a", onThreads());
  const SmemRegion *scores = plan.map.findSmem("S");
  ASSERT_TRUE(scores);
  EXPECT_EQ(scores->stages, 2u);
  EXPECT_EQ(scores->bytes, plan.schedule.kvBlock * 4);
  EXPECT_EQ(plan.map.findSmem("Q")->bytes, 128 * 4u);
  EXPECT_FALSE(plan.map.findSmem("KV"));
  MemoryMap smaller = plan.map;
  smaller.smem[1].stages = 1;
  EXPECT_TRUE(contains(*verify(problem, plan.schedule, smaller), "map.V2"));
}

TEST(Fma, RulesNameTheWayOut) {
  struct {
    std::function<void(Problem &, Schedule &)> change;
    const char *message;
  } const cases[] = {
      {[](Problem &p, Schedule &) { p.headDim = 30; },
       "plan.C2: expected head_dim to be a multiple of 4, the elements of 16 "
       "bytes, from 4 to 256 with family = fma, got 30; take 32"},
      {[](Problem &p, Schedule &) { p.headDimV = 512; }, "take 256"},
      {[](Problem &, Schedule &s) { s.qTiles = 2; },
       "plan.C3: expected q_tiles to be 1 with family = fma, got 2"},
      {[](Problem &, Schedule &s) { s.packHeads = s.qTileRows = 8; },
       "plan.C3: expected pack_heads to be 1, 2 or 4 with family = fma"},
      {[](Problem &, Schedule &s) { s.qTileRows = 64; },
       "plan.C3: expected q_tile_rows to be pack_heads with family = fma"},
      {[](Problem &, Schedule &s) { s.kvBlock = 2048; },
       "plan.C3: expected kv_block to be a multiple of 16 from 16 to 1024"},
      {[](Problem &p, Schedule &) { p.score = true; },
       "plan.C8: expected no score_mod region with family = fma, got one; "
       "convert q, k and v to f16 or bf16 and take family = mma"},
      {[](Problem &p, Schedule &) { p.source2 = true; },
       "plan.C8: expected one KV segment with family = fma, got two"},
      {[](Problem &p, Schedule &) { p.cuSeqlensQ = true; },
       "plan.C8: expected no packed sequences"},
      {[](Problem &, Schedule &s) { s.kvStages = 2; },
       "plan.C8: expected kv_stages to be 1 with family = fma"},
      {[](Problem &, Schedule &s) { s.scheduler = Scheduler::Static; },
       "plan.C8: expected scheduler to be single with family = fma, where it "
       "has no other meaning, got static"},
      {[](Problem &, Schedule &s) { s.pPlacement = PPlacement::Registers; },
       "plan.C5: expected p_placement to be smem with family = fma"},
      {[](Problem &, Schedule &s) { s.rescaleThreshold = 8; },
       "plan.C7: expected rescale_threshold = 0 with family = fma"},
      {[](Problem &, Schedule &s) { s.roles[0].name = "mma"; },
       "plan.C9: expected one role \"compute\" from warp 0"},
      {[](Problem &, Schedule &s) { s.roles[0].warps = 3; },
       "plan.C9: expected 2, 4 or 8 warps with family = fma, got 3"},
      {[](Problem &, Schedule &s) { s.roles[0].registers = 64; },
       "plan.C11: expected 128 to 248 registers per thread"}};
  for (const auto &[change, message] : cases) {
    std::string got = checkAfter(change);
    EXPECT_TRUE(contains(got, message)) << "got: " << got;
  }
  EXPECT_EQ(checkAfter([](Problem &, Schedule &) {}), "");
}

TEST(Fma, NeighborsReadNeighboringKeysInVectors) {
  Problem problem = problemOf(DataType::F32, 128);
  Schedule schedule = mustPlan(problem, "sm_90a").schedule;
  EXPECT_EQ(FmaThreads(problem, schedule).partStep, 1u);
  problem.keyVectors = true;
  FmaThreads all(problem, schedule);
  EXPECT_EQ(all.partStep * all.threadsPerKey, 32u);
  EXPECT_TRUE(contains(
      mustFail(problem, "sm_90a",
               Overrides().fix(Choice::Family, unsigned(FamilyKind::Mma))),
      "got f32"));
  problem.dtype = DataType::BF16;
  EXPECT_EQ(mustPlan(problem, "sm_100a").schedule.family, FamilyKind::Fma);
}

/// Bytes of keys and values count, so f32 takes twice as long as f16 where L2
/// bounds.
TEST(Fma, CostGrowsWithBytesAndRows) {
  auto costOf = [](DataType type, unsigned rows) {
    Problem problem = problemOf(type, 128);
    Overrides overrides = onThreads().fix(Choice::PackHeads, rows);
    return modelCost(problem, mustPlan(problem, "sm_90a", overrides).schedule);
  };
  Cost one = costOf(DataType::F32, 1), half = costOf(DataType::F16, 1);
  EXPECT_EQ(one.bound(), Unit::L2);
  EXPECT_DOUBLE_EQ(one.clocks, 2 * half.clocks);
  EXPECT_LT(costOf(DataType::F32, 4).clocksPerRow, one.clocksPerRow);
}

} // namespace
