//===- CheckTest.cpp - Every rule of check(), kept and broken ---*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckCase.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <cmath>
#include <functional>

using namespace fmha::schedule;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

TEST(Check, AcceptsASoundSchedule) {
  EXPECT_EQ(violation([](Problem &, Schedule &) {}), "");
}

TEST(Check, C1Target) {
  EXPECT_EQ(violation([](auto &, Schedule &s) { s.target = "sm_103a"; }), "");
  EXPECT_EQ(
      violation([](auto &, Schedule &s) { s.target = "sm_13"; }),
      "plan.C1: expected a known target (sm_100a, sm_103a, sm_120, sm_80, "
      "sm_86, sm_89, sm_90a), got \"sm_13\"");
  EXPECT_THAT(violation([](auto &, Schedule &s) { s.target = "sm_75"; }),
              AllOf(StartsWith("plan.C1: "), HasSubstr("sm_75"),
                    HasSubstr("take one of sm_100a, sm_103a, sm_120, ")));
}

TEST(Check, C2HeadDims) {
  // Every multiple of 8 that two whole tiles have room for.
  for (unsigned dim = 8; dim <= 128; dim += 8)
    EXPECT_EQ(violation([&](Problem &p, auto &) { p = problemOf(dim); }), "")
        << dim;
  EXPECT_EQ(violation([](Problem &p, auto &) { p.headDimV = 40; }), "");
  EXPECT_EQ(
      violation([](Problem &p, auto &) { p = problemOf(60); }),
      "plan.C2: expected head_dim to be a positive multiple of 8, since rows "
      "are copied 16 bytes at a time, got 60; take 56 or 64");
  EXPECT_THAT(violation([](Problem &p, auto &) { p.headDimV = 4; }),
              AllOf(StartsWith("plan.C2: expected head_dim_v to be a positive"),
                    HasSubstr("got 4; take 8")));
  EXPECT_THAT(violation([](Problem &p, auto &) { p = problemOf(0); }),
              HasSubstr("got 0; take 8"));
  EXPECT_EQ(
      violation([](Problem &p, auto &) { p = problemOf(256); }),
      "plan.C2: 2 query tiles need 768 tensor-memory columns (S 128 and O 256 "
      "each), 512 are available; take o_columns of at most 128, or one query "
      "tile");
  EXPECT_THAT(
      violation([](Problem &p, Schedule &s) {
        p = problemOf(512);
        s.qTiles = 1;
      }),
      HasSubstr("1 query tile needs 640 tensor-memory columns (S 128 "
                "and O 512 each), 512 are available; take o_columns of at "
                "most 384, or q_tile_rows = 64"));
  // S of 64 rows lies next to O or in the other lanes.
  EXPECT_THAT(
      violation([](Problem &p, Schedule &s) {
        p.headDimV = 576;
        s.qTiles = 1;
        s.qTileRows = 64;
      }),
      HasSubstr("1 query tile needs 576 tensor-memory columns (S 128 "
                "and O 576 each), 512 are available; take o_columns of at "
                "most 512"));
  EXPECT_THAT(violation([](Problem &p, auto &) {
                p.vInK = true;
                p.headDimV = 136;
              }),
              HasSubstr("at most head_dim, got 136 and 128"));
}

TEST(Check, C3PackedHeads) {
  for (unsigned heads = 1; heads <= 128; heads *= 2)
    EXPECT_EQ(violation([&](auto &, Schedule &s) { s.packHeads = heads; }), "");
  for (unsigned heads : {0u, 3u, 96u, 256u})
    EXPECT_EQ(violation([&](auto &, Schedule &s) { s.packHeads = heads; }),
              "plan.C3: expected pack_heads to be a power of two of at most "
              "q_tile_rows, 128, got " +
                  std::to_string(heads));
  EXPECT_THAT(violation([](auto &, Schedule &s) {
                s.qTiles = 1;
                s.qTileRows = 64;
                s.packHeads = 128;
              }),
              HasSubstr("at most q_tile_rows, 64, got 128"));
}

TEST(Check, C3Tiles) {
  EXPECT_EQ(violation([](auto &, Schedule &s) { s.qTiles = 1; }), "");
  EXPECT_EQ(violation([](auto &, Schedule &s) { s.qTiles = 3; }),
            "plan.C3: expected q_tiles to be 1 or 2, got 3");
  EXPECT_THAT(violation([](auto &, Schedule &s) { s.qTileRows = 64; }),
              StartsWith("plan.C3: expected one query tile of 64 rows, got 2"));
  EXPECT_EQ(violation([](auto &, Schedule &s) {
              s.qTileRows = 64;
              s.qTiles = 1;
            }),
            "");
  for (unsigned rows : {0u, 32u, 96u, 256u})
    EXPECT_THAT(violation([=](auto &, Schedule &s) { s.qTileRows = rows; }),
                StartsWith("plan.C3: expected q_tile_rows to be 64 or 128"));
  for (unsigned keys : {16u, 32u, 48u, 64u, 80u, 96u, 112u})
    EXPECT_EQ(violation([=](auto &, Schedule &s) {
                s.kvBlock = keys;
                s.pSlices = 1;
              }),
              "");
  for (unsigned keys : {0u, 8u, 40u, 100u, 144u, 256u})
    EXPECT_THAT(violation([=](auto &, Schedule &s) { s.kvBlock = keys; }),
                StartsWith("plan.C3: expected kv_block to be a multiple of 16 "
                           "from 16 to 128, got"));
}

TEST(Check, C4CtaGroup) {
  auto paired = [](auto change) {
    return violation([=](Problem &p, Schedule &s) {
      s.ctaGroup = 2;
      s.qTiles = 1;
      change(p, s);
    });
  };
  auto fieldOf = [&](auto change) {
    return paired([=](Problem &, Schedule &s) { change(s); });
  };
  auto featureOf = [&](auto change) {
    return paired([=](Problem &p, Schedule &) { change(p); });
  };
  EXPECT_EQ(fieldOf([](Schedule &) {}), "");
  EXPECT_THAT(fieldOf([](Schedule &s) { s.ctaGroup = 3; }),
              StartsWith("plan.C4: expected cta_group to be 1 or 2, got 3"));
  EXPECT_EQ(fieldOf([](Schedule &s) { s.qTiles = 2; }), "");
  EXPECT_THAT(fieldOf([](Schedule &s) { s.oColumns = 64; }),
              StartsWith("plan.C4: expected o_columns to be 0 with cta_group"));
  EXPECT_THAT(fieldOf([](Schedule &s) { s.qTileRows = 32; }),
              StartsWith("plan.C3: expected q_tile_rows to be 64 or 128"));
  EXPECT_THAT(fieldOf([](Schedule &s) { s.packHeads = 4; }),
              StartsWith("plan.C4: expected pack_heads to be 1 with cta_group "
                         "= 2 and tiles of 128 rows, got 4"));
  EXPECT_THAT(fieldOf([](Schedule &s) { s.splits = 2; }),
              StartsWith("plan.C4: expected splits to be 1"));
  EXPECT_EQ(fieldOf([](Schedule &s) { s.scheduler = Scheduler::Static; }), "");
  EXPECT_EQ(featureOf([](Problem &p) { p.mask.left = 100; }), "");
  EXPECT_THAT(featureOf([](Problem &p) { p.source2 = true; }),
              AllOf(StartsWith("plan.C4: "),
                    HasSubstr("got one with a second KV segment"),
                    HasSubstr("take cta_group = 1")));
  EXPECT_THAT(
      featureOf([](Problem &p) { p.headDimV = 80; }),
      AllOf(StartsWith("plan.C4: "), HasSubstr("multiple of 32 up to 256")));
}

TEST(Check, C5Placement) {
  auto with = [](PPlacement placement) {
    return violation([=](auto &, Schedule &s) { s.pPlacement = placement; });
  };
  EXPECT_EQ(with(PPlacement::Tmem), "");
  EXPECT_EQ(with(PPlacement::Smem), "");
  EXPECT_THAT(with(PPlacement::Auto), StartsWith("plan.C5: "));
  EXPECT_THAT(
      with(PPlacement::Registers),
      AllOf(StartsWith("plan.C5: "), HasSubstr("is not available on sm_100a")));
}

TEST(Check, C5PlacementInTheLanesOfO) {
  // O of 384 columns leaves S of 128 its lanes, and P over S is read from
  // there.
  auto with = [](unsigned headDimV, PPlacement placement) {
    return violation([=](Problem &p, Schedule &s) {
      p.headDimV = headDimV;
      s.qTiles = 1;
      s.qTileRows = 64;
      s.kvStages = 2;
      s.valueChunk = 64;
      s.pPlacement = placement;
    });
  };
  EXPECT_EQ(with(384, PPlacement::Tmem), "");
  EXPECT_EQ(with(392, PPlacement::Smem), "");
  EXPECT_EQ(with(512, PPlacement::Smem), "");
  EXPECT_EQ(with(392, PPlacement::Tmem),
            "plan.C5: p_placement tmem is not available where O of 400 columns "
            "leaves "
            "S of 128 the other lanes, since tcgen05.mma reads A from the "
            "lanes of D; take smem, or o_columns of at most 384");
}

TEST(Check, C6SharedMemory) {
  auto stages = [](unsigned count, PPlacement placement) {
    return violation([=](auto &, Schedule &s) {
      s.kvStages = count;
      s.pPlacement = placement;
    });
  };
  EXPECT_THAT(stages(1, PPlacement::Tmem),
              StartsWith("plan.C6: expected at least 2 KV stages"));
  EXPECT_EQ(stages(2, PPlacement::Tmem), "");
  EXPECT_EQ(stages(5, PPlacement::Tmem), "");
  EXPECT_EQ(stages(3, PPlacement::Smem), "");
  // 64 KiB of Q, 6 x 32 KiB of KV, 1040 + 512 bytes of the rest.
  EXPECT_THAT(stages(6, PPlacement::Tmem),
              AllOf(StartsWith("plan.C6: "), HasSubstr("need 263696 bytes"),
                    HasSubstr("232448 are available (31248 too many)")));
  EXPECT_THAT(stages(4, PPlacement::Smem), StartsWith("plan.C6: "));
  EXPECT_THAT(stages(1000, PPlacement::Tmem), StartsWith("plan.C6: "));
  EXPECT_THAT(stages(~0u, PPlacement::Tmem), StartsWith("plan.C6: "));
}

TEST(Check, C8EmulatedExponentialsNeedRegisters) {
  auto with = [](unsigned percent, unsigned tiles, bool emulating = true,
                 unsigned headDim = 128) {
    return violation([=](Problem &p, Schedule &s) {
      p.headDim = p.headDimV = headDim;
      s.exp2EmulatedPercent = percent;
      s.qTiles = tiles;
      s.kvStages = 2;
      s.oColumns = headDim > 128 && tiles == 2 ? 64 : 0;
      if (!emulating)
        s.roles = defaultRoles(1);
    });
  };
  EXPECT_EQ(with(25, 1), "");
  EXPECT_EQ(with(0, 2), "");
  EXPECT_THAT(
      with(26, 1),
      StartsWith(
          "plan.C8: expected exp2_emulated of at most 25, where softmax"));
  EXPECT_EQ(with(25, 2), "");
  EXPECT_EQ(
      with(12, 2, false),
      "plan.C11: expected at least 200 registers of role \"softmax1\", with "
      "which no kernel spills, got 24; take no roles for the planner's "
      "counts");
  EXPECT_THAT(
      with(12, 2, true, 136),
      StartsWith("plan.C8: expected q_tiles = 1 with exp2_emulated and a "
                 "head dim above 128"));
  EXPECT_EQ(with(12, 1, true, 136), "");
  // ptxas spilled at 88, 96, 104 and 112 columns of O.
  for (unsigned dim : {80u, 120u, 128u})
    EXPECT_EQ(with(12, 2, true, dim), "");
  for (unsigned dim : {88u, 112u})
    EXPECT_THAT(with(12, 2, true, dim),
                HasSubstr("exp2_emulated, a head_dim_v above 80 and a "
                          "head_dim_v of at most 112"));
}

TEST(Check, C8EmulatedExponentialsBesideAnotherTile) {
  // What leaves roles too few registers for both.
  auto emulating = [](const std::function<void(Problem &, Schedule &)> &more) {
    return violation([&](Problem &p, Schedule &s) {
      s.exp2EmulatedPercent = 12;
      more(p, s);
    });
  };
  auto unnormalized = [](Scheduler scheduler) {
    return [=](Problem &p, Schedule &s) {
      p.unnormalised = true;
      s.rescaleThreshold = 0;
      s.scheduler = scheduler;
    };
  };
  EXPECT_EQ(emulating(unnormalized(Scheduler::Single)), "");
  EXPECT_THAT(emulating(unnormalized(Scheduler::Static)),
              HasSubstr("exp2_emulated, scheduler static and an "
                        "unnormalized output"));
  // None of these makes ptxas spill.
  EXPECT_EQ(emulating([](auto &, Schedule &s) { s.packHeads = 8; }), "");
  for (bool Problem::*list : {&Problem::kvLens, &Problem::cuSeqlensQ,
                              &Problem::cuSeqlensK, &Problem::source2Lens})
    EXPECT_EQ(emulating([=](Problem &p, auto &) { p.*list = true; }), "");
  EXPECT_EQ(emulating([](Problem &p, auto &) { p.outF32 = true; }), "");
  EXPECT_EQ(emulating([](Problem &p, auto &) { p.captures = {{"f32", 1}}; }),
            "");
  EXPECT_EQ(emulating([](auto &, Schedule &s) {
              s.pPlacement = PPlacement::Smem;
              s.kvStages = 2;
            }),
            "");
}

TEST(Check, AcceptsBoundsOfSequencesInALoopOfTwoTiles) {
  for (Scheduler scheduler : {Scheduler::Static, Scheduler::Dynamic})
    EXPECT_EQ(violation([=](Problem &p, Schedule &s) {
                p.kvLens = true;
                p.mask.left = 100;
                s.scheduler = scheduler;
              }),
              "");
}

TEST(Check, C8SplitsOfTwoSourcesKeepBoundsOfSequences) {
  auto without = [](int left) {
    return violation([=](Problem &p, Schedule &s) {
      p.kvLens = left != 0;
      if (left != 1)
        p.mask.left = 100;
      p.source2 = left != 2;
      s.splits = left == 3 ? 1 : 3;
      s.qTiles = left == 4 ? 1 : 2;
      s.rescaleThreshold = 0;
    });
  };
  EXPECT_THAT(without(-1),
              StartsWith("plan.C8: expected q_tiles = 1 with splits, a "
                         "second KV segment, varlen metadata"));
  for (int left = 0; left < 5; ++left)
    EXPECT_EQ(without(left), "") << left;
}

TEST(Check, C8PackedHeadsAndListsBesideAnotherTile) {
  auto without = [](int left, unsigned tiles, Scheduler scheduler) {
    return violation([=](Problem &p, Schedule &s) {
      p.cuSeqlensQ = left != 0;
      if (left != 1)
        p.captures = {{"f32", 1}};
      s.packHeads = left == 2 ? 1 : 8;
      s.qTiles = tiles;
      s.scheduler = scheduler;
    });
  };
  EXPECT_THAT(
      without(-1, 2, Scheduler::Single),
      StartsWith("plan.C8: expected q_tiles = 1 with packed heads, varlen "
                 "metadata and a score_mod that reads"));
  EXPECT_EQ(without(-1, 1, Scheduler::Single), "");
  EXPECT_EQ(without(-1, 1, Scheduler::Dynamic), "");
  for (int left = 0; left < 3; ++left)
    EXPECT_EQ(without(left, 2, Scheduler::Dynamic), "") << left;
}

TEST(Check, C8ProductsOfWideHeadsComeInChunks) {
  auto with = [](unsigned headDim, unsigned chunk, bool shared = false,
                 unsigned rows = 128) {
    return violation([=](Problem &p, Schedule &s) {
      p.headDim = headDim;
      p.headDimV = 64;
      p.vInK = shared;
      s.qTiles = 1;
      s.kvBlock = 64;
      s.kvStages = 2;
      s.qTileRows = rows;
      s.keyChunk = chunk;
      s.shareKv = shared;
    });
  };
  EXPECT_EQ(with(256, 0), "");
  for (unsigned headDim : {264u, 320u, 384u}) {
    EXPECT_THAT(
        with(headDim, 0),
        AllOf(StartsWith("plan.C8: expected key_chunk of at most 256 with a "
                         "head dim above 256 and query tiles of 128 "
                         "rows, where the MMA role has "),
              EndsWith(" (row wideProducts of RegisterDemand.def), got " +
                       std::to_string(headDim) +
                       "; take key_chunk of at most 256")));
    EXPECT_EQ(with(headDim, 256), "");
    EXPECT_EQ(with(headDim, 64), "");
    EXPECT_EQ(with(headDim, 0, /*shared=*/true), "");
    EXPECT_EQ(with(headDim, 0, /*shared=*/false, /*rows=*/64), "");
  }
  EXPECT_THAT(with(384, 320),
              StartsWith("plan.C8: expected key_chunk of at most 256"));
}

TEST(Check, AcceptsPackedHeadsAndReadsForEachKeyBehindALeftBound) {
  for (unsigned rows : {64u, 128u})
    EXPECT_EQ(violation([=](Problem &p, Schedule &s) {
                p.captures = {{"f32", 1}, {"f32", 4}};
                p.scoreByKey = true;
                p.mask.left = 100;
                s.packHeads = 8;
                s.qTiles = 1;
                s.qTileRows = rows;
              }),
              "")
        << rows;
}

TEST(Check, C8FeaturesThatNoPassBuilds) {
  EXPECT_THAT(
      violation([](auto &, Schedule &s) { s.scheduler = Scheduler(3); }),
      StartsWith("plan.C8: expected scheduler to be single, static or "
                 "dynamic, since no pass implements anything else; got 3"));
  EXPECT_THAT(violation([](auto &, Schedule &s) {
                // The default threshold goes with no number of splits.
                s.splits = 257;
              }),
              StartsWith("plan.C8: expected splits to be from 1 to 256"));
}

TEST(Check, C6NamesOnlyWhatCanBeHad) {
  auto with = [](const char *target, unsigned headDim, unsigned stages) {
    return violation([=](Problem &p, Schedule &s) {
      p.headDim = p.headDimV = headDim;
      s.target = target;
      s.qTiles = 1;
      s.qTileRows = 64;
      s.kvStages = stages;
      s.pPlacement = PPlacement::Smem;
      if (s.target == "sm_90a") {
        s.pPlacement = PPlacement::Registers;
        s.kvBlock = 32;
      }
    });
  };
  EXPECT_THAT(with("sm_100a", 256, 4),
              EndsWith("take fewer KV stages, a smaller key_chunk or a smaller "
                       "value_chunk"));
  EXPECT_THAT(with("sm_100a", 512, 2),
              EndsWith("take a smaller key_chunk or a smaller value_chunk"));
  EXPECT_THAT(with("sm_90a", 256, 20),
              EndsWith("take fewer KV stages or a smaller kv_block"));
}

TEST(Check, C8SlicesOfP) {
  auto with = [](unsigned slices, unsigned kvBlock, unsigned stages = 2) {
    return violation([=](auto &, Schedule &s) {
      s.pSlices = slices;
      s.kvBlock = kvBlock;
      s.kvStages = stages;
    });
  };
  for (unsigned slices : {1u, 2u, 4u, 8u})
    EXPECT_EQ(with(slices, 128), "");
  EXPECT_EQ(with(4, 64), "");
  EXPECT_EQ(with(3, 128),
            "plan.C8: expected p_slices to cut kv_block in equal slices of a "
            "multiple of 16 keys, the K step of an MMA, got 3 in 128; "
            "take one of 1, 2, 4, 8");
  EXPECT_THAT(with(0, 128), StartsWith("plan.C8: expected p_slices"));
  EXPECT_THAT(with(16, 128), StartsWith("plan.C8: expected p_slices"));
  EXPECT_THAT(with(8, 64), EndsWith("got 8 in 64; take one of 1, 2, 4"));
}

/// Two tiles have 10 mbarriers each, one more for each further slice, and 2 for
/// each stage: 2 · 22 + 2 · 10 are the 64 that are kept.
TEST(Check, C6SlicesOfPTakeBarriers) {
  auto with = [](unsigned slices, unsigned stages) {
    return violation([=](Problem &p, Schedule &s) {
      p.headDim = p.headDimV = 8;
      s.kvBlock = 64;
      s.pSlices = slices;
      s.kvStages = stages;
    });
  };
  EXPECT_EQ(with(1, 22), "");
  EXPECT_EQ(with(2, 21), "");
  EXPECT_THAT(with(2, 22),
              StartsWith("plan.C6: 22 stages of K and V need 66 mbarriers"));
}

/// check() for head dims 576 and 512, one tile, 256 columns of O and chunks of
/// 128 columns and 64 keys, after `change`.
static std::string
wideViolation(const std::function<void(Problem &, Schedule &)> &change) {
  return violation([&](Problem &p, Schedule &s) {
    p.headDim = 576;
    p.headDimV = 512;
    s.qTiles = 1;
    s.kvStages = 2;
    s.oColumns = 256;
    s.keyChunk = 128;
    s.valueChunk = 64;
    change(p, s);
  });
}

TEST(Check, C8Chunks) {
  EXPECT_EQ(wideViolation([](auto &, auto &) {}), "");
  EXPECT_THAT(wideViolation([](auto &, Schedule &s) { s.keyChunk = 96; }),
              StartsWith("plan.C8: expected key_chunk to be a multiple of 64"));
  for (unsigned keys : {8u, 48u, 256u})
    EXPECT_THAT(
        wideViolation([=](auto &, Schedule &s) { s.valueChunk = keys; }),
        StartsWith("plan.C8: expected value_chunk to be a multiple of 16 that "
                   "divides kv_block"));
  EXPECT_THAT(wideViolation([](auto &, Schedule &s) { s.oColumns = 208; }),
              StartsWith("plan.C8: expected o_columns to be a multiple of 64"));
  // All columns in one pass, and yet no schedule that an attribute can hold.
  EXPECT_THAT(wideViolation([](auto &, Schedule &s) { s.oColumns = 1000; }),
              StartsWith("plan.C8: expected o_columns to be a multiple of 16"));
  // Wider than the head: 576 columns of K, nine panels, and 512 of V.
  EXPECT_THAT(wideViolation([](auto &, Schedule &s) { s.keyChunk = 640; }),
              StartsWith("plan.C8: expected key_chunk to be at most 576, "));
  EXPECT_THAT(wideViolation([](auto &, Schedule &s) { s.oColumns = 528; }),
              StartsWith("plan.C8: expected o_columns to be at most 512, "));
  // Whole blocks of 144 and 64 KiB fit no ring next to a query of 144 KiB.
  EXPECT_THAT(
      wideViolation([](auto &, Schedule &s) {
        s.keyChunk = s.valueChunk = 0;
        s.qTileRows = 64;
      }),
      AllOf(StartsWith("plan.C6: "), HasSubstr("2 KV stages of 147456 bytes"),
            HasSubstr("take a smaller key_chunk or a smaller value_chunk")));
}

TEST(Check, C3TwoTilesTakeWholeBlocks) {
  EXPECT_THAT(
      violation([](auto &, Schedule &s) { s.keyChunk = 64; }),
      AllOf(StartsWith("plan.C3: expected key_chunk and value_chunk to be 0 "
                       "with 2 query tiles"),
            HasSubstr("got 64 and 0")));
  EXPECT_THAT(violation([](auto &, Schedule &s) { s.valueChunk = 64; }),
              StartsWith("plan.C3: "));
}

TEST(Check, C6RingsOfTheirOwn) {
  auto stages = [](unsigned kv, unsigned v) {
    return violation([=](auto &, Schedule &s) {
      s.kvStages = kv;
      s.vStages = v;
    });
  };
  EXPECT_EQ(stages(1, 1), "");
  EXPECT_EQ(stages(2, 3), "");
  EXPECT_THAT(stages(0, 1),
              StartsWith("plan.C6: expected at least 1 stage of K"));
  EXPECT_THAT(stages(3, 3), AllOf(StartsWith("plan.C6: "),
                                  HasSubstr("3 V stages of 32768 bytes")));
  EXPECT_THAT(violation([](Problem &p, Schedule &s) {
                p = problemOf(8);
                s.qTiles = 1;
                s.kvStages = 2;
                s.vStages = 26;
                s.valueChunk = 16;
              }),
              HasSubstr("need 66 mbarriers, 64 are kept"));
}

TEST(Check, C8OneMessageForKAndV) {
  auto shared = [](const std::function<void(Problem &, Schedule &)> &change) {
    return violation([&](Problem &p, Schedule &s) {
      p.vInK = true;
      s.shareKv = true;
      change(p, s);
    });
  };
  EXPECT_EQ(shared([](auto &, auto &) {}), "");
  EXPECT_EQ(shared([](Problem &p, auto &) { p.headDimV = 64; }), "");
  EXPECT_THAT(
      shared([](Problem &p, auto &) { p.vInK = false; }),
      StartsWith("plan.C8: expected share_kv to be false, since V is no "
                 "view"));
  EXPECT_THAT(shared([](auto &, Schedule &s) { s.vStages = 2; }),
              AllOf(StartsWith("plan.C8: "), HasSubstr("got 2, 0 and 0")));
  EXPECT_THAT(
      shared([](auto &, Schedule &s) { s.oColumns = 64; }),
      StartsWith("plan.C8: expected o_columns to be 0 or head_dim_v with "
                 "share_kv"));
}

TEST(Check, C8ReadsForEachKeyBesideAnotherTile) {
  auto with = [](unsigned tiles, bool byKey) {
    return violation([&](Problem &p, Schedule &s) {
      p.score = true;
      p.captures = {{"f32", 4}};
      p.scoreByKey = byKey;
      s.qTiles = tiles;
    });
  };
  EXPECT_THAT(with(2, true),
              StartsWith("plan.C8: expected q_tiles = 1 with a score_mod"));
  EXPECT_EQ(with(2, false), "");
}

TEST(Check, C8CodeThatReadsWithPackedHeadsAndASecondSource) {
  auto with = [](unsigned rows, unsigned heads, bool second, bool reads) {
    return violation([&](Problem &p, Schedule &s) {
      p.score = true;
      p.source2 = second;
      if (reads)
        p.captures = {{"f32", 1}};
      s.packHeads = heads;
      s.qTileRows = rows;
      s.qTiles = 1;
      s.roles = defaultRoles(1);
    });
  };
  EXPECT_THAT(
      with(128, 16, true, true),
      StartsWith("plan.C8: expected q_tile_rows = 64 with packed heads"));
  EXPECT_EQ(with(64, 16, true, true), "");
  EXPECT_EQ(with(128, 1, true, true), "");
  EXPECT_EQ(with(128, 16, false, true), "");
  EXPECT_EQ(with(128, 16, true, false), "");
}
