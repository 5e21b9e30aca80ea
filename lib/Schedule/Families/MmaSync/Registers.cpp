//===- Registers.cpp - Registers of a thread that multiplies --------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MmaSyncRules.h"

#include <algorithm>

using namespace fmha;
using namespace fmha::schedule;

namespace {

/// 32-bit registers of a thread that hold tiles. The scores become P one by
/// one: a part of P is there while most scores are.
struct TileRegisters {
  static constexpr unsigned shareOfP = 8;
  unsigned scores, outputs;

  TileRegisters(const Problem &problem, const Schedule &s)
      : scores(s.qTileRows * s.kvBlock / mmaSyncThreads),
        outputs(s.qTileRows * outputColumns(problem, s) / mmaSyncThreads) {}
};

} // namespace

/// Returns the registers that other values of a thread need: fragments of the
/// factors, addresses, statistics of rows, and what features add. Measured with
/// ptxas 13.0 (test/Schedule/MmaSync).
static unsigned othersOf(const Problem &problem, const Schedule &s,
                         unsigned scores) {
  constexpr unsigned usual = 32, perFragment = 8, ofScore = 16, ofLists = 8,
                     ofLengths = 12, ofHalves = 32, wholeK = 16;
  // Code on scores has the numbers of a thread's keys.
  constexpr unsigned shareOfKeys = 4, shareOfLoads = 2;
  unsigned others = usual + s.qTileRows / 64 * perFragment;
  // ptxas keeps more fragments for twice as many instructions.
  if (s.mmaK < wholeK)
    others += ofHalves;
  if (problem.score)
    others += ofScore + scores / shareOfKeys;
  if (problem.scoreByKey || problem.scoreIsLong)
    others += ofScore + scores / shareOfLoads;
  else if (!problem.captures.empty())
    others += scores / shareOfLoads;
  if (problem.blockTables || problem.topk || problem.kvIndices)
    others += ofLists;
  if (problem.cuSeqlensQ || problem.cuSeqlensK || problem.mask.left ||
      problem.needsTrueMax())
    others += ofLengths;
  return others;
}

Violation fmha::schedule::checkMmaSyncRegisters(const Case &c) {
  const Schedule &s = c.schedule;
  TileRegisters tiles(c.problem, s);
  unsigned others = othersOf(c.problem, s, tiles.scores);
  unsigned there = registersAtLaunch(mmaSyncThreads, s.ctasPerSm);
  others += tiles.scores / TileRegisters::shareOfP;
  unsigned needed = tiles.scores + tiles.outputs + others;
  if (needed <= there)
    return std::nullopt;
  if (c.terse)
    return "";
  std::vector<std::string> ways;
  if (s.ctasPerSm > 2)
    ways.push_back("fewer ctas_per_sm");
  if (s.qTileRows > 64)
    ways.push_back("q_tile_rows = 64");
  if (s.kvBlock > leastKeys)
    ways.push_back("a smaller kv_block");
  ways.push_back("fewer o_columns");
  return "a thread needs " + str(needed) + " registers (S " +
         str(tiles.scores) + ", O " + str(tiles.outputs) + " and " +
         str(others) + " others), " + str(there) + " are available with " +
         counted(s.ctasPerSm, "CTA") + " per SM; take " + anyOf(ways);
}
