//===- RulesTest.cpp - Schedules for targets with mma.sync ------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Planning.h"

#include "fmha/Schedule/Model/Overrides.h"
#include "fmha/Schedule/Model/Resources.h"
#include "fmha/Target/Target.h"

#include "gmock/gmock.h"

#include <functional>

using namespace fmha;
using namespace fmha::schedule;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

static constexpr const char *targets[] = {"sm_80", "sm_86", "sm_89", "sm_120"};

namespace {
using Change = std::function<void(Problem &, Schedule &)>;
} // namespace

/// Returns what check() says of a sound schedule after `change`, "" if it
/// accepts it.
static std::string violation(const Change &change) {
  Problem problem = problemOf(128);
  Schedule s;
  s.target = "sm_80";
  s.qTiles = 1;
  s.qTileRows = 128;
  s.kvBlock = 64;
  s.kvStages = 2;
  s.ctasPerSm = 2;
  s.kvCopy = KvCopy::CpAsync;
  s.pPlacement = PPlacement::Registers;
  change(problem, s);
  return check(problem, withRoles(s)).value_or("");
}

TEST(MmaSync, AcceptsTilesOf64And128Rows) {
  EXPECT_EQ(violation([](auto &, auto &) {}), "");
  EXPECT_EQ(violation([](auto &, Schedule &s) { s.qTileRows = 64; }), "");
  for (const char *target : targets)
    EXPECT_EQ(violation([&](Problem &p, Schedule &s) {
                p = problemOf(64);
                s.target = target;
              }),
              "");
}

TEST(MmaSync, C1Types) {
  EXPECT_THAT(violation([](Problem &p, auto &) { p.kvE4M3 = true; }),
              AllOf(StartsWith("plan.C1: expected q, k and v of f32 or 16 bits "
                               "on sm_80"),
                    HasSubstr("convert the tensors to 16 bits")));
  EXPECT_THAT(violation([](Problem &p, Schedule &s) {
                p.kvE4M3 = true;
                s.target = "sm_89";
              }),
              AllOf(StartsWith("plan.C1: expected k and v of 16 bits"),
                    HasSubstr("take family = fma")));
  EXPECT_THAT(violation([](Problem &p, auto &) { p.outF16 = true; }),
              StartsWith("plan.C1: "));
  EXPECT_THAT(violation([](Problem &p, auto &) { p.keyVectors = true; }),
              StartsWith("plan.C1: "));
}

TEST(MmaSync, C2RegistersOfAThread) {
  EXPECT_THAT(violation([](auto &, Schedule &s) { s.kvBlock = 128; }),
              AllOf(StartsWith("plan.C2: a thread needs "),
                    HasSubstr("(S 128, O 128 and "),
                    HasSubstr("take q_tile_rows = 64, a smaller kv_block")));
  EXPECT_THAT(violation([](auto &, Schedule &s) { s.ctasPerSm = 3; }),
              AllOf(StartsWith("plan.C2: "), HasSubstr("fewer ctas_per_sm")));
}

TEST(MmaSync, C3Tiles) {
  EXPECT_THAT(violation([](auto &, Schedule &s) { s.qTiles = 2; }),
              StartsWith("plan.C3: expected q_tiles to be 1"));
  EXPECT_THAT(violation([](auto &, Schedule &s) { s.qTileRows = 96; }),
              StartsWith("plan.C3: expected q_tile_rows to be 64 or 128"));
  EXPECT_THAT(violation([](auto &, Schedule &s) { s.ctasPerSm = 5; }),
              StartsWith("plan.C3: expected ctas_per_sm to be from 1 to 4"));
  EXPECT_THAT(violation([](auto &, Schedule &s) { s.packHeads = 3; }),
              StartsWith("plan.C3: expected pack_heads to be a power of two"));
  EXPECT_THAT(violation([](auto &, Schedule &s) { s.kvBlock = 24; }),
              StartsWith("plan.C3: expected kv_block to be a multiple of 16"));
}

TEST(MmaSync, C5AndC8WhatHasOneValue) {
  EXPECT_THAT(
      violation([](auto &, Schedule &s) { s.pPlacement = PPlacement::Smem; }),
      StartsWith("plan.C5: expected p_placement to be registers"));
  EXPECT_THAT(violation([](auto &, Schedule &s) { s.kvCopy = KvCopy::Tma; }),
              StartsWith("plan.C8: expected kv_copy to be cp_async"));
  EXPECT_THAT(violation([](Problem &p, auto &) { p.source2 = true; }),
              AllOf(StartsWith("plan.C8: expected one KV segment"),
                    HasSubstr("fmha.merge")));
  EXPECT_THAT(
      violation([](auto &, Schedule &s) { s.scheduler = Scheduler::Static; }),
      AllOf(StartsWith("plan.C8: expected scheduler to be single"),
            HasSubstr("leave scheduler out")));
  EXPECT_THAT(violation([](auto &, Schedule &s) { s.keyChunk = 64; }),
              StartsWith("plan.C8: expected key_chunk to be 0"));
  EXPECT_THAT(
      violation([](auto &, Schedule &s) { s.exp2EmulatedPercent = 60; }),
      StartsWith("plan.C8: expected exp2_emulated of at most 50"));
}

TEST(MmaSync, C8KOfAnInstruction) {
  auto with = [](unsigned k) {
    return violation([=](auto &, Schedule &s) {
      s.kvBlock = 32;
      s.mmaK = k;
    });
  };
  EXPECT_EQ(with(8), "");
  for (unsigned k : {0u, 4u, 12u, 32u})
    EXPECT_EQ(with(k), "plan.C8: expected mma_k to be 16 or 8 on sm_80, got " +
                           std::to_string(k) + "; take 16");
  Overrides half;
  half.fix(Choice::MmaK, 8);
  for (const char *target : targets) {
    EXPECT_EQ(mustPlan(problemOf(64), target).schedule.mmaK, 16u);
    EXPECT_EQ(mustPlan(problemOf(64), target, half).schedule.mmaK, 8u);
  }
  for (const char *target : {"sm_90a", "sm_100a"})
    EXPECT_THAT(mustFail(problemOf(64), target, half),
                HasSubstr("plan.C8: expected mma_k to be 16 on " +
                          std::string(target)));
}

TEST(MmaSync, C6NamesTheLeastLackAndATargetWithRoom) {
  Problem latent = problemOf(576);
  latent.headDimV = 512;
  latent.vInK = true;
  for (const char *target : {"sm_86", "sm_89", "sm_120"})
    EXPECT_THAT(mustFail(latent, target),
                AllOf(HasSubstr("101376 are available"),
                      HasSubstr("the nearest that works: target = sm_80")));
  EXPECT_EQ(mustPlan(latent, "sm_80").schedule.qTileRows, 64u);
}

TEST(MmaSync, C6SharedMemoryOfEachTarget) {
  auto on = [](const char *target, unsigned keys) {
    return violation([=](Problem &p, Schedule &s) {
      p = problemOf(256);
      s.target = target;
      s.qTileRows = 64;
      s.kvBlock = keys;
      s.ctasPerSm = 1;
      s.kvStages = 2;
    });
  };
  // 32 KiB of queries and two messages of 64 keys, of 32 KiB each, fit 99 KiB.
  EXPECT_EQ(on("sm_80", 64), "");
  EXPECT_EQ(on("sm_86", 64), "");
  EXPECT_EQ(on("sm_80", 80), "");
  EXPECT_THAT(on("sm_86", 80), StartsWith("plan.C6"));
  for (unsigned dim : {64u, 128u})
    for (const char *target : targets) {
      Plan plan = mustPlan(problemOf(dim), target);
      EXPECT_LE(plan.map.smemBytes, target::findTarget(target)->smemBytesPerCta)
          << target;
    }
}

TEST(MmaSync, PlansBlocksThatPayForTheirBarriers) {
  for (unsigned dim : {64u, 128u})
    for (const char *target : targets)
      EXPECT_GE(mustPlan(problemOf(dim), target).schedule.kvBlock, 32u)
          << target << " " << dim;
}

TEST(MmaSync, C1OnlyTargetsThatConvertE4M3TakeIt) {
  Problem problem = problemOf(128);
  problem.kvE4M3 = true;
  for (const char *target : {"sm_80", "sm_86"})
    for (FamilyKind family : {FamilyKind::Mma, FamilyKind::Fma}) {
      Overrides overrides;
      overrides.fix(Choice::Family, unsigned(family));
      EXPECT_THAT(mustFail(problem, target, overrides),
                  HasSubstr("plan.C1: expected q, k and v of f32 or 16 bits "
                            "on " +
                            std::string(target)));
    }
  for (const char *target : {"sm_89", "sm_120"})
    EXPECT_EQ(mustPlan(problem, target).schedule.family, FamilyKind::Fma);
}

TEST(MmaSync, PlansNarrowAndWideHeads) {
  for (unsigned dim : {8, 40, 64, 72, 128, 192, 256, 384, 512}) {
    Problem problem = problemOf(dim);
    for (const char *target : targets) {
      Plan plan = mustPlan(problem, target);
      EXPECT_EQ(check(problem, plan.schedule), std::nullopt)
          << target << " " << dim;
      EXPECT_EQ(plan.schedule.kvCopy, KvCopy::CpAsync);
    }
  }
}
