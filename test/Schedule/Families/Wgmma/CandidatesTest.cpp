//===- CandidatesTest.cpp - What is planned for wgmma -----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Planning.h"

#include "fmha/Schedule/Model/Overrides.h"

#include "gmock/gmock.h"

#include <tuple>

using namespace fmha;
using namespace fmha::schedule;
using testing::HasSubstr;

/// What was fastest for long sequences without a mask on an H100.
TEST(CandidatesWgmma, PlansTilesForAnyLaunch) {
  auto tiles = [](Problem problem) {
    Schedule s = mustPlan(problem, "sm_90a").schedule;
    return std::pair(s.qTiles, s.kvBlock);
  };
  EXPECT_EQ(tiles(problemOf(64)), std::pair(3u, 128u));
  EXPECT_EQ(tiles(problemOf(128)), std::pair(3u, 80u));
  EXPECT_EQ(tiles(problemOf(256)), std::pair(2u, 80u));
}

/// Within 3 % of the fastest of all candidates there; with a causal mask on an
/// H100, where CTAs that draw tiles were measured (results).
TEST(CandidatesWgmma, PlansWhatWasFastestOnAnH200AndAnH100) {
  auto tiles = [](unsigned dim, Mask::Kind mask, unsigned length) {
    Problem problem = problemOf(dim);
    problem.mask.kind = mask;
    unsigned heads = 2048 / dim;
    problem =
        withHints(problem, {16384 / length, heads, heads, length, length});
    Schedule s = mustPlan(problem, "sm_90a").schedule;
    return std::tuple(s.qTiles, s.kvBlock, s.scheduler);
  };
  EXPECT_EQ(tiles(64, Mask::None, 2048),
            std::tuple(3u, 128u, Scheduler::Static));
  EXPECT_EQ(tiles(64, Mask::Causal, 16384),
            std::tuple(3u, 128u, Scheduler::Dynamic));
  EXPECT_EQ(tiles(128, Mask::Causal, 4096),
            std::tuple(2u, 128u, Scheduler::Dynamic));
  EXPECT_EQ(tiles(64, Mask::Causal, 2048),
            std::tuple(3u, 128u, Scheduler::Dynamic));
  EXPECT_EQ(tiles(128, Mask::Causal, 2048),
            std::tuple(2u, 128u, Scheduler::Dynamic));
  EXPECT_EQ(tiles(128, Mask::None, 8192),
            std::tuple(3u, 80u, Scheduler::Static));
  EXPECT_EQ(std::get<2>(tiles(256, Mask::Causal, 512)), Scheduler::Dynamic);
  EXPECT_EQ(tiles(256, Mask::None, 4096),
            std::tuple(2u, 80u, Scheduler::Static));
}

/// Packed sequences may be much shorter than the longest one, for which the
/// grid is: a CTA with a fixed share of the tiles may have no work.
TEST(CandidatesWgmma, DrawsTheTilesOfPackedQueries) {
  auto scheduler = [](Mask::Kind mask, bool packed, bool left) {
    Problem problem = problemOf(128);
    problem.mask.kind = mask;
    if (left)
      problem.mask.left = 100;
    problem.cuSeqlensQ = problem.cuSeqlensK = packed;
    problem = withHints(problem, {16, 16, 16, 2000, 2000});
    return mustPlan(problem, "sm_90a").schedule.scheduler;
  };
  for (Mask::Kind mask : {Mask::None, Mask::Causal}) {
    EXPECT_EQ(scheduler(mask, true, false), Scheduler::Dynamic);
    EXPECT_NE(scheduler(mask, true, true), Scheduler::Dynamic);
  }
  EXPECT_EQ(scheduler(Mask::None, false, false), Scheduler::Static);
}

/// Threads copy keys of small pages, and of pages of 16 if rows are long
/// (results/h100-page-copies-2026-11-26.md).
TEST(CandidatesWgmma, CopiesSmallPagesByThreads) {
  auto copy = [](unsigned dim, unsigned pageSize) {
    Problem problem = problemOf(dim);
    problem.pageSize = pageSize;
    problem.blockTables = problem.kvLens = pageSize != 0;
    Schedule s = mustPlan(problem, "sm_90a").schedule;
    EXPECT_EQ(s.findRole("gather") != nullptr, s.kvCopy == KvCopy::CpAsync);
    return s.kvCopy;
  };
  for (unsigned size : {1u, 2u, 8u})
    EXPECT_EQ(copy(128, size), KvCopy::CpAsync) << size;
  EXPECT_EQ(copy(256, 16), KvCopy::CpAsync);
  EXPECT_EQ(copy(128, 16), KvCopy::Tma);
  for (unsigned size : {0u, 32u, 256u})
    EXPECT_EQ(copy(256, size), KvCopy::Tma) << size;
  Problem listed = problemOf(128);
  listed.topk = true;
  EXPECT_EQ(mustPlan(listed, "sm_90a").schedule.kvCopy, KvCopy::CpAsync);
}

/// The rows of a CTA lie in one block of rows, and kv_block divides block_keys.
TEST(CandidatesWgmma, FitsTilesToListedBlocks) {
  auto plan = [](unsigned rows, unsigned keys, unsigned length = 8192) {
    Problem problem = withHints(problemOf(64), {2, 16, 16, length, length});
    problem.kvNumBlocks = problem.kvIndices = true;
    problem.blockRows = rows;
    problem.blockKeys = keys;
    Schedule s = mustPlan(problem, "sm_90a").schedule;
    EXPECT_EQ(s.splits, 1u);
    EXPECT_EQ(s.packHeads, 1u);
    EXPECT_EQ(s.scheduler, Scheduler::Dynamic);
    return std::pair(s.qTiles * s.qTileRows, s.kvBlock);
  };
  EXPECT_EQ(plan(128, 128), std::pair(128u, 128u));
  EXPECT_EQ(plan(64, 64), std::pair(64u, 64u));
  EXPECT_EQ(plan(384, 48).second, 48u);
  EXPECT_EQ(plan(16, 16).second, 16u);
  // As many rows as the list of one block, or several lists.
  EXPECT_EQ(plan(384, 128).first % 64, 0u);
  // One tile has no whole blocks of 48 rows, however few rows there are.
  EXPECT_EQ(plan(48, 48, 40).first, 192u);
}

/// Decoding reads each key once: two small CTAs per SM with few bytes under way
/// were fastest on an H200 (results/h200-decode-2026-11-26.md).
TEST(CandidatesWgmma, StreamsTheKeysOfDecoding) {
  auto plan = [](unsigned dim, unsigned batch, unsigned keys) {
    Problem problem = withHints(problemOf(dim), {batch, 64, 8, 1, keys});
    Schedule s = mustPlan(problem, "sm_90a").schedule;
    return std::tuple(s.qTiles, s.kvBlock, s.kvStages, s.ctasPerSm);
  };
  EXPECT_EQ(plan(128, 64, 4096), std::tuple(1u, 64u, 4u, 2u));
  EXPECT_EQ(plan(64, 64, 4096), std::tuple(1u, 128u, 4u, 2u));
  // L2 holds these keys; head dim 256 is planned like any other launch.
  EXPECT_NE(plan(128, 1, 8192), std::tuple(1u, 64u, 4u, 2u));
  EXPECT_NE(std::get<1>(plan(256, 64, 4096)), 32u);
}

/// Latent attention: two consumers share the columns of O and one message of K
/// and V. Blocks of 64 keys were the fastest of 32, 48 and 64 on an H100.
TEST(CandidatesWgmma, SharesTheColumnsOfLatentAttention) {
  auto plan = [](Hints hints) {
    Problem problem = problemOf(576);
    problem.headDimV = 512;
    problem.vInK = true;
    return mustPlan(withHints(problem, hints), "sm_90a").schedule;
  };
  for (Hints hints : {Hints{64, 128, 1, 1, 4096}, Hints{64, 16, 1, 4, 4096}}) {
    Schedule s = plan(hints);
    EXPECT_EQ(s.oColumns, 512u);
    EXPECT_EQ(s.kvBlock, 64u);
    EXPECT_EQ(s.pPlacement, PPlacement::Smem);
    EXPECT_TRUE(s.shareKv);
    EXPECT_NE(s.findRole("consumer1"), nullptr);
  }
  EXPECT_EQ(plan({64, 128, 1, 1, 4096}).splits, 1u);
  EXPECT_EQ(plan({64, 16, 1, 4, 4096}).splits, 2u);
}

/// The right bound of each sequence is one more number of each consumer.
TEST(CandidatesWgmma, LeavesRoomForTheBoundsOfSequences) {
  auto keys = [](bool lists, bool bound) {
    Problem problem = problemOf(128);
    problem.kvLens = lists;
    if (bound)
      problem.mask.kind = Mask::Causal;
    Overrides wanted;
    wanted.fix(Choice::QTiles, 3);
    wanted.pPlacement = PPlacement::Smem;
    return mustPlan(problem, "sm_90a", wanted).schedule.kvBlock;
  };
  EXPECT_EQ(keys(/*lists=*/false, /*bound=*/true), 128u);
  EXPECT_EQ(keys(/*lists=*/true, /*bound=*/false), 128u);
  EXPECT_EQ(keys(/*lists=*/true, /*bound=*/true), 112u);
}

/// Where a loop over tiles was faster there, and where it was slower.
TEST(CandidatesWgmma, PlansLoopsWhereTheyPaidOnAnH200) {
  auto scheduler = [](auto change, unsigned dim, unsigned heads) {
    Problem problem = problemOf(dim);
    change(problem);
    problem = withHints(problem, {4, heads, heads, 4096, 4096});
    return mustPlan(problem, "sm_90a").schedule.scheduler;
  };
  auto reads = [](Problem &p, unsigned tensors) {
    p.score = p.scoreByKey = true;
    p.captures.assign(tensors, {"f32", 4});
  };
  EXPECT_EQ(scheduler([](Problem &p) { p.outF32 = true; }, 128, 16),
            Scheduler::Static);
  EXPECT_EQ(scheduler([](Problem &p) { p.source2 = true; }, 128, 16),
            Scheduler::Static);
  EXPECT_EQ(scheduler([&](Problem &p) { reads(p, 1); }, 128, 16),
            Scheduler::Static);
  EXPECT_EQ(scheduler([&](Problem &p) { reads(p, 2); }, 128, 16),
            Scheduler::Single);
  EXPECT_EQ(scheduler([](Problem &) {}, 512, 4), Scheduler::Single);
}

/// Where sequences are short, waits at the ends of a tile are much of it, and
/// several CTAs wait apart (measured: results).
TEST(CandidatesWgmma, PlansSeveralCtasForShortSequences) {
  auto ctas = [](unsigned batch, unsigned length) {
    Problem problem = problemOf(64);
    problem.mask.kind = Mask::Causal;
    problem = withHints(problem, {batch, 32, 32, length, length});
    return mustPlan(problem, "sm_90a").schedule.ctasPerSm;
  };
  EXPECT_EQ(ctas(32, 512), 3u);
  EXPECT_EQ(ctas(1, 16384), 1u);
  // Nothing is known of few tiles, or of no launch at all.
  EXPECT_EQ(ctas(1, 512), 1u);
  EXPECT_EQ(mustPlan(problemOf(64), "sm_90a").schedule.ctasPerSm, 1u);
}

TEST(CandidatesWgmma, PlansOneTileWhereRowsFitIt) {
  for (unsigned rows : {1u, 63u, 64u})
    EXPECT_EQ(mustPlan(problemOf(128, rows), "sm_90a").schedule.qTiles, 1u)
        << rows;
  EXPECT_EQ(mustPlan(problemOf(128, 65), "sm_90a").schedule.qTiles, 2u);
}

TEST(CandidatesWgmma, PlansEveryHeadDim) {
  for (unsigned dim = 8; dim <= 512; dim += 8)
    for (bool byKey : {false, true}) {
      Problem problem = problemOf(dim);
      problem.score = problem.scoreByKey = byKey;
      Plan plan = mustPlan(problem, "sm_90a");
      EXPECT_GE(plan.schedule.kvStages, 2u) << dim;
    }
}

TEST(CandidatesWgmma, NamesTheWayOut) {
  Overrides tmem;
  tmem.pPlacement = PPlacement::Tmem;
  EXPECT_THAT(
      mustFail(problemOf(128), "sm_90a", tmem),
      HasSubstr("no tensor memory; the nearest that works: p_placement = "
                "registers"));
}

/// Takes at most 1.03 times as long as the fastest schedule measured, in
/// batches of 16 sequences of 64 to 2000 rows on an H100
/// (results/h100-skipped-blocks-2026-11-26.md). By the mean length alone, 2
/// query tiles would be planned, which took up to 1.13 times as long.
TEST(CandidatesWgmma, PlansPackedSequencesForLengthsThatDiffer) {
  auto tiles = [](unsigned dim, Mask::Kind mask) {
    Problem problem = problemOf(dim);
    problem.mask.kind = mask;
    problem.cuSeqlensQ = problem.cuSeqlensK = true;
    unsigned heads = 2048 / dim;
    problem = withHints(problem, {16, heads, heads, 1024, 1024});
    return mustPlan(problem, "sm_90a").schedule.qTiles;
  };
  EXPECT_EQ(tiles(64, Mask::Causal), 3u);
  EXPECT_EQ(tiles(64, Mask::None), 3u);
  EXPECT_EQ(tiles(128, Mask::Causal), 2u);
  EXPECT_EQ(tiles(128, Mask::None), 3u);
}
