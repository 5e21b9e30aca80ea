//===- ConvertTest.cpp - Caches of e4m3 with tensor memory ----------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Planning.h"

#include "fmha/Schedule/Cost/CostModel.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <functional>

using namespace fmha;
using namespace fmha::schedule;
using testing::HasSubstr;
using testing::StartsWith;

namespace {

Problem cacheOf(unsigned headDim) {
  Problem problem = problemOf(headDim);
  problem.kvE4M3 = problem.kScale = problem.vScale = true;
  return problem;
}

/// Returns the rule that a schedule violates in which a warpgroup converts
/// caches of e4m3, after `change`; "" if it violates none.
std::string
converted(const std::function<void(Problem &, Schedule &)> &change) {
  Problem problem = cacheOf(128);
  Schedule schedule;
  schedule.qTiles = 1;
  schedule.kvCopy = KvCopy::Convert;
  change(problem, schedule);
  return check(problem, withRoles(schedule)).value_or("");
}

const char *const targets[] = {"sm_100a", "sm_103a"};

} // namespace

TEST(ConvertTcgen05, PlansConversions) {
  for (const char *target : targets)
    for (unsigned dim : {16u, 64u, 128u, 192u, 256u, 512u})
      for (DataType type : {DataType::F16, DataType::BF16}) {
        Problem problem = cacheOf(dim);
        problem.dtype = type;
        Schedule s = mustPlan(problem, target).schedule;
        EXPECT_EQ(s.family, FamilyKind::Mma) << dim;
        EXPECT_EQ(s.kvCopy, KvCopy::Convert) << dim;
        const Role *role = s.findRole("convert");
        ASSERT_TRUE(role) << dim;
        EXPECT_EQ(role->warps, 4u);
        EXPECT_EQ(role->firstWarp % 4, 0u);
      }
  EXPECT_EQ(mustPlan(problemOf(128), "sm_100a").schedule.kvCopy, KvCopy::Tma);
}

/// One row per key is faster by plain threads, and keeps them.
TEST(ConvertTcgen05, LeavesSingleRowsToThreads) {
  Problem decoding = withHints(cacheOf(128), {64, 32, 32, 1, 1024});
  EXPECT_EQ(mustPlan(decoding, "sm_100a").schedule.family, FamilyKind::Fma);
  decoding = withHints(cacheOf(128), {64, 32, 8, 1, 1024});
  Schedule s = mustPlan(decoding, "sm_100a").schedule;
  EXPECT_EQ(s.kvCopy, KvCopy::Convert);
  EXPECT_EQ(s.packHeads, 4u);
}

/// One conversion of a block is both K and V: scales are factors of scores and
/// of the output, not of stored numbers.
TEST(ConvertTcgen05, SharesConversionsOfLatentCaches) {
  Problem latent = cacheOf(576);
  latent.headDimV = 512;
  latent.vInK = true;
  latent = withHints(latent, {1, 16, 1, 1, 4096});
  Schedule s = mustPlan(latent, "sm_100a").schedule;
  EXPECT_TRUE(s.shareKv);
  EXPECT_EQ(outputPasses(latent, s), 1u);
  EXPECT_EQ(s.kvCopy, KvCopy::Convert);
}

TEST(ConvertTcgen05, C8ConversionIsForE4M3) {
  EXPECT_EQ(converted([](auto &, auto &) {}), "");
  EXPECT_THAT(
      converted([](auto &, Schedule &s) { s.kvCopy = KvCopy::Tma; }),
      StartsWith("plan.C8: expected kv_copy = convert if and only if K and V "
                 "are of e4m3, got tma and K of e4m3; take kv_copy = convert"));
  EXPECT_THAT(
      converted([](Problem &p, auto &) { p.kvE4M3 = false; }),
      StartsWith("plan.C8: expected kv_copy = convert if and only if K and V "
                 "are of e4m3, got convert and K of bf16; leave kv_copy out"));
  EXPECT_THAT(
      converted([](auto &, Schedule &s) { s.kvCopy = KvCopy::CpAsync; }),
      StartsWith("plan.C8: expected kv_copy to be tma or gather4, or convert "
                 "for e4m3, on "
                 "sm_100a, got cp_async"));
}

TEST(ConvertTcgen05, C8ShapesThatAWarpgroupConverts) {
  EXPECT_THAT(
      converted([](Problem &p, auto &) { p.headDimV = 72; }),
      StartsWith("plan.C8: expected head dims to be multiples of 16 (16 "
                 "bytes of e4m3) with kv_copy = convert, got 128 and "
                 "72"));
  EXPECT_THAT(converted([](auto &, Schedule &s) { s.valueChunk = 16; }),
              StartsWith("plan.C8: expected value_chunk to be a multiple of 32 "
                         "with kv_copy = convert, got 16"));
  EXPECT_EQ(converted([](auto &, Schedule &s) { s.valueChunk = 32; }), "");
  EXPECT_THAT(converted([](auto &, Schedule &s) { s.qTiles = 2; }),
              StartsWith("plan.C8: expected q_tiles = 1, since the warps of a "
                         "second softmax convert with kv_copy = convert, got "
                         "2"));
  EXPECT_EQ(
      converted([](Problem &p, Schedule &s) { p.vInK = s.shareKv = true; }),
      "");
  EXPECT_THAT(converted([](Problem &p, auto &) { p.source2 = true; }),
              StartsWith("plan.C8: expected one KV segment with kv_copy = "
                         "convert, got two; compute each"));
}

TEST(ConvertTcgen05, C8BlocksOfWideHeads) {
  auto wide = [](unsigned rows, unsigned keys) {
    return converted([&](Problem &p, Schedule &s) {
      p.headDim = 320;
      s.oColumns = 64;
      s.qTileRows = rows;
      s.kvBlock = keys;
      s.kvStages = 2;
      s.keyChunk = 64;
    });
  };
  EXPECT_EQ(wide(128, 64), "");
  EXPECT_THAT(wide(128, 128),
              StartsWith("plan.C8: expected kv_block of at most 64 with caches "
                         "of e4m3, a head dim above 192 and query tiles of 128 "
                         "rows"));
}

/// A ring of four blocks has two scales of each key.
TEST(ConvertTcgen05, KeepsScalesOfPagesInSharedMemory) {
  Problem problem = cacheOf(128);
  problem.scalePerPage = problem.kvLens = problem.blockTables = true;
  problem.pageSize = 16;
  Schedule schedule = mustPlan(problem, "sm_100a").schedule;
  MemoryMap map = layOut(problem, schedule);
  EXPECT_EQ(verify(problem, schedule, map).value_or(""), "");
  ASSERT_TRUE(map.findSmem("factors"));
  EXPECT_EQ(map.findSmem("factors")->stages, 4u);
  EXPECT_EQ(map.findSmem("factors")->bytes, 2 * schedule.kvBlock * 4);
  problem.scalePerPage = false;
  EXPECT_EQ(layOut(problem, schedule).smemBytes,
            map.smemBytes - 4 * 2 * schedule.kvBlock * 4);
}

TEST(ConvertTcgen05, C8BlocksOfScalesOfPages) {
  auto rowsOf = [](unsigned rows, unsigned keys) {
    return converted([&](Problem &p, Schedule &s) {
      p.scalePerPage = true;
      s.qTileRows = rows;
      s.kvBlock = keys;
      s.kvStages = 2;
    });
  };
  EXPECT_EQ(rowsOf(64, 128), "");
  EXPECT_EQ(rowsOf(128, 64), "");
  EXPECT_THAT(rowsOf(128, 128),
              StartsWith("plan.C8: expected kv_block of at most 64 with a "
                         "scale per page and query tiles of 128 rows"));
}

/// P is multiplied by a ratio of scales of up to 2^8, and f16 ends below 2^16.
TEST(ConvertTcgen05, C7LeavesScalesOfPagesARange) {
  Problem problem = cacheOf(128);
  problem.scalePerPage = problem.kvLens = problem.blockTables = true;
  problem.pageSize = 16;
  EXPECT_EQ(mustPlan(problem, "sm_100a").schedule.rescaleThreshold, 8);
  problem.dtype = DataType::F16;
  Schedule schedule = mustPlan(problem, "sm_100a").schedule;
  EXPECT_EQ(schedule.pOffset, 4u);
  EXPECT_EQ(schedule.rescaleThreshold, 3);
  schedule.rescaleThreshold = 4;
  EXPECT_THAT(check(problem, schedule).value_or(""),
              StartsWith("plan.C7: expected p_offset of at most 3 for f16"));
}

TEST(ConvertTcgen05, C9ARoleForTheConversion) {
  EXPECT_THAT(converted([](auto &, Schedule &s) {
                Schedule other = s;
                other.kvCopy = KvCopy::Tma;
                s.roles = withRoles(other).roles;
              }),
              StartsWith("plan.C9: expected a role \"convert\" for"));
}

TEST(ConvertTcgen05, RefusesWhatOnlyThreadsRead) {
  Overrides onCores =
      Overrides().fix(Choice::Family, unsigned(FamilyKind::Mma));
  Problem problem = cacheOf(128);
  problem.keyVectors = true;
  EXPECT_THAT(mustFail(problem, "sm_103a", onCores),
              HasSubstr("plan.C1: expected keys with a whole head dim with "
                        "family = mma, got keys in vectors of 16 bytes"));
  problem = cacheOf(128);
  problem.setOutDtype(DataType::F16);
  EXPECT_THAT(
      mustFail(problem, "sm_100a", onCores),
      HasSubstr("plan.C1: expected an output of bf16, the type of q, or "
                "f32 with family = mma, got f16"));
}

/// A conversion to bf16 goes through f32, and takes longer than one to f16. The
/// products have 16 bits, and memory has half the bytes of a cache of bf16.
TEST(ConvertTcgen05, CostsConversions) {
  Schedule s;
  s.qTiles = 1;
  Problem cache = cacheOf(128), whole = problemOf(128);
  Cost plain = modelCost(whole, s);
  s.kvCopy = KvCopy::Convert;
  Cost toBf16 = modelCost(cache, s);
  cache.dtype = DataType::F16;
  Cost toHalf = modelCost(cache, s);
  EXPECT_EQ(toBf16.qkClocks, plain.qkClocks);
  EXPECT_EQ(toBf16.traffic.l2Read, plain.traffic.l2Read / 2);
  EXPECT_EQ(toBf16.traffic.smemWritten, plain.traffic.smemWritten);
  EXPECT_GT(toBf16.loads, toHalf.loads);
  EXPECT_GT(toHalf.loads, 0);
}
