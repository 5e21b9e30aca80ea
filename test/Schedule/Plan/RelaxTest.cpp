//===- RelaxTest.cpp - The closest request that can be planned ------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../../../lib/Schedule/Plan/Relax.h"
#include "Planning.h"

#include "fmha/Schedule/Model/Overrides.h"

#include "gmock/gmock.h"

#include <random>
#include <sstream>

using namespace fmha::schedule;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;
using testing::StartsWith;

namespace {

struct Request {
  Problem problem;
  Overrides overrides;

  /// Without advice, which takes as long as hundreds of plans.
  bool plans() const {
    std::string error;
    return planStrictly(problem, "sm_100a", overrides, error).has_value();
  }
  std::string describe() const {
    std::ostringstream text;
    text << "head_dim=" << problem.headDim << " head_dim_v=" << problem.headDimV
         << " v_in_k=" << problem.vInK
         << " p_placement=" << stringify(overrides.pPlacement);
    for (const ScheduleField &field : scheduleFields())
      if (overrides[field.choice])
        text << ' ' << field.name << '=' << *overrides[field.choice];
    return text.str();
  }
};

/// The changes that the error of `request` names, each "name = value".
std::vector<std::string> changesFor(const Request &request,
                                    std::string_view target = "sm_100a") {
  std::string error = mustFail(request.problem, target, request.overrides);
  constexpr std::string_view words = "; the nearest that works: ";
  std::vector<std::string> changes;
  size_t at = error.find(words);
  while (at != std::string::npos) {
    at += changes.empty() ? words.size() : 5;
    size_t next = error.find(", or ", at);
    changes.push_back(error.substr(at, next - at));
    at = next;
  }
  return changes;
}

std::vector<std::string> changesOf(unsigned headDim,
                                   const Overrides &overrides = {},
                                   std::string_view target = "sm_100a") {
  return changesFor({problemOf(headDim), overrides}, target);
}

using Strings = std::vector<std::string>;

/// A user cannot choose the head dim, so other ways come first.
TEST(Relax, ChangesTwoFieldsBeforeAHeadDim) {
  Overrides wanted;
  wanted.fix(Choice::OColumns, 512);
  wanted.fix(Choice::KvStages, 1);
  EXPECT_THAT(changesOf(128, wanted),
              ElementsAre(MatchesRegex("o_columns = .* and kv_stages = .*")));
}

/// 256 keys are too many for any, and two tiles leave 512 columns of O no room.
TEST(Relax, ChangesFieldsTogetherAsLittleAsMayBe) {
  Overrides wanted;
  wanted.fix(Choice::KvBlock, 256);
  wanted.fix(Choice::QTiles, 2);
  EXPECT_EQ(changesOf(512, wanted), Strings{"q_tiles = 1 and kv_block = 128"});
  // 64 stages do not fit even with 16 keys each; eight of 96 keys fit.
  wanted = {};
  wanted.fix(Choice::KvBlock, 100);
  wanted.fix(Choice::KvStages, 64);
  wanted.fix(Choice::QTiles, 1);
  std::vector<std::string> changes = changesOf(128, wanted);
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_THAT(changes[0], MatchesRegex("kv_block = 96 and kv_stages = [4-9]"));
}

/// Roles are for the fields that they came with.
TEST(Relax, LeavesOutTheRolesOfOtherFields) {
  Schedule schedule;
  schedule.kvStages = 9;
  EXPECT_THAT(*closestChange(problemOf(128), schedule),
              Not(HasSubstr("roles left out")));
  EXPECT_THAT(*closestChange(problemOf(128), withRoles(schedule)),
              EndsWith(", roles left out"));
}

/// Columns of zeros change no result, fewer columns or far more would.
TEST(Relax, PadsBesideAField) {
  Overrides wanted;
  wanted.fix(Choice::QTiles, 2);
  EXPECT_EQ(changesOf(300, wanted),
            Strings{"q_tiles = 1 and head_dim = head_dim_v = 304, padded with "
                    "zeros, the scale kept"});
}

TEST(Relax, TellsWhatAPersonFixed) {
  Overrides wanted;
  wanted.fix(Choice::KvBlock, 100);
  wanted.pPlacement = PPlacement::Tmem;
  EXPECT_THAT(mustFail(problemOf(128), "sm_100a", wanted),
              StartsWith("no schedule can serve this problem with kv_block = "
                         "100, p_placement = tmem: plan.C"));
  EXPECT_THAT(mustFail(problemOf(4), "sm_100a"),
              StartsWith("no schedule can serve this problem: plan.C"));
}

TEST(Relax, TakesTheNearestOfValuesThatAreNoInterval) {
  // A KV block has a multiple of 16 keys, at most 128.
  for (auto [asked, nearest] : {std::pair(1u, 16u),
                                {20u, 16u},
                                {30u, 32u},
                                {90u, 96u},
                                {100u, 96u},
                                {4000u, 128u}}) {
    Overrides wanted;
    wanted.fix(Choice::KvBlock, asked);
    EXPECT_EQ(changesOf(128, wanted),
              Strings{"kv_block = " + std::to_string(nearest)});
  }
  // Slices are 1, 2, 4 or 8 of 128 keys.
  for (auto [asked, nearest] : {std::pair(3u, 2u), {7u, 8u}, {100u, 8u}}) {
    Overrides wanted;
    wanted.fix(Choice::PSlices, asked);
    EXPECT_EQ(changesOf(128, wanted),
              Strings{"p_slices = " + std::to_string(nearest)});
  }
}

TEST(Relax, TakesZeroForAllWhereItStandsForAll) {
  // The MMA role has registers for products of 256 of the 512 columns.
  Overrides wanted;
  wanted.fix(Choice::KeyChunk, 0);
  wanted.fix(Choice::QTileRows, 128);
  EXPECT_THAT(changesOf(512, wanted), testing::Contains("key_chunk = 256"));
}

TEST(Relax, KnowsHowMuchEachTargetEmulates) {
  Overrides wanted;
  wanted.fix(Choice::Exp2Emulated, 60);
  for (auto [target, most] : {std::pair("sm_90a", 50u), {"sm_100a", 25u}}) {
    EXPECT_EQ(changesOf(128, wanted, target),
              Strings{"exp2_emulated = " + std::to_string(most)});
    Overrides more;
    more.fix(Choice::Exp2Emulated, most + 1);
    mustFail(problemOf(128), target, more);
  }
}

TEST(Relax, NamesEachFieldThatHelps) {
  Overrides wanted;
  wanted.fix(Choice::KvStages, 6);
  wanted.fix(Choice::QTiles, 2);
  wanted.fix(Choice::KvBlock, 128);
  // Two tiles of 32 KiB leave room for 5 stages of 32 KiB; one tile leaves one
  // more, and blocks of 96 keys take 24 KiB.
  EXPECT_EQ(changesOf(128, wanted),
            (Strings{"kv_stages = 5", "kv_block = 96", "q_tiles = 1"}));
  wanted.fix(Choice::KvStages, 40);
  EXPECT_EQ(changesOf(128, wanted), Strings{"kv_stages = 5"});
  // Deeper than the planner would go by itself.
  EXPECT_EQ(changesOf(64, wanted), Strings{"kv_stages = 12"});
  wanted.fix(Choice::KvStages, 1);
  EXPECT_EQ(changesOf(128, wanted), Strings{"kv_stages = 2"});
  wanted = {};
  wanted.fix(Choice::QTiles, 7);
  EXPECT_EQ(changesOf(128, wanted), Strings{"q_tiles = 2"});
  wanted = {};
  wanted.pPlacement = PPlacement::Registers;
  EXPECT_EQ(changesOf(128, wanted), Strings{"p_placement = tmem"});
}

TEST(Relax, NamesFieldsThatHaveToChangeTogether) {
  Overrides wanted;
  wanted.fix(Choice::KvStages, 1);
  wanted.fix(Choice::QTileRows, 100);
  EXPECT_THAT(changesOf(128, wanted),
              testing::ElementsAre(testing::AllOf(HasSubstr("q_tile_rows = "),
                                                  HasSubstr(" and "),
                                                  HasSubstr("kv_stages = "))));
}

/// Applies "name = value", and more after " and ", to `request`.
void apply(const std::string &change, Request &request) {
  std::istringstream words(change);
  std::string name, equals, value;
  while (words >> name >> equals >> value) {
    if (value.back() == ',')
      value.pop_back();
    if (name == "p_placement")
      request.overrides.pPlacement =
          value == "tmem" ? PPlacement::Tmem : PPlacement::Smem;
    if (name == "head_dim" && value == "head_dim_v") {
      words >> equals >> value;
      request.problem.headDimV = request.problem.headDim =
          unsigned(std::stoul(value));
      return;
    }
    if (name == "head_dim")
      request.problem.headDim = unsigned(std::stoul(value));
    if (name == "head_dim_v")
      request.problem.headDimV = unsigned(std::stoul(value));
    for (const ScheduleField &field : scheduleFields())
      if (name == field.name)
        ASSERT_TRUE(field.parse(value, request.overrides));
    // "and", or the words after a head dim.
    if (!(words >> name) || name != "and")
      return;
  }
}

/// Says the changes that `request` is told of, each of which has to do.
Strings soundChanges(const Request &request, std::string_view target) {
  Strings changes = changesFor(request, target);
  for (const std::string &change : changes) {
    Request changed = request;
    apply(change, changed);
    std::string error;
    EXPECT_TRUE(plan(changed.problem, target, changed.overrides, error))
        << change << ": " << error;
  }
  return changes;
}

TEST(Relax, NamesFieldsAndHeadDimsThatHaveToChangeTogether) {
  Request wide{problemOf(2000), {}};
  wide.overrides.fix(Choice::PSlices, 3);
  EXPECT_THAT(soundChanges(wide, "sm_100a"),
              testing::ElementsAre(
                  testing::AllOf(StartsWith("p_slices = "),
                                 HasSubstr(" and head_dim = head_dim_v = "))));
  Request ring{problemOf(1656), {}};
  ring.overrides.fix(Choice::VStages, 2);
  EXPECT_THAT(soundChanges(ring, "sm_90a"),
              testing::ElementsAre(
                  testing::AllOf(StartsWith("v_stages = 0 and "),
                                 HasSubstr("head_dim = head_dim_v = "))));
  // Two head dims, each of which may be the one that is too wide.
  Request apart{problemOf(2000), {}};
  apart.problem.headDimV = 64;
  apart.overrides.fix(Choice::PSlices, 3);
  EXPECT_THAT(soundChanges(apart, "sm_100a"), Not(testing::IsEmpty()));
}

TEST(Relax, PadsHeadsBeforeItNarrowsThem) {
  EXPECT_EQ(
      changesOf(60),
      Strings{"head_dim = head_dim_v = 64, padded with zeros, the scale kept"});
  // 8 columns more than 576, where the planner has passes over O's columns.
  EXPECT_EQ(
      changesOf(580),
      Strings{
          "head_dim = head_dim_v = 584, padded with zeros, the scale kept"});
  Request both{problemOf(100), {}};
  both.problem.headDimV = 60;
  EXPECT_EQ(changesFor(both), Strings{"head_dim = 104 and head_dim_v = 64, "
                                      "padded with zeros, the scale kept"});
}

TEST(Relax, NamesTheNextTarget) {
  EXPECT_EQ(changesOf(128, {}, "sm_75"), Strings{"target = sm_80"});
  Request bytes{problemOf(128), {}};
  bytes.problem.kvE4M3 = bytes.problem.kScale = bytes.problem.vScale = true;
  EXPECT_EQ(changesFor(bytes, "sm_80"), Strings{"target = sm_89"});
  Request segments{problemOf(128), {}};
  segments.problem.source2 = true;
  EXPECT_EQ(changesFor(segments, "sm_89"), Strings{"target = sm_90a"});
  // Newer targets have no second segment either.
  EXPECT_EQ(changesFor(segments, "sm_120"), Strings{"target = sm_103a"});
}

TEST(Relax, NamesATargetForHeadsThatItHasToNarrow) {
  Request latent{problemOf(576), {}};
  latent.problem.headDimV = 512;
  latent.problem.vInK = true;
  EXPECT_EQ(changesFor(latent, "sm_86"),
            (Strings{"target = sm_80", "head_dim = 512"}));
}

/// Heads and fields that are often right, often a little wrong, and at times
/// far off.
Request randomRequest(std::mt19937 &dice) {
  auto pick = [&](std::initializer_list<unsigned> values) {
    return values.begin()[dice() % values.size()];
  };
  Request request;
  Problem &problem = request.problem;
  problem.headDim = pick({64, 128, 256, 100, 512, 576, 1024, 1536, 2000});
  problem.headDimV = dice() % 2 ? problem.headDim : pick({64, 128, 512, 60});
  problem.vInK = problem.headDimV <= problem.headDim && dice() % 4 == 0;
  request.overrides.pPlacement =
      PPlacement(pick({0, 0, 0, 1, 2, dice() % 8 ? 0u : 3u}));
  for (const ScheduleField &field : scheduleFields())
    if (dice() % 4 == 0)
      request.overrides.fix(
          field.choice,
          !field.words.empty()
              ? unsigned(dice() % field.words.size())
              : pick({1, 2, 3, 5, 12, 32, 64, 100, 128, 192, 300}));
  return request;
}

/// A value of `field` nearer to what is asked for than `named` that plans.
std::optional<unsigned> nearer(const Request &request,
                               const ScheduleField &field, unsigned named) {
  unsigned wanted = *request.overrides[field.choice];
  unsigned distance = named > wanted ? named - wanted : wanted - named;
  // 0 stands for all there are of these, and is no small number.
  bool hasZero = field.zeroChooses && field.name != "key_chunk" &&
                 field.name != "value_chunk" && field.name != "o_columns";
  for (unsigned step = 1; step < distance; ++step)
    for (unsigned value : {wanted - step, wanted + step}) {
      Request other = request;
      other.overrides.fix(field.choice, value);
      if (value <= wanted + step && !(value == 0 && !hasZero) && other.plans())
        return value;
    }
  return std::nullopt;
}

TEST(Relax, NamesOnlyWhatPlansAndNothingNearerDoes) {
  std::mt19937 dice(1);
  unsigned refused = 0, advised = 0;
  for (unsigned n = 0; n < 40; ++n) {
    Request request = randomRequest(dice);
    std::string error;
    if (plan(request.problem, "sm_100a", request.overrides, error))
      continue;
    SCOPED_TRACE(request.describe());
    ++refused;
    Strings changes = changesFor(request);
    EXPECT_LE(changes.size(), 3u);
    advised += !changes.empty();
    for (const std::string &change : changes) {
      constexpr std::string_view target = "target = ";
      if (change.starts_with(target)) {
        EXPECT_TRUE(plan(request.problem, change.substr(target.size()),
                         request.overrides, error))
            << change;
        continue;
      }
      Request changed = request;
      apply(change, changed);
      EXPECT_TRUE(changed.plans()) << change;
      for (const ScheduleField &field : scheduleFields())
        if (change.starts_with(std::string(field.name) + " = ") &&
            change.find(" and ") == std::string::npos)
          EXPECT_EQ(nearer(request, field, *changed.overrides[field.choice]),
                    std::nullopt)
              << change;
    }
  }
  // Otherwise this says nothing.
  EXPECT_GT(refused, 20u);
  EXPECT_GT(advised, 10u);
}

} // namespace
