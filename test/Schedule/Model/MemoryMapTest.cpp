//===- MemoryMapTest.cpp - Maps of all schedules, and broken ones ---------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Planning.h"

#include "fmha/Schedule/Model/Resources.h"
#include "fmha/Schedule/Model/Schedule.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <functional>
#include <random>

using namespace fmha::schedule;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

/// Returns a plan with blocks of 128 keys, which leave P no columns of its own
/// at head dim 128.
static Plan planOf(unsigned headDim, unsigned qTiles, PPlacement placement) {
  Problem problem;
  problem.headDim = problem.headDimV = headDim;
  std::string error;
  Overrides overrides;
  overrides.fix(Choice::QTiles, qTiles).pPlacement = placement;
  overrides.fix(Choice::KvBlock, 128);
  std::optional<Plan> result = plan(problem, "sm_100a", overrides, error);
  EXPECT_TRUE(result) << error;
  return result.value_or(Plan());
}

/// verify() of the map for head dim 128, two tiles, P in tensor memory, after
/// `change`; "" if it passes.
static std::string violation(const std::function<void(MemoryMap &)> &change,
                             PPlacement placement = PPlacement::Tmem) {
  Plan plan = planOf(128, 2, placement);
  change(plan.map);
  return verify(Problem(), plan.schedule, plan.map).value_or("");
}

static TmemRegion &tmem(MemoryMap &map, std::string_view name) {
  return const_cast<TmemRegion &>(*map.findTmem(name));
}
static SmemRegion &smem(MemoryMap &map, std::string_view name) {
  return const_cast<SmemRegion &>(*map.findSmem(name));
}

TEST(MemoryMap, TensorMemoryOfTwoTiles) {
  for (unsigned headDim : {64u, 128u}) {
    Plan plan = planOf(headDim, 2, PPlacement::Tmem);
    EXPECT_EQ(plan.map.findTmem("S0")->column, 0u);
    EXPECT_EQ(plan.map.findTmem("S1")->column, 128u);
    EXPECT_EQ(plan.map.findTmem("O0")->column, 256u);
    EXPECT_EQ(plan.map.findTmem("O1")->column, 256 + headDim);
    EXPECT_EQ(plan.map.tmemColumns, 512u);
  }
}

/// P has columns of its own if S, O and P of both tiles fit.
TEST(MemoryMap, PLiesOverSWhereThereIsNoRoom) {
  Plan wide = planOf(80, 2, PPlacement::Tmem);
  EXPECT_EQ(wide.map.findTmem("P0")->column, 64u);
  EXPECT_EQ(wide.map.findTmem("P1")->column, 192u);
  EXPECT_EQ(wide.map.findTmem("P1")->aliases, "S1");
  Plan narrow = planOf(64, 2, PPlacement::Tmem);
  EXPECT_EQ(narrow.map.findTmem("P0")->column, 384u);
  EXPECT_EQ(narrow.map.findTmem("P1")->column, 448u);
  EXPECT_EQ(narrow.map.findTmem("P1")->aliases, "");
  EXPECT_EQ(narrow.map.tmemColumns, 512u);
  EXPECT_EQ(resourcesOf(problemOf(64), narrow.schedule).tmemColumns, 512u);
  EXPECT_EQ(planOf(64, 1, PPlacement::Tmem).map.findTmem("P0")->aliases, "S0");
}

/// Blocks of 80 keys leave room for P at head dim 128.
TEST(MemoryMap, PHasItsColumnsWithSmallerBlocks) {
  Schedule schedule;
  for (auto [keys, apart] :
       {std::pair(64u, true), {80u, true}, {96u, false}, {112u, false}}) {
    schedule.kvBlock = keys;
    MemoryMap map = layOut(problemOf(128), schedule);
    EXPECT_EQ(map.findTmem("P1")->aliases.empty(), apart) << keys;
    EXPECT_EQ(map.findTmem("P1")->columns, keys / 2);
    EXPECT_EQ(map.tmemColumns, 512u);
  }
  schedule.kvBlock = 80;
  MemoryMap map = layOut(problemOf(128), schedule);
  for (auto [name, column] : {std::pair("S0", 0u),
                              {"S1", 80u},
                              {"O0", 160u},
                              {"O1", 288u},
                              {"P0", 416u},
                              {"P1", 456u}})
    EXPECT_EQ(map.findTmem(name)->column, column) << name;
  EXPECT_EQ(resourcesOf(problemOf(128), schedule).tmemColumns, 496u);
}

/// Q.K of the next block would wait for V's slot.
TEST(MemoryMap, PLiesOverSIfTheRingHoldsNoWholeBlock) {
  Schedule schedule = planOf(64, 2, PPlacement::Tmem).schedule;
  schedule.kvStages = 1;
  EXPECT_EQ(layOut(problemOf(64), schedule).findTmem("P0")->aliases, "S0");
  schedule.vStages = 1;
  EXPECT_EQ(layOut(problemOf(64), schedule).findTmem("P0")->aliases, "");
}

TEST(MemoryMap, TensorMemoryOfOneTile) {
  Plan plan = planOf(128, 1, PPlacement::Smem);
  EXPECT_EQ(plan.map.findTmem("S0")->column, 0u);
  EXPECT_EQ(plan.map.findTmem("O0")->column, 128u);
  EXPECT_EQ(plan.map.findTmem("P0"), nullptr);
  EXPECT_EQ(plan.map.findTmem("S1"), nullptr);
  EXPECT_EQ(plan.map.tmemColumns, 256u);
}

/// One tile of 64 rows, 64 keys, P in shared memory.
static Schedule halfTile() {
  Schedule schedule = planOf(128, 1, PPlacement::Smem).schedule;
  schedule.qTileRows = schedule.kvBlock = 64;
  schedule.kvStages = 2;
  return schedule;
}

TEST(MemoryMap, TensorMemoryOfHalfTile) {
  Problem problem;
  Schedule schedule = halfTile();
  MemoryMap map = layOut(problem, schedule);
  EXPECT_EQ(map.findTmem("S0")->lane, 0u);
  EXPECT_EQ(map.findTmem("O0")->column, 64u);
  EXPECT_EQ(map.tmemColumns, 256u);
  // 64 rows: 256 bytes each; a statistic for each of 128 threads.
  EXPECT_EQ(map.findSmem("Q0")->bytes, 16384u);
  EXPECT_EQ(map.findSmem("KV")->bytes, 16384u);
  EXPECT_EQ(map.findSmem("P0")->bytes, 8192u);
  EXPECT_EQ(map.findSmem("stats0")->bytes, 512u);
  // 64 + 448 columns fit side by side, 64 + 464 do not.
  for (auto [dim, lane] :
       {std::pair(448u, 0u), std::pair(456u, 16u), std::pair(512u, 16u)}) {
    problem.headDimV = dim;
    ASSERT_EQ(check(problem, schedule).value_or(""), "") << dim;
    map = layOut(problem, schedule);
    EXPECT_EQ(map.findTmem("S0")->lane, lane) << dim;
    EXPECT_EQ(map.findTmem("S0")->column, 0u) << dim;
    EXPECT_EQ(map.findTmem("O0")->lane, 0u) << dim;
    EXPECT_EQ(map.findTmem("O0")->column, lane ? 0u : 64u) << dim;
    EXPECT_EQ(map.tmemColumns, 512u) << dim;
    EXPECT_EQ(verify(problem, schedule, map).value_or(""), "") << dim;
  }
}

TEST(MemoryMap, TilesAreWholePanels) {
  Problem problem;
  problem.headDim = 72;
  problem.headDimV = 40;
  std::string error;
  Plan plan = *fmha::schedule::plan(problem, "sm_100a",
                                    fixed(2, 2, PPlacement::Tmem), error);
  // 72 columns take two panels of 128 rows x 128 bytes, 40 one; V shares K's
  // stages. O has 40 columns rounded up to 16.
  EXPECT_EQ(plan.map.findSmem("Q1")->offset, 32768u);
  EXPECT_EQ(plan.map.findSmem("KV")->bytes, 32768u);
  EXPECT_EQ(plan.map.findSmem("out0")->bytes, 16384u);
  EXPECT_EQ(plan.map.findTmem("O1")->column, 256u + 48);
  EXPECT_EQ(plan.map.findTmem("O1")->columns, 48u);
}

TEST(MemoryMap, MessagesOfAWideHead) {
  Problem problem;
  problem.headDim = 576;
  problem.headDimV = 512;
  Schedule schedule = planOf(128, 1, PPlacement::Tmem).schedule;
  schedule.oColumns = 256;
  schedule.keyChunk = 128;
  schedule.valueChunk = 32;
  schedule.kvStages = schedule.vStages = 1;
  ASSERT_EQ(check(problem, schedule).value_or(""), "");
  MemoryMap map = layOut(problem, schedule);
  // Nine panels of 16384 bytes; two of K; 32 keys x four panels x 128 bytes.
  EXPECT_EQ(map.findSmem("Q0")->bytes, 147456u);
  EXPECT_EQ(map.findSmem("KV")->bytes, 32768u);
  EXPECT_EQ(map.findSmem("V")->bytes, 16384u);
  EXPECT_EQ(map.findSmem("V")->offset, 147456u + 32768);
  EXPECT_EQ(map.findTmem("O0")->columns, 256u);
  EXPECT_EQ(verify(problem, schedule, map).value_or(""), "");
  std::erase_if(map.smem, [](const SmemRegion &r) { return r.name == "V"; });
  EXPECT_EQ(verify(problem, schedule, map).value_or(""),
            "map.V1: expected a shared-memory region \"V\", got none");
}

TEST(MemoryMap, SeveralTilesNeedTheNumberOfTheNextOne) {
  Plan plan = planOf(128, 2, PPlacement::Tmem);
  EXPECT_FALSE(plan.map.findSmem("next_tile"));
  for (Scheduler scheduler : {Scheduler::Static, Scheduler::Dynamic}) {
    plan.schedule.scheduler = scheduler;
    MemoryMap map = layOut(Problem(), plan.schedule);
    ASSERT_TRUE(map.findSmem("next_tile"));
    // The response of try_cancel is 16 bytes, and aligned so.
    EXPECT_EQ(map.findSmem("next_tile")->offset % 16, 0u);
    EXPECT_FALSE(verify(Problem(), plan.schedule, map));
    EXPECT_THAT(*verify(Problem(), plan.schedule, plan.map),
                StartsWith("map.V1: expected a shared-memory region "
                           "\"next_tile\", got none"));
  }
}

/// Of 64 rows in each CTA of a pair, lanes 0 to 63 have the left half of the
/// columns and the others the right half: O of 512 columns leaves two S room.
TEST(MemoryMap, HalvesOfPairsTakeHalfTheColumns) {
  Problem problem;
  problem.headDim = 576;
  problem.headDimV = 512;
  problem.vInK = true;
  Schedule schedule;
  schedule.ctaGroup = 2;
  schedule.qTiles = 1;
  schedule.qTileRows = schedule.keyChunk = schedule.packHeads = 64;
  schedule.pPlacement = PPlacement::Smem;
  schedule.sStages = 2;
  schedule.valueChunk = 16;
  schedule.kvStages = 9;
  schedule.vStages = 8;
  CheckedMap checked = checkAndLayOut(problem, withRoles(schedule));
  ASSERT_EQ(checked.error.value_or(""), "");
  const MemoryMap &map = checked.map;
  EXPECT_EQ(map.findTmem("S0")->end(), 2u * 64);
  EXPECT_EQ(map.findTmem("O0")->column, 2u * 64);
  EXPECT_EQ(map.findTmem("O0")->columns, 256u);
  EXPECT_FALSE(map.findTmem("P0"));
  // A CTA has 64 of 128 keys, and 256 of 512 columns of V.
  EXPECT_EQ(map.findSmem("KV")->bytes, 64u * 64 * 2);
  EXPECT_EQ(map.findSmem("V")->bytes, 16u * 256 * 2);
  // A number of each thread.
  EXPECT_EQ(map.findSmem("halves0")->bytes, 128u * 4);
  EXPECT_LE(map.smemBytes, 232448u);
  EXPECT_EQ(lanesOfHalves(schedule), 64u);
  schedule.ctaGroup = 1;
  EXPECT_EQ(lanesOfHalves(schedule), 16u);
}

TEST(MemoryMap, OutputLiesOverQueriesWhereItDoesNotFitApart) {
  Problem problem;
  problem.headDim = problem.headDimV = 128;
  Schedule schedule = planOf(128, 2, PPlacement::Tmem).schedule;
  schedule.scheduler = Scheduler::Static;
  schedule.kvStages = 4;
  schedule.vStages = 0;
  CheckedMap apart = checkAndLayOut(problem, withRoles(schedule));
  ASSERT_EQ(apart.error.value_or(""), "");
  EXPECT_EQ(apart.map.findSmem("out0")->aliases, "");
  // Five stages leave no room for a third region of 32 KiB.
  schedule.kvStages = 3;
  schedule.vStages = 2;
  CheckedMap over = checkAndLayOut(problem, withRoles(schedule));
  ASSERT_EQ(over.error.value_or(""), "");
  EXPECT_EQ(over.map.findSmem("out0")->aliases, "Q0");
}

TEST(MemoryMap, DrawnTilesHaveARingOfNumbers) {
  std::string error;
  std::optional<Plan> found =
      fmha::schedule::plan(Problem(), "sm_90a", Overrides(), error);
  ASSERT_TRUE(found) << error;
  Plan plan = *found;
  auto numbersOf = [&](Scheduler scheduler) {
    plan.schedule.scheduler = scheduler;
    MemoryMap map = layOut(Problem(), plan.schedule);
    EXPECT_FALSE(verify(Problem(), plan.schedule, map));
    const SmemRegion *region = map.findSmem("next_tile");
    return region ? region->bytes : 0;
  };
  EXPECT_EQ(numbersOf(Scheduler::Single), 0u);
  // Every role computes the next tile index.
  EXPECT_EQ(numbersOf(Scheduler::Static), 0u);
  // Two barriers of two stages, and two tile indices.
  EXPECT_EQ(numbersOf(Scheduler::Dynamic), 40u);
}

TEST(MemoryMap, OutputLiesOverItsQuery) {
  Plan plan = planOf(128, 2, PPlacement::Smem);
  for (const char *i : {"0", "1"}) {
    const SmemRegion *out = plan.map.findSmem(std::string("out") + i);
    const SmemRegion *query = plan.map.findSmem(std::string("Q") + i);
    EXPECT_EQ(out->offset, query->offset);
    EXPECT_EQ(out->aliases, query->name);
    EXPECT_EQ(plan.map.findSmem(std::string("P") + i)->bytes, 32768u);
  }
}

//===----------------------------------------------------------------------===//
// Random schedules
//===----------------------------------------------------------------------===//

static Schedule randomSchedule(std::mt19937 &random) {
  auto pick = [&](auto... values) {
    std::common_type_t<decltype(values)...> list[] = {values...};
    return list[random() % sizeof...(values)];
  };
  Schedule s;
  s.target = pick("sm_100a", "sm_103a");
  s.qTiles = pick(1u, 2u);
  s.qTileRows = pick(128u, 128u, s.qTiles == 1 ? 64u : 128u);
  s.ctaGroup = pick(1u, 2u);
  s.kvBlock = pick(128u, 128u, 64u);
  s.kvStages = 1 + random() % 14;
  s.pPlacement = pick(PPlacement::Tmem, PPlacement::Smem);
  s.sStages = pick(1u, 1u, s.qTiles == 1 ? 2u : 1u);
  s.rescaleThreshold = random() % 10;
  s.scheduler = pick(Scheduler::Single, Scheduler::Static, Scheduler::Dynamic);
  // Now and then, since most of these fit few head dims.
  if (random() % 2) {
    s.vStages = random() % 3;
    s.keyChunk = pick(0u, 0u, 64u, 128u);
    s.valueChunk = pick(0u, 0u, 16u, 32u, 64u);
    s.oColumns = pick(0u, 64u, 128u, 256u);
    s.shareKv = random() % 8 == 0;
  }
  // The planner's roles, the four warpgroups in any order; now and then with
  // too few or too many registers.
  s = withRoles(s);
  unsigned groups[] = {0, 4, 8, 12};
  std::shuffle(std::begin(groups), std::end(groups), random);
  int change = random() % 4 ? 0 : 8 * int(random() % 5) - 16;
  for (Role &role : s.roles) {
    role.firstWarp = groups[role.firstWarp / 4] + role.firstWarp % 4;
    role.registers += change;
  }
  return s;
}

/// Columns and bytes that no two regions share unless one says that it aliases.
static bool overlaps(const MemoryMap &map) {
  for (const TmemRegion &a : map.tmem)
    for (const TmemRegion &b : map.tmem)
      if (&a != &b && a.lane == b.lane && a.aliases.empty() &&
          b.aliases.empty() && a.column < b.end() && b.column < a.end())
        return true;
  for (const SmemRegion &a : map.smem)
    for (const SmemRegion &b : map.smem)
      if (&a != &b && a.aliases.empty() && b.aliases.empty() &&
          a.offset < b.offset + b.bytes * b.stages &&
          b.offset < a.offset + a.bytes * a.stages)
        return true;
  return false;
}

TEST(MemoryMap, EveryCheckedScheduleHasASoundMap) {
  unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  unsigned accepted = 0, refused = 0;
  for (unsigned i = 0; i < 5000; ++i) {
    Problem problem;
    problem.headDim = problem.headDimV = random() % 2 ? 64 : 128;
    if (random() % 2) {
      problem.headDim = 8 + 8 * (random() % 72);
      problem.headDimV = 8 + 8 * (random() % 64);
    }
    problem.vInK = random() % 4 == 0;
    problem.dtype = random() % 2 ? DataType::F16 : DataType::BF16;
    Schedule schedule = randomSchedule(random);
    if (check(problem, schedule)) {
      ++refused;
      continue;
    }
    ++accepted;
    MemoryMap map = layOut(problem, schedule);
    EXPECT_EQ(verify(problem, schedule, map).value_or(""), "");
    EXPECT_LE(map.smemBytes, 232448u);
    EXPECT_FALSE(overlaps(map));
  }
  // Otherwise the test says nothing.
  EXPECT_GT(accepted, 500u);
  EXPECT_GT(refused, 500u);
}

TEST(MemoryMap, CheckRefusesOnlyWhatDoesNotFit) {
  // The largest ring that check() accepts leaves less than one stage.
  for (unsigned headDim : {64u, 128u})
    for (unsigned qTiles : {1u, 2u})
      for (PPlacement placement : {PPlacement::Tmem, PPlacement::Smem}) {
        Problem problem;
        problem.headDim = problem.headDimV = headDim;
        Schedule schedule = planOf(headDim, qTiles, placement).schedule;
        while (!check(problem, schedule))
          ++schedule.kvStages;
        --schedule.kvStages;
        MemoryMap map = layOut(problem, schedule);
        EXPECT_GT(map.smemBytes + 128 * headDim * 2, 232448u);
      }
}

//===----------------------------------------------------------------------===//
// Broken maps
//===----------------------------------------------------------------------===//

TEST(Verify, AcceptsWhatLayOutMakes) {
  EXPECT_EQ(violation([](MemoryMap &) {}), "");
  EXPECT_EQ(violation([](MemoryMap &) {}, PPlacement::Smem), "");
}

TEST(Verify, V1Names) {
  EXPECT_EQ(violation([](MemoryMap &m) { tmem(m, "O1").name = "O2"; }),
            "map.V1: expected a tensor-memory region \"O1\", got none");
  EXPECT_THAT(violation([](MemoryMap &m) {
                m.smem.push_back({"P0", 0, 16, 1, 16, ""});
              }),
              AllOf(StartsWith("map.V1: "), HasSubstr("serves no tile")));
  EXPECT_EQ(violation([](MemoryMap &m) { m.smem.push_back(smem(m, "KV")); }),
            "map.V1: expected one shared-memory region \"KV\", got several");
  EXPECT_THAT(violation([](MemoryMap &m) { m = {}; }), StartsWith("map.V1: "));
}

TEST(Verify, V2Sizes) {
  EXPECT_THAT(violation([](MemoryMap &m) { smem(m, "KV").stages = 4; }),
              AllOf(StartsWith("map.V2: "), HasSubstr("5 x 32768"),
                    HasSubstr("got 4 x 32768")));
  EXPECT_THAT(violation([](MemoryMap &m) { tmem(m, "O0").columns = 64; }),
              StartsWith("map.V2: "));
  EXPECT_THAT(violation([](MemoryMap &m) { smem(m, "barriers").bytes = 8; }),
              StartsWith("map.V2: "));
}

TEST(Verify, V3Aliases) {
  EXPECT_THAT(violation([](MemoryMap &m) { tmem(m, "P0").aliases = "S1"; }),
              AllOf(StartsWith("map.V3: "), HasSubstr("to alias \"S0\"")));
  EXPECT_THAT(
      violation([](MemoryMap &m) { tmem(m, "P1").column = 128; }),
      AllOf(StartsWith("map.V3: "), HasSubstr("begin 64 columns into")));
  EXPECT_THAT(violation([](MemoryMap &m) { tmem(m, "P0").aliases = ""; }),
              StartsWith("map.V3: "));
  EXPECT_THAT(violation([](MemoryMap &m) { smem(m, "out0").offset = 32768; }),
              AllOf(StartsWith("map.V3: "), HasSubstr("begin 0 bytes into")));
  EXPECT_THAT(violation([](MemoryMap &m) { smem(m, "KV").aliases = "Q0"; }),
              StartsWith("map.V3: "));
}

TEST(Verify, V4Overlaps) {
  EXPECT_THAT(
      violation([](MemoryMap &m) { tmem(m, "O1").column = 300; }),
      AllOf(StartsWith("map.V4: "), HasSubstr("overlap by 84 columns")));
  EXPECT_THAT(violation([](MemoryMap &m) { smem(m, "stats1").offset -= 16; }),
              AllOf(StartsWith("map.V4: "), HasSubstr("\"stats0\""),
                    HasSubstr("overlap by 16 bytes")));
  EXPECT_THAT(
      violation([](MemoryMap &m) { smem(m, "P1").offset -= 1024; },
                PPlacement::Smem),
      AllOf(StartsWith("map.V4: "), HasSubstr("overlap by 1024 bytes")));
}

TEST(Verify, V5Alignment) {
  // Moving everything keeps all else in order.
  EXPECT_THAT(violation([](MemoryMap &m) {
                for (SmemRegion &region : m.smem)
                  region.offset += 512;
                m.smemBytes += 512;
              }),
              AllOf(StartsWith("map.V5: "), HasSubstr("multiple of 1024")));
  EXPECT_THAT(violation([](MemoryMap &m) {
                smem(m, "tmem_address").offset += 4;
                m.smemBytes += 16;
              }),
              AllOf(StartsWith("map.V5: "), HasSubstr("multiple of 16")));
}

TEST(Verify, V6Capacities) {
  EXPECT_THAT(violation([](MemoryMap &m) { m.tmemColumns = 256; }),
              AllOf(StartsWith("map.V6: "), HasSubstr("ends beyond the 256")));
  EXPECT_THAT(violation([](MemoryMap &m) { m.tmemColumns = 1024; }),
              AllOf(StartsWith("map.V6: "), HasSubstr("power of two")));
  EXPECT_THAT(violation([](MemoryMap &m) { m.tmemColumns = 513; }),
              AllOf(StartsWith("map.V6: "), HasSubstr("power of two")));
  EXPECT_THAT(violation([](MemoryMap &m) { m.smemBytes -= 16; }),
              AllOf(StartsWith("map.V6: "), HasSubstr("ends beyond")));
  EXPECT_THAT(violation([](MemoryMap &m) { m.smemBytes = 232464; }),
              AllOf(StartsWith("map.V6: "), HasSubstr("(16 too many)")));
}

TEST(Verify, V6KnowsTheTarget) {
  Plan plan = planOf(128, 2, PPlacement::Tmem);
  plan.schedule.target = "sm_1";
  EXPECT_EQ(verify(Problem(), plan.schedule, plan.map),
            "map.V6: expected a known target, got \"sm_1\"");
}

TEST(Verify, V7Lanes) {
  EXPECT_THAT(violation([](MemoryMap &m) { tmem(m, "S0").lane = 16; }),
              AllOf(StartsWith("map.V7: "), HasSubstr("of 128 rows"),
                    HasSubstr("to begin at lane 0, got 16")));
  Problem problem;
  Schedule schedule = halfTile();
  auto halves = [&](const std::function<void(MemoryMap &)> &change) {
    MemoryMap map = layOut(problem, schedule);
    change(map);
    return verify(problem, schedule, map).value_or("");
  };
  // In other lanes the same columns are free, in the same lanes they are not.
  EXPECT_EQ(halves([](MemoryMap &m) {
              tmem(m, "O0").lane = 16;
              tmem(m, "O0").column = 0;
            }),
            "");
  EXPECT_THAT(
      halves([](MemoryMap &m) { tmem(m, "O0").column = 0; }),
      AllOf(StartsWith("map.V4: "), HasSubstr("overlap by 64 columns")));
  EXPECT_THAT(halves([](MemoryMap &m) { tmem(m, "S0").lane = 8; }),
              AllOf(StartsWith("map.V7: "), HasSubstr("lane 0 or 16, got 8")));
  schedule.pPlacement = PPlacement::Tmem;
  EXPECT_EQ(halves([](MemoryMap &) {}), "");
  EXPECT_THAT(halves([](MemoryMap &m) { tmem(m, "O0").lane = 16; }),
              AllOf(StartsWith("map.V7: "),
                    HasSubstr("\"P0\" in the lanes of \"O0\", got lanes 0 "
                              "and 16")));
  EXPECT_THAT(
      halves([](MemoryMap &m) { tmem(m, "P0").lane = 16; }),
      AllOf(StartsWith("map.V7: "), HasSubstr("in the lanes of \"S0\"")));
}
