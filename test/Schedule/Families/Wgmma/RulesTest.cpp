//===- RulesTest.cpp - Schedules for targets with wgmma ---------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WgmmaCase.h"

#include "fmha/Schedule/Model/Resources.h"

#include "gmock/gmock.h"

#include <functional>

using namespace fmha;
using namespace fmha::schedule;
using namespace fmha::schedule::wgmma;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

TEST(Wgmma, AcceptsConsumersOf64Rows) {
  EXPECT_EQ(violation([](auto &, auto &) {}), "");
  EXPECT_EQ(violation([](auto &, Schedule &s) { s.qTiles = 1; }), "");
  EXPECT_EQ(violation([](Problem &p, Schedule &s) {
              p = problemOf(64);
              s.qTiles = 3;
            }),
            "");
  EXPECT_EQ(
      violation([](auto &, Schedule &s) { s.pPlacement = PPlacement::Smem; }),
      "");
}

TEST(Wgmma, C2WhatAConsumerHolds) {
  // A thread has 2 of 4 threads' rows: kv_block / 2 scores, half as many words
  // of P, and 64 of O.
  EXPECT_EQ(violation([](auto &, Schedule &s) { s.kvBlock = 176; }), "");
  EXPECT_THAT(
      violation([](auto &, Schedule &s) { s.kvBlock = 192; }),
      StartsWith("plan.C2: a consumer needs 208 registers per thread (S 96, "
                 "O 64 and P 48), 200 are available"));
  EXPECT_THAT(violation([](auto &, Schedule &s) { s.qTiles = 3; }),
              StartsWith("plan.C2: a consumer needs 160 registers"));
  // Code that reads for each key holds as many numbers as there are scores.
  EXPECT_THAT(violation([](Problem &p, Schedule &s) {
                p.score = p.scoreByKey = true;
                s.kvBlock = 128;
              }),
              HasSubstr("for a score_mod 64"));
}

TEST(Wgmma, C8ThreeConsumersWithPInSmemBehindALeftBound) {
  auto with = [](unsigned keys, bool left, bool score, PPlacement placement) {
    return violation([=](Problem &p, Schedule &s) {
      p = problemOf(64);
      p.score = score;
      if (left)
        p.mask.left = 100;
      s.qTiles = 3;
      s.kvBlock = keys;
      s.kvStages = 2;
      s.pPlacement = placement;
    });
  };
  constexpr PPlacement smem = PPlacement::Smem;
  EXPECT_EQ(with(112, true, true, smem), "");
  EXPECT_THAT(with(128, true, true, smem),
              AllOf(StartsWith("plan.C8: expected kv_block of at most 112"),
                    EndsWith("got 128; take kv_block of at most 112")));
  EXPECT_EQ(with(128, false, true, smem), "");
  EXPECT_EQ(with(128, true, false, smem), "");
  EXPECT_EQ(with(80, true, true, PPlacement::Registers), "");
}

TEST(Wgmma, C2LongCodeOnScores) {
  auto with = [](unsigned keys, unsigned tiles = 2, unsigned ctas = 1,
                 Scheduler scheduler = Scheduler::Single) {
    return violation([=](Problem &p, Schedule &s) {
      p = problemOf(64);
      p.score = p.scoreIsLong = true;
      s.qTiles = tiles;
      s.ctasPerSm = ctas;
      s.kvBlock = keys;
      s.kvStages = 2;
      s.scheduler = scheduler;
    });
  };
  EXPECT_EQ(with(112), "");
  EXPECT_THAT(with(128),
              AllOf(StartsWith("plan.C2: a consumer needs 192 registers"),
                    HasSubstr("for a score_mod 64), 176 are available")));
  // A loop over tiles needs no more.
  EXPECT_EQ(with(112, 2, 1, Scheduler::Static), "");
  EXPECT_THAT(with(128, 2, 1, Scheduler::Static),
              HasSubstr("176 are available"));
  // Three consumers, and one of three CTAs, have room for narrow blocks.
  EXPECT_EQ(with(48, 3), "");
  EXPECT_THAT(with(64, 3), HasSubstr("104 are available"));
  EXPECT_EQ(with(64, 1, 2), "");
  EXPECT_EQ(with(32, 1, 3), "");
  EXPECT_THAT(with(64, 1, 3), HasSubstr("88 are available"));
}

TEST(Wgmma, C2CodeThatReadsForEachKeyInOneOfThreeCtas) {
  auto with = [](unsigned dim, unsigned keys) {
    return violation([=](Problem &p, Schedule &s) {
      p = problemOf(dim);
      p.score = p.scoreByKey = true;
      p.captures = {{"f32", 4}};
      s.qTiles = 1;
      s.ctasPerSm = 3;
      s.kvBlock = keys;
      s.kvStages = 2;
    });
  };
  EXPECT_EQ(with(64, 48), "");
  EXPECT_THAT(with(64, 64), HasSubstr("112 registers per thread"));
}

TEST(Wgmma, C2CodeThatReadsForEachKeyInThreeTiles) {
  auto with = [](unsigned keys) {
    return violation([=](Problem &p, Schedule &s) {
      p = problemOf(64);
      p.score = p.scoreByKey = true;
      s.qTiles = 3;
      s.kvBlock = keys;
      s.kvStages = 2;
    });
  };
  EXPECT_EQ(with(64), "");
  EXPECT_THAT(with(80), AllOf(StartsWith("plan.C2: a consumer needs 132"),
                              HasSubstr("120 are available")));
}

TEST(Wgmma, C2CodeThatReadsForEachKey) {
  auto with = [](unsigned keys, bool vector, bool loops) {
    return violation([=](Problem &p, Schedule &s) {
      p = problemOf(64);
      p.score = p.scoreByKey = true;
      p.captures = {{"f32", 4}};
      if (vector)
        p.captures.push_back({"f32", 1});
      s.qTiles = 1;
      s.kvBlock = keys;
      if (loops)
        s.scheduler = Scheduler::Static;
    });
  };
  EXPECT_EQ(with(128, false, false), "");
  EXPECT_THAT(with(128, true, false),
              AllOf(StartsWith("plan.C2: a consumer needs 256 registers"),
                    HasSubstr("for a score_mod 128), 190 are available")));
  EXPECT_EQ(with(80, true, false), "");
  EXPECT_THAT(with(128, false, true),
              AllOf(StartsWith("plan.C2: a consumer needs 192 registers"),
                    HasSubstr("190 are available")));
  EXPECT_EQ(with(112, false, true), "");
}

TEST(Wgmma, C2WhatEachOfThreeConsumersHolds) {
  auto with = [](unsigned dim, unsigned keys, PPlacement placement,
                 unsigned emulated = 0,
                 Scheduler scheduler = Scheduler::Single) {
    return violation([=](Problem &p, Schedule &s) {
      p = problemOf(dim);
      s.qTiles = 3;
      s.kvBlock = keys;
      s.kvStages = 2;
      s.pPlacement = placement;
      s.exp2EmulatedPercent = emulated;
      s.scheduler = scheduler;
    });
  };
  constexpr auto smem = PPlacement::Smem, registers = PPlacement::Registers;
  // ptxas leaves no accumulator more than 98 registers.
  EXPECT_EQ(with(192, 16, smem), "");
  EXPECT_EQ(with(208, 16, smem),
            "plan.C2: a thread starts with 128 registers where a CTA has 3 "
            "consumers, of which ptxas leaves 98 to S or O, got 104 (one for "
            "each 2 columns); take two query tiles or o_columns of at most "
            "192");
  // Two have 138.
  EXPECT_THAT(violation([](Problem &p, Schedule &s) {
                p = problemOf(280);
                s.qTiles = 3;
                s.kvBlock = 16;
              }),
              EndsWith("got 144 (one for each 2 columns); take o_columns of at "
                       "most 192"));
  EXPECT_THAT(violation([](Problem &p, Schedule &s) {
                p = problemOf(512);
                s.qTiles = 1;
                s.kvBlock = 16;
              }),
              AllOf(HasSubstr("where a CTA has one consumer, of"),
                    EndsWith("take o_columns of at most 384")));
  // A loop beside another tile is refused passes.
  EXPECT_THAT(
      violation([](Problem &p, Schedule &s) {
        p = problemOf(512);
        s.kvBlock = 16;
        s.scheduler = Scheduler::Static;
      }),
      EndsWith("take o_columns of at most 256 with the scheduler single"));
  // P on its way to shared memory, beside S of more than 176 keys.
  EXPECT_EQ(with(64, 176, smem), "");
  EXPECT_EQ(with(48, 192, smem), "");
  EXPECT_THAT(with(64, 192, smem), HasSubstr("120 are available"));
  // Polynomials need no more, also in a loop beside O that is as wide as S.
  for (unsigned emulated : {0u, 25u})
    for (Scheduler scheduler : {Scheduler::Single, Scheduler::Static}) {
      EXPECT_EQ(with(128, 80, registers, emulated, scheduler), "");
      EXPECT_EQ(with(96, 96, registers, emulated, scheduler), "");
      EXPECT_THAT(with(96, 112, registers, emulated, scheduler),
                  HasSubstr("132 registers per thread (S 56, O 48 and P 28), "
                            "128 are available"));
    }
}

TEST(Wgmma, C2CodeBesideFewRegisters) {
  auto with = [](unsigned dim, unsigned tiles, unsigned keys,
                 PPlacement placement, bool code,
                 Scheduler scheduler = Scheduler::Single) {
    return violation([=](Problem &p, Schedule &s) {
      p = problemOf(dim);
      p.score = code;
      s.qTiles = tiles;
      s.kvBlock = keys;
      s.kvStages = 2;
      s.pPlacement = placement;
      s.scheduler = scheduler;
    });
  };
  constexpr auto smem = PPlacement::Smem, registers = PPlacement::Registers;
  // Three consumers have 128: none for code, nor for P on its way in a loop.
  EXPECT_EQ(with(64, 3, 128, registers, false), "");
  EXPECT_THAT(with(64, 3, 128, registers, true),
              HasSubstr("120 are available besides those of softmax and a "
                        "score_mod"));
  EXPECT_EQ(with(64, 3, 112, registers, true), "");
  EXPECT_EQ(with(128, 3, 128, smem, false), "");
  EXPECT_THAT(with(128, 3, 128, smem, false, Scheduler::Static),
              HasSubstr("124 are available"));
  EXPECT_EQ(with(128, 3, 112, smem, false, Scheduler::Static), "");
  EXPECT_THAT(with(128, 3, 112, smem, true), HasSubstr("116 are available"));
  EXPECT_EQ(with(128, 3, 96, smem, true), "");
  // Beside 176 keys code needs more.
  EXPECT_EQ(with(64, 2, 176, registers, false), "");
  EXPECT_THAT(with(64, 2, 176, registers, true),
              HasSubstr("160 are available"));
  EXPECT_EQ(with(64, 2, 160, registers, true), "");
}

TEST(Wgmma, C2ReadsBesideOthers) {
  using Change = void (*)(Problem &, Schedule &);
  auto with = [](
                  unsigned dim, unsigned tiles, unsigned keys,
                  Change change = [](Problem &, Schedule &) {}) {
    return violation([=](Problem &p, Schedule &s) {
      p = problemOf(dim);
      p.score = p.scoreByKey = true;
      p.captures = {{"f32", 4}};
      s.qTiles = tiles;
      s.kvBlock = keys;
      s.kvStages = 2;
      change(p, s);
    });
  };
  // S 56, O 64, P 28 and 56 that are read: 204.
  EXPECT_EQ(with(128, 1, 112), "");
  EXPECT_THAT(with(128, 2, 112), HasSubstr("200 are available"));
  EXPECT_EQ(with(128, 2, 96), "");
  // Packed heads take none.
  Change packs = [](Problem &, Schedule &s) { s.packHeads = 8; };
  EXPECT_EQ(with(128, 1, 112, packs), "");
  // S 40, O 48, P 20 and 80 of two matrices: 188.
  Change two = [](Problem &p, Schedule &) { p.captures.push_back({"f32", 2}); };
  Change loops = [](Problem &p, Schedule &s) {
    p.captures.push_back({"f32", 2});
    s.scheduler = Scheduler::Static;
  };
  EXPECT_EQ(with(96, 1, 80, two), "");
  EXPECT_THAT(with(96, 1, 96, two), HasSubstr("190 are available"));
  EXPECT_THAT(with(96, 1, 80, loops), HasSubstr("180 are available"));
  EXPECT_EQ(with(96, 1, 64, loops), "");
  // S 40, O 32, P 20 and 80 of two matrices: 172. ALiBi besides holds half of
  // S in a loop.
  Change three = [](Problem &p, Schedule &s) {
    p.captures = {{"f32", 4}, {"f32", 2}, {"f32", 1}};
    s.scheduler = Scheduler::Static;
  };
  EXPECT_EQ(with(64, 1, 80, loops), "");
  EXPECT_THAT(with(64, 1, 80, three), AllOf(HasSubstr("needs 192 registers"),
                                            HasSubstr("180 are available")));
  EXPECT_EQ(with(64, 1, 64, three), "");
  EXPECT_EQ(with(64, 1, 80,
                 [](Problem &p, Schedule &) {
                   p.captures = {{"f32", 4}, {"f32", 2}, {"f32", 1}};
                 }),
            "");
}

/// 3 CTAs of 256 threads start with 80 registers each, 2 with 128.
TEST(Wgmma, C2WhatSeveralCtasHold) {
  auto with = [](unsigned dim, unsigned ctas, unsigned keys) {
    return violation([=](Problem &p, Schedule &s) {
      p = problemOf(dim);
      s.qTiles = 1;
      s.ctasPerSm = ctas;
      s.kvBlock = keys;
      s.kvStages = 2;
    });
  };
  EXPECT_EQ(with(64, 3, 96), "");
  EXPECT_THAT(
      with(64, 3, 112),
      StartsWith("plan.C2: a thread starts with 80 registers where an SM "
                 "has 3 CTAs, of which ptxas leaves 50 to S or O, got "
                 "56"));
  EXPECT_THAT(with(128, 3, 32), HasSubstr("leaves 50 to S or O, got 64"));
  EXPECT_EQ(with(128, 2, 128), "");
  EXPECT_THAT(with(256, 2, 32), HasSubstr("leaves 98 to S or O, got 128"));
  // Fewer than ptxas leaves, but too many beside O and P.
  EXPECT_THAT(
      with(96, 3, 96),
      StartsWith("plan.C2: a consumer needs 120 registers per thread (S 48, "
                 "O 48 and P 24), 104 are available"));
}

TEST(Wgmma, SeveralCtasShareAnSm) {
  auto with = [](unsigned tiles, unsigned ctas, unsigned stages,
                 PPlacement place) {
    return violation([=](Problem &p, Schedule &s) {
      p = problemOf(64);
      s.qTiles = tiles;
      s.ctasPerSm = ctas;
      s.kvBlock = 64;
      s.kvStages = stages;
      s.pPlacement = place;
      s.roles.clear();
    });
  };
  constexpr PPlacement registers = PPlacement::Registers;
  for (unsigned ctas : {0u, 4u})
    EXPECT_THAT(with(1, ctas, 2, registers),
                StartsWith("plan.C3: expected ctas_per_sm to be 1, 2 or 3"));
  EXPECT_THAT(
      with(2, 2, 2, registers),
      StartsWith("plan.C3: expected q_tiles = 1 with several CTAs per SM"));
  EXPECT_THAT(with(1, 2, 2, PPlacement::Smem),
              StartsWith("plan.C5: expected p_placement to be registers with "
                         "ctas_per_sm = 2"));
  // 228 KB of an SM, of which each CTA loses one: 75 of three, Q of 8, and
  // stages of 8 beside the barriers.
  EXPECT_EQ(with(1, 3, 8, registers), "");
  EXPECT_THAT(with(1, 3, 9, registers),
              AllOf(StartsWith("plan.C6:"), HasSubstr("76800 are available")));
  EXPECT_EQ(with(1, 1, 9, registers), "");
  Schedule blackwell;
  blackwell.ctasPerSm = 2;
  EXPECT_THAT(check(problemOf(128), withRoles(blackwell)).value_or(""),
              StartsWith("plan.C8: expected ctas_per_sm to be 1 on sm_100a"));
}

TEST(Wgmma, C3Tiles) {
  EXPECT_THAT(violation([](auto &, Schedule &s) { s.qTileRows = 128; }),
              StartsWith("plan.C3: expected q_tile_rows to be 64 on sm_90a"));
  EXPECT_THAT(
      violation([](auto &, Schedule &s) { s.qTiles = 4; }),
      StartsWith("plan.C3: expected q_tiles to be 1, 2 or 3 on sm_90a"));
  for (unsigned block : {0u, 8u, 100u, 272u})
    EXPECT_THAT(
        violation([&](auto &, Schedule &s) { s.kvBlock = block; }),
        StartsWith("plan.C3: expected kv_block to be a multiple of 16 from "
                   "16 to 256 on sm_90a"));
  EXPECT_THAT(violation([](auto &, Schedule &s) { s.packHeads = 128; }),
              StartsWith("plan.C3: expected pack_heads"));
}

TEST(Wgmma, C5Placement) {
  EXPECT_THAT(
      violation([](auto &, Schedule &s) { s.pPlacement = PPlacement::Tmem; }),
      "plan.C5: p_placement tmem is not available on sm_90a, which has no "
      "tensor "
      "memory; take registers or smem");
  EXPECT_THAT(
      violation([](auto &, Schedule &s) { s.pPlacement = PPlacement::Auto; }),
      HasSubstr("the planner decides it"));
}

TEST(Wgmma, C8WhatNoPassBuilds) {
  EXPECT_THAT(violation([](auto &, Schedule &s) { s.pSlices = 2; }),
              StartsWith("plan.C8: expected p_slices to be 1 on sm_90a"));
  EXPECT_THAT(
      violation([](auto &, Schedule &s) { s.exp2EmulatedPercent = 51; }),
      StartsWith("plan.C8: expected exp2_emulated of at most 50 per cent"));
  EXPECT_THAT(
      violation([](auto &, Schedule &s) {
        s.exp2EmulatedPercent = 1;
        s.pPlacement = PPlacement::Smem;
      }),
      StartsWith("plan.C8: expected p_placement = registers on sm_90a with "
                 "exp2_emulated, where a consumer needs"));
  EXPECT_THAT(
      violation([](auto &, Schedule &s) { s.valueChunk = 64; }),
      StartsWith("plan.C8: expected key_chunk and value_chunk to be 0"));
  EXPECT_THAT(violation([](auto &, Schedule &s) { s.vStages = 2; }),
              StartsWith("plan.C8: expected v_stages to be 0 on sm_90a"));
}

TEST(Wgmma, C8ConsumersThatShareTheColumnsOfO) {
  auto shared = [](const std::function<void(Schedule &)> &change) {
    return violation([&](Problem &p, Schedule &s) {
      p = problemOf(576);
      p.headDimV = 512;
      p.vInK = true;
      s.qTiles = 1;
      s.kvBlock = 64;
      s.kvStages = 2;
      s.oColumns = 512;
      s.shareKv = true;
      s.pPlacement = PPlacement::Smem;
      change(s);
    });
  };
  EXPECT_EQ(shared([](auto &) {}), "");
  EXPECT_EQ(shared([](Schedule &s) {
              s.splits = 2;
              s.rescaleThreshold = 0;
            }),
            "");
  EXPECT_THAT(shared([](Schedule &s) { s.kvStages = 3; }),
              StartsWith("plan.C6: 1 query tile of 73728 bytes, 3 KV stages"));
  EXPECT_THAT(shared([](Schedule &s) { s.qTiles = 2; }),
              StartsWith("plan.C8: expected q_tiles = 1 with o_columns above "
                         "256, which two consumers share, got 2"));
  EXPECT_THAT(shared([](Schedule &s) { s.ctasPerSm = 2; }),
              StartsWith("plan.C8: expected ctas_per_sm = 1"));
  EXPECT_THAT(shared([](Schedule &s) { s.scheduler = Scheduler::Static; }),
              StartsWith("plan.C8: expected scheduler = single"));
  EXPECT_THAT(shared([](Schedule &s) { s.pPlacement = PPlacement::Registers; }),
              StartsWith("plan.C8: expected p_placement = smem"));
  EXPECT_THAT(shared([](Schedule &s) { s.shareKv = false; }),
              StartsWith("plan.C8: expected share_kv = true"));
  // All columns without a number are those of one consumer.
  EXPECT_THAT(shared([](Schedule &s) { s.oColumns = 0; }),
              StartsWith("plan.C2: a thread starts with 248 registers"));
}

TEST(Wgmma, C8ColumnsThatConsumersCannotShare) {
  auto with = [](bool vInK, unsigned columns) {
    return violation([=](Problem &p, Schedule &s) {
      p = problemOf(576);
      p.headDimV = 512;
      p.vInK = vInK;
      s.qTiles = 1;
      s.kvBlock = 16;
      s.kvStages = 2;
      s.oColumns = columns;
    });
  };
  EXPECT_THAT(
      with(true, 320),
      StartsWith("plan.C8: expected o_columns of at most 256 on sm_90a, "
                 "or all 512 columns of a V that lies in K"));
  EXPECT_THAT(with(false, 512), EndsWith("got 512, and V does not lie in K"));
}

TEST(Wgmma, C8AtMostTwoConsumersShareTheColumnsOfO) {
  EXPECT_THAT(violation([](Problem &p, Schedule &s) {
                p = problemOf(640);
                p.vInK = true;
                s.qTiles = 1;
                s.kvBlock = 16;
                s.oColumns = 640;
                s.shareKv = true;
                s.pPlacement = PPlacement::Smem;
              }),
              StartsWith("plan.C8: expected o_columns of at most 512 on "
                         "sm_90a, which 2 consumers share, got 640"));
}

TEST(Wgmma, C8AnySchedulerIsFine) {
  for (Scheduler scheduler : {Scheduler::Static, Scheduler::Dynamic})
    EXPECT_EQ(violation([&](auto &, Schedule &s) { s.scheduler = scheduler; }),
              "");
}

TEST(Wgmma, C9RolesAreConsumers) {
  EXPECT_THAT(
      violation([](auto &, Schedule &s) { s.roles[0].name = "mma"; }),
      StartsWith(
          "plan.C9: expected a role that passes know (load, gather, convert, "
          "store, consumer0, consumer1, consumer2, spare), got"));
  EXPECT_THAT(violation([](auto &, Schedule &s) { s.roles.pop_back(); }),
              StartsWith("plan.C9: expected a role \"consumer1\""));
}

TEST(Wgmma, RolesFillTheRegisterFile) {
  auto fill = [](unsigned tiles, unsigned ctas) {
    unsigned warps = 0, registers = 0;
    Schedule schedule;
    schedule.target = "sm_90a";
    schedule.qTiles = tiles;
    schedule.ctasPerSm = ctas;
    for (const Role &role : withRoles(schedule).roles) {
      warps += role.warps;
      registers += role.warps * 32 * role.registers;
    }
    EXPECT_EQ(warps, 4 + 4 * tiles);
    EXPECT_LE(registers, registersAtLaunch(warps * 32, ctas) * warps * 32);
    EXPECT_LE(registers * ctas, 65536u);
    EXPECT_GE(registers * ctas, 61440u);
  };
  for (unsigned tiles : {1u, 2u, 3u})
    fill(tiles, 1);
  for (unsigned ctas : {2u, 3u})
    fill(1, ctas);
}

/// Nothing but tensors and barriers is on chip, and both size models agree.
TEST(Wgmma, TheMapHasNoTensorMemory) {
  for (PPlacement placement : {PPlacement::Registers, PPlacement::Smem}) {
    Schedule schedule = hopper();
    schedule.pPlacement = placement;
    MemoryMap map = layOut(problemOf(128), schedule);
    EXPECT_EQ(verify(problemOf(128), schedule, map), std::nullopt);
    EXPECT_EQ(map.tmemColumns, 0u);
    EXPECT_TRUE(map.tmem.empty());
    EXPECT_EQ(map.findSmem("stats0"), nullptr);
    EXPECT_EQ(map.findSmem("tmem_address"), nullptr);
    EXPECT_EQ(map.findSmem("P1") != nullptr, placement == PPlacement::Smem);
    EXPECT_LE(map.smemBytes, resourcesOf(problemOf(128), schedule).smemBytes);
    map.tmemColumns = 512;
    EXPECT_THAT(verify(problemOf(128), schedule, map).value_or(""),
                StartsWith("map.V6: expected tmem_columns to be 0 on sm_90a"));
  }
}
