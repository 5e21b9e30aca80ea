//===- ExplainTest.cpp - What a report says ---------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Planning.h"

#include "fmha/Schedule/Cost/CostModel.h"
#include "fmha/Schedule/Model/Overrides.h"
#include "fmha/Schedule/Report/Explain.h"

#include "gmock/gmock.h"

#include <cmath>
#include <iomanip>
#include <map>
#include <sstream>

using namespace fmha;
using namespace fmha::schedule;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(Explain, TellsTheWholeStory) {
  Problem problem = problemOf(128);
  Plan plan = mustPlan(problem, "sm_100a");
  std::string text = explain(problem, plan);
  EXPECT_THAT(text,
              AllOf(HasSubstr("schedule for sm_100a"),
                    HasSubstr("1492 clk; the"), HasSubstr("976 clk exp"),
                    HasSubstr("unit loads:"), HasSubstr("runners-up:"),
                    HasSubstr("rejected:"), HasSubstr("65536 registers")));
  for (const Role &role : plan.schedule.roles)
    EXPECT_THAT(text, HasSubstr("  " + role.name));
  for (const SmemRegion &region : plan.map.smem)
    EXPECT_THAT(text, HasSubstr(region.name));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    EXPECT_LE(line.size(), 80u) << line;
}

/// Each number is that of a plan with this override. The order of softmax was
/// not read with a score region, so the planner does not compare shares.
TEST(Explain, TellsWhatOnlyARequestBrings) {
  Problem problem = problemOf(128);
  problem.score = true;
  Plan plan = mustPlan(problem, "sm_100a");
  std::string text = listByRequest(problem, plan);
  Overrides wanted;
  wanted.fix(Choice::Exp2Emulated, 25);
  double clocks =
      modelCost(problem, mustPlan(problem, "sm_100a", wanted).schedule)
          .clocksPerRow;
  EXPECT_LT(clocks, modelCost(problem, plan.schedule).clocksPerRow);
  std::ostringstream line;
  line << "- exp2_emulated = 25: modeled " << std::fixed << std::setprecision(2)
       << clocks << " clk per row and 128 keys";
  EXPECT_THAT(text, HasSubstr(line.str()));
  // Who has it is not told of it.
  plan = mustPlan(problem, "sm_100a", wanted);
  EXPECT_THAT(listByRequest(problem, plan),
              Not(HasSubstr("exp2_emulated = 25")));
  // Runs on an H200 have compared loops, and the model does not know all of it.
  problem = withHints(problemOf(64), {1, 32, 32, 4096, 4096});
  Overrides single;
  single.fix(Choice::Scheduler, unsigned(Scheduler::Single));
  plan = mustPlan(problem, "sm_90a", single);
  EXPECT_EQ(listByRequest(problem, plan), "");
}

TEST(Explain, SaysWhyExponentialsAreEmulatedOrNot) {
  auto reasonOf = [](unsigned headDim, std::string_view target) {
    Overrides blocks;
    blocks.fix(Choice::KvBlock, 128);
    return mustPlan(problemOf(headDim), target, blocks).reason;
  };
  EXPECT_THAT(reasonOf(128, "sm_100a"),
              AllOf(HasSubstr("exp2_emulated = 25: by the order"),
                    HasSubstr("clk with 25 % and 2 slices of P"),
                    HasSubstr("without emulation (modeled)")));
  EXPECT_THAT(reasonOf(80, "sm_100a"),
              AllOf(HasSubstr("exp2_emulated = 0: by the order"),
                    HasSubstr("a gain below 4 %")));
  // P has columns of its own.
  EXPECT_THAT(reasonOf(64, "sm_100a"),
              HasSubstr("clk with 25 % and 1 slice of P"));
  EXPECT_THAT(reasonOf(128, "sm_103a"),
              AllOf(HasSubstr("p_slices = 2: by the order"),
                    HasSubstr("with one slice (modeled)")));
  // Correction has too few registers there.
  EXPECT_THAT(reasonOf(96, "sm_100a"), HasSubstr("exp2_emulated = 0: plan.C8"));
  EXPECT_EQ(listByRequest(problemOf(80), mustPlan(problemOf(80), "sm_100a"))
                .find("exp2_emulated"),
            std::string::npos);
}

TEST(Explain, TellsTheShareThatIsEmitted) {
  Problem problem = problemOf(128);
  for (auto [share, emitted] : {std::pair(12u, "10 of 80 of a thread"),
                                {18u, "24 of 128 of a thread"},
                                {25u, "20 of 80 of a thread"}}) {
    Overrides wanted;
    wanted.fix(Choice::Exp2Emulated, share);
    Plan plan = mustPlan(problem, "sm_100a", wanted);
    EXPECT_THAT(explain(problem, plan), HasSubstr(emitted));
  }
}

/// People ask first why P is where it is.
TEST(Explain, TellsTheBestWithPElsewhere) {
  Problem problem = problemOf(192);
  problem.headDimV = 128;
  Plan plan = mustPlan(problem, "sm_100a");
  ASSERT_EQ(plan.schedule.pPlacement, PPlacement::Tmem);
  for (size_t i = 0; i < 4; ++i)
    ASSERT_EQ(plan.runnersUp[i].schedule.pPlacement, PPlacement::Tmem);
  EXPECT_THAT(listRunnersUp(problem, plan), HasSubstr("p_placement = smem"));
}

TEST(Explain, TellsOtherNumbersOfParts) {
  Problem problem = withHints(problemOf(128), {1, 32, 4, 1, 16384});
  Plan plan = mustPlan(problem, "sm_100a");
  ASSERT_GT(plan.schedule.splits, 1u);
  std::string clocks = std::to_string(
      std::lround(modelCost(problem, plan.schedule).launchClocks));
  std::string text = listSplits(problem, plan);
  EXPECT_THAT(text, HasSubstr(": 1 part "));
  EXPECT_THAT(text, ContainsRegex(std::to_string(plan.schedule.splits) +
                                  "[[:space:]]+parts[[:space:]]+" + clocks +
                                  "[[:space:]]+\\(this\\)"));
  EXPECT_THAT(explain(problem, plan), HasSubstr(text));
  // Nothing to choose from where the GPU is full, or nothing is known.
  for (Problem full :
       {withHints(problemOf(128), {8, 32, 32, 4096, 4096}), problemOf(128)})
    EXPECT_EQ(listSplits(full, mustPlan(full, "sm_100a")), "");
}

/// One entry for each way to lack shared memory, not for each size.
TEST(Explain, GroupsWhatLacksSharedMemory) {
  Problem problem = problemOf(512);
  Plan plan = mustPlan(problem, "sm_100a");
  std::map<std::string, unsigned> ways;
  for (const Reason &one : groupByReason(problem, plan.rejected)) {
    if (one.text.find(": plan.C6: ") == std::string::npos ||
        one.text.find("expected kv_stages of at least") < one.text.size())
      continue;
    unsigned tiles = one.text.starts_with("q_tiles = 2") ? 2 : 1;
    unsigned rows = one.text.find("q_tile_rows = 64") < one.text.size();
    size_t at = one.text.find("p_placement = ");
    ++ways[std::to_string(tiles) + std::to_string(rows) +
           one.text.substr(at, one.text.find(',', at) - at)];
  }
  EXPECT_GE(ways.size(), 4u);
  for (const auto &[way, count] : ways)
    EXPECT_EQ(count, 1u) << way;
}

TEST(Explain, HintsThatNoGpuHoldsTellNothing) {
  constexpr unsigned most = INT32_MAX;
  Problem problem = withHints(problemOf(128), {most, most, most, most, most});
  EXPECT_THAT(describeLaunch(problem, mustPlan(problem, "sm_100a")),
              HasSubstr("larger than any GPU holds"));
  problem = withHints(problemOf(128), {1, 1, 1, most, most});
  EXPECT_NE(describeLaunch(problem, mustPlan(problem, "sm_100a")), "");
}

TEST(Explain, KeepsEveryDigitOfTheThreshold) {
  Plan plan = mustPlan(problemOf(128), "sm_100a");
  for (auto [threshold, text] : {std::pair(8.0, "2^8 growth"),
                                 {7.25, "2^7.25 growth"},
                                 {0.1, "2^0.1 g"}}) {
    plan.schedule.rescaleThreshold = threshold;
    EXPECT_THAT(explain(problemOf(128), plan), HasSubstr(text));
  }
}

/// The line of a drawing whose title is `title`.
static std::string lineOf(const std::string &text, const std::string &title) {
  size_t at = text.find("  " + title);
  return at == std::string::npos ? ""
                                 : text.substr(at, text.find('\n', at) - at);
}

TEST(Explain, DrawsTensorMemoryToScale) {
  Overrides blocks;
  blocks.fix(Choice::KvBlock, 128);
  Plan plan = mustPlan(problemOf(128), "sm_100a", blocks);
  std::string text = drawTmem(plan.map);
  std::string ruler = lineOf(text, "column");
  // Every region begins under the ruler's mark of its first column.
  for (const TmemRegion &region : plan.map.tmem) {
    std::string line =
        lineOf(text, region.aliases.empty() ? "regions" : "over S");
    EXPECT_EQ(line.find("|" + region.name),
              ruler.find(" " + std::to_string(region.column) + " ") + 1)
        << text;
  }
}

TEST(Explain, NamesAReasonOnceWithItsCount) {
  Plan plan = mustPlan(problemOf(128), "sm_100a");
  std::string text = listRejected(problemOf(128), plan);
  auto times = [&](std::string_view what) {
    unsigned count = 0;
    for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; ++at)
      ++count;
    return count;
  };
  EXPECT_EQ(times("plan.C5: "), 1u);
  unsigned all = 0, grouped = 0;
  for (const Rejected &rejected : plan.rejected)
    all += rejected.candidates;
  for (const Reason &group : groupByReason(problemOf(128), plan.rejected))
    grouped += group.candidates;
  EXPECT_EQ(all, grouped);
}

static Problem launchOf(unsigned headDim, unsigned length, unsigned batch,
                        unsigned heads) {
  Problem problem = problemOf(headDim, length);
  problem.kvLenHint = length;
  problem.batchHint = batch;
  problem.qHeadsHint = problem.kvHeadsHint = heads;
  return problem;
}

/// Rings that would fit, but at the price of the output's own place.
TEST(Explain, SaysWhyARingIsNoDeeper) {
  Problem problem = launchOf(64, 4096, 4, 16);
  Plan plan = mustPlan(problem, "sm_90a");
  std::string text = listRejected(problem, plan);
  EXPECT_THAT(text, ContainsRegex("a deeper ring\\s+leaves\\s+the\\s+output"));
  EXPECT_THAT(text, Not(HasSubstr("query tile has no rows")));
  EXPECT_THAT(text, Not(HasSubstr("p_placement = tmem")));
}

TEST(Explain, TellsOfWhatACtaHasWhereAnSmHasSeveral) {
  Problem problem = launchOf(64, 512, 32, 32);
  problem.mask.kind = Mask::Causal;
  Plan plan = mustPlan(problem, "sm_90a");
  ASSERT_EQ(plan.schedule.ctasPerSm, 3u);
  std::string text = tabulateResources(problem, plan);
  EXPECT_THAT(text, HasSubstr("resources of a CTA, of which an SM has 3"));
  // A third of 228 KiB, in whole KiB, less one.
  EXPECT_THAT(text, ContainsRegex("SMEM bytes +[0-9]+ of 76800\n"));
  EXPECT_THAT(text, ContainsRegex("registers +[0-9]+ of 21845\n"));
  EXPECT_THAT(explain(problem, plan), HasSubstr(" of 76800 bytes\n"));
}

/// What bounds a block was fitted there, and no unit does.
TEST(Explain, TellsFittedClocksFromModeledOnes) {
  Problem problem = problemOf(128);
  Plan plan = mustPlan(problem, "sm_90a");
  EXPECT_THAT(tabulateLoads(problem, plan),
              StartsWith("unit loads: modeled clocks of one KV block; block "
                         "is fitted to launches on an H200\n"));
  EXPECT_THAT(plan.reason, HasSubstr("bound by units and waits together, as "
                                     "fitted to launches on an H200"));
}

TEST(Explain, TabulatesTheLoadsOfTheBest) {
  Problem problem = problemOf(128);
  Overrides blocks;
  blocks.fix(Choice::KvBlock, 128);
  Plan plan = mustPlan(problem, "sm_100a", blocks);
  std::istringstream lines(tabulateLoads(problem, plan));
  std::string line;
  std::getline(lines, line);
  std::getline(lines, line);
  EXPECT_EQ(line, "        exp   MMA  SMEM  TMEM   FMA   ALU    L2 chain turns "
                  "loads block per row");
  std::getline(lines, line);
  EXPECT_EQ(
      line,
      "   1.  1552  2067  2064   977   922   896   936  2127  1792   700  "
      "2127    8.31");
}

TEST(Explain, TellsHeadDimsApart) {
  Problem problem = problemOf(128);
  auto heading = [&problem] {
    std::string text = explain(problem, mustPlan(problem, "sm_100a"));
    return text.substr(0, text.find('\n'));
  };
  EXPECT_EQ(heading(), "schedule for sm_100a: bf16, head_dim 128, mask none");
  problem.headDim = 192;
  problem.vInK = true;
  EXPECT_EQ(heading(), "schedule for sm_100a: bf16, head_dim 192, head_dim_v "
                       "128, V in K, mask none");
}

TEST(Explain, SaysOfEqualsThatTheyAreEqual) {
  Problem problem = problemOf(64);
  Plan plan = mustPlan(problem, "sm_100a");
  // The ring is deep enough with one stage less: same clocks, same slack.
  Schedule other = plan.schedule;
  --other.kvStages;
  std::string why = whySlower(problem, plan, other);
  EXPECT_THAT(why, HasSubstr("like the choice, with as much slack"));
  // One that is worse has a number that is.
  other.qTiles = 1;
  EXPECT_THAT(whySlower(problem, plan, other), HasSubstr("the choice takes"));
}

TEST(Explain, SaysWhyAFasterRunnerUpIsNotTheChoice) {
  Problem problem = problemOf(128);
  Plan plan = mustPlan(problem, "sm_100a");
  ASSERT_EQ(plan.schedule.kvBlock, 80u);
  Schedule other = plan.runnersUp.front().schedule;
  Cost best = modelCost(problem, plan.schedule),
       cost = modelCost(problem, other);
  ASSERT_LT(cost.clocksPerRow, best.clocksPerRow);
  ASSERT_LT(best.ordered / 80, cost.ordered / other.kvBlock);
  char numbers[64];
  std::snprintf(numbers, sizeof numbers,
                "modeled %.2f clk per row and 128 keys, the choice takes %.2f",
                cost.clocksPerRow, best.clocksPerRow);
  std::string why = whySlower(problem, plan, other);
  EXPECT_THAT(why, HasSubstr(numbers));
  EXPECT_THAT(why, HasSubstr("by the order in which ptxas emits softmax, the "
                             "choice"));
}

TEST(Explain, TellsOfTheLaunchWhereItIsKnown) {
  Problem problem = problemOf(128);
  EXPECT_EQ(describeLaunch(problem, mustPlan(problem, "sm_100a")), "");
  problem.qLenHint = problem.kvLenHint = 2048;
  problem.batchHint = 2;
  EXPECT_THAT(describeLaunch(problem, mustPlan(problem, "sm_100a")),
              StartsWith("launch: not modeled without q_heads, kv_heads"));
  problem.qHeadsHint = 64;
  problem.kvHeadsHint = 8;
  Plan ahead = mustPlan(problem, "sm_100a");
  EXPECT_THAT(describeLaunch(problem, ahead),
              HasSubstr("launch: 148 CTAs on 148 SMs, at most 7 tiles each"));
  EXPECT_THAT(explain(problem, ahead),
              ContainsRegex("a launch takes [0-9]+ clk, [0-9]+ with one tile "
                            "per CTA \\(modeled\\)"));
  Overrides overrides;
  overrides.fix(Choice::Scheduler, unsigned(Scheduler::Single));
  std::string text =
      describeLaunch(problem, mustPlan(problem, "sm_100a", overrides));
  EXPECT_THAT(text, HasSubstr("launch: 1024 CTAs on 148 SMs, 7 waves, 99 %"));
  EXPECT_LE(text.find('\n'), 80u) << text;
}

TEST(Explain, TellsOfTheLaunchOfSplits) {
  Problem problem = problemOf(128, 1);
  problem.kvLenHint = 4096;
  problem.batchHint = problem.kvHeadsHint = problem.qHeadsHint = 4;
  Overrides overrides;
  overrides.fix(Choice::Splits, 5);
  Plan plan = mustPlan(problem, "sm_100a", overrides);
  EXPECT_THAT(describeLaunch(problem, plan),
              AllOf(HasSubstr("launch: 80 CTAs on 148 SMs, 1 wave, 54 %"),
                    ContainsRegex(", [0-9]+ of them the\\s+merge\\s+kernel")));
  overrides.fix(Choice::Scheduler, unsigned(Scheduler::Static));
  overrides.fix(Choice::Splits, 64);
  plan = mustPlan(problem, "sm_100a", overrides);
  EXPECT_THAT(describeLaunch(problem, plan),
              HasSubstr("launch: 148 CTAs on 148 SMs, at most 7 tiles each"));
}

TEST(Explain, DrawsWhatBeginsAtLane16) {
  // S of 64 rows and 128 columns in the columns of an O of 512.
  MemoryMap map;
  map.tmem = {{"S0", 0, 128, "", 16}, {"O0", 0, 512, "", 0}};
  map.tmemColumns = 512;
  EXPECT_EQ(drawTmem(map),
            "tensor memory: 512 of 512 columns allocated, one character = 8 "
            "columns\n"
            "  column  0       64      128     192     256     320     384     "
            "448     512\n"
            "  regions |O0" +
                std::string(61, ' ') +
                "|\n"
                "  lane 16 |S0" +
                std::string(13, ' ') + "|\n");
}
