//===- SassWalk.cpp - The way of a warp through SASS ----------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SassWalk.h"

#include <algorithm>
#include <limits>

namespace ptxsim::timing {
namespace {

/// Most runs from a block to the next one: ptxas turns short branches into
/// predicates. Equal runs, of a loop that ptxas unrolls, count as one; the
/// second number limits these.
constexpr uint32_t kMostRuns = 24, kMostRounds = 256;

/// Paths whose score is this much below the best one to the same run are
/// dropped.
constexpr double kBeam = 600;

/// Weight of instructions that ptxas neither duplicates nor drops.
constexpr double kHeavy = 20;

double weightOf(const sass::Instruction &inst) {
  Action action = sassClassOf(inst.opcode).action;
  bool isPlain = (action == Action::Plain && inst.root() != "SYNCS") ||
                 action == Action::Shuffle;
  // A guard may be false in all lanes.
  bool isLight = isPlain || action == Action::Branch ||
                 action == Action::Fence || action == Action::MmaSync ||
                 !inst.guard.empty();
  return inst.root() == "NOP" ? 0 : isLight ? 1 : kHeavy;
}

/// Returns how many rounds of a loop a block has: how often most of its lines
/// occur. A line that ptxas expands occurs as often as its rarest opcode.
double roundsOf(const sass::Function &function, const Block &block) {
  std::map<uint32_t, std::map<std::string_view, uint32_t>> counts;
  for (uint32_t i = block.first; i < block.end; ++i) {
    const sass::Instruction &inst = function.instructions[i];
    if (inst.root() != "NOP")
      ++counts[inst.line][inst.opcode];
  }
  std::map<uint32_t, uint32_t> votes;
  for (const auto &[line, opcodes] : counts) {
    uint32_t rarest = UINT32_MAX;
    for (const auto &[opcode, count] : opcodes)
      rarest = std::min(rarest, count);
    ++votes[rarest];
  }
  uint32_t rounds = 1, most = 0;
  for (const auto &[count, lines] : votes)
    if (lines >= most) {
      most = lines;
      rounds = count;
    }
  return rounds;
}

} // namespace

SassWalk::SassWalk(const sass::Function &function,
                   const std::vector<Block> &blocks, const Recording &recording)
    : function(function), blocks(blocks), recording(recording) {
  findLeaders();
  for (const Block &block : blocks) {
    double weight = 0;
    for (uint32_t i = block.first; i < block.end; ++i) {
      const sass::Instruction &inst = function.instructions[i];
      weight += weightOf(inst);
      double &line = lineWeights[inst.line];
      line = std::max(line, weightOf(inst));
    }
    weights.push_back(weight);
    rounds.push_back(roundsOf(function, block));
  }
}

/// Finds the lines that follow branches.
void SassWalk::findLeaders() {
  for (const WarpRecord &warp : recording.warps)
    for (size_t i = 1; i < warp.steps.size(); ++i)
      if (recording.codes[warp.steps[i - 1].code].opcode.starts_with("bra"))
        leaders.insert(recording.codes[warp.steps[i].code].line);
}

uint32_t SassWalk::kindOf(Lines lines) {
  std::ranges::sort(lines);
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  auto [place, isNew] = kinds.try_emplace(lines, uint32_t(linesOf.size()));
  if (isNew) {
    double cost = 0;
    for (uint32_t line : lines)
      if (auto found = lineWeights.find(line); found != lineWeights.end())
        cost += found->second;
    costs.push_back(cost);
    linesOf.push_back(std::move(lines));
  }
  return place->second;
}

/// Returns the kind of each run.
std::vector<uint32_t> SassWalk::runsOf(const WarpRecord &record) {
  std::vector<uint32_t> runs;
  Lines lines;
  runOfStep.clear();
  auto close = [&] {
    if (!lines.empty())
      runs.push_back(kindOf(std::move(lines)));
    lines = {};
  };
  for (const Step &step : record.steps) {
    const Code &code = recording.codes[step.code];
    runOfStep.push_back(uint32_t(runs.size()));
    if (step.isHelper)
      continue;
    if (leaders.contains(code.line))
      close();
    runOfStep.back() = uint32_t(runs.size());
    // A branch belongs to its run even if no lane takes it.
    bool isBranch = code.opcode.starts_with("bra");
    if (!step.isIdle || isBranch)
      lines.push_back(code.line);
    if (isBranch)
      close();
  }
  close();
  return runs;
}

/// Returns the weight of the instructions of the block that have a line of the
/// kind.
double SassWalk::overlapOf(uint32_t block, uint32_t kind) {
  uint64_t key = uint64_t(kind) << 32 | block;
  auto [place, isNew] = overlaps.try_emplace(key, 0);
  if (!isNew)
    return place->second;
  double weight = 0;
  const Lines &lines = linesOf[kind];
  for (uint32_t i = blocks[block].first; i < blocks[block].end; ++i) {
    const sass::Instruction &inst = function.instructions[i];
    if (std::ranges::binary_search(lines, inst.line))
      weight += weightOf(inst);
  }
  return place->second = weight;
}

void SassWalk::reach(uint32_t run, uint32_t block, Place place) {
  auto [found, isNew] = places[run].try_emplace(block, place);
  if (!isNew && place.score > found->second.score)
    found->second = place;
}

/// Extends the best path to the block by each block that may follow.
void SassWalk::leave(uint32_t run, uint32_t block,
                     const std::vector<uint32_t> &runs) {
  double from = places[run][block].score;
  for (uint32_t next : blocks[block].next) {
    // Several blocks may be in one run, but none of them twice.
    bool isAhead = next > block;
    double seen = isAhead ? overlapOf(next, runs[run]) : 0, missed = 0;
    double found = seen > 0, all = weights[next];
    uint32_t last = std::min(run + kMostRounds, uint32_t(runs.size() - 1));
    for (uint32_t to = run, kinds = 0; to <= last && kinds <= kMostRuns; ++to) {
      if (to > run) {
        double overlap = overlapOf(next, runs[to]);
        seen += overlap;
        found += overlap > 0;
        missed += overlap == 0 ? costs[runs[to]] : 0;
        kinds += runs[to] != runs[to - 1];
      } else if (!isAhead) {
        continue;
      }
      // All rounds of an unrolled loop must occur.
      double share = std::min(found / rounds[next], 1.0);
      double lost = missed + std::max(seen - all * rounds[next], 0.0);
      double score = from + 2 * share * std::min(seen, all) - all - lost;
      reach(to, next, {score, run, block});
    }
  }
}

std::vector<SassWalk::Visit> SassWalk::backFrom(uint32_t run,
                                                uint32_t block) const {
  std::vector<Visit> path;
  while (true) {
    const Place &place = places[run].at(block);
    path.push_back({block, place.fromRun, run});
    if (place.fromRun == run && place.fromBlock == block)
      break;
    run = place.fromRun;
    block = place.fromBlock;
  }
  // The first block has parts of all runs up to its last one.
  path.back().firstRun = 0;
  std::ranges::reverse(path);
  return path;
}

std::vector<SassWalk::Visit> SassWalk::walk(const WarpRecord &record) {
  std::vector<uint32_t> runs = runsOf(record);
  if (runs.empty() || blocks.empty())
    return {};
  places.assign(runs.size(), {});
  double seen = 0;
  for (uint32_t to = 0; to < std::min<size_t>(kMostRuns, runs.size()); ++to) {
    double overlap = overlapOf(0, runs[to]);
    seen += overlap;
    reach(to, 0, {2 * std::min(seen, weights[0]) - weights[0], to, 0});
  }
  for (uint32_t run = 0; run < runs.size(); ++run) {
    double best = -std::numeric_limits<double>::infinity();
    for (const auto &[block, place] : places[run])
      best = std::max(best, place.score);
    for (auto it = places[run].begin(); it != places[run].end(); ++it) {
      best = std::max(best, it->second.score);
      if (it->second.score > best - kBeam)
        leave(run, it->first, runs);
    }
  }
  const std::pair<const uint32_t, Place> *end = nullptr;
  for (const auto &at : places.back())
    if (blocks[at.first].exits && (!end || at.second.score > end->second.score))
      end = &at;
  return end ? backFrom(uint32_t(runs.size() - 1), end->first)
             : std::vector<Visit>();
}

} // namespace ptxsim::timing
