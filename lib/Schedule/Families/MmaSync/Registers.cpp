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

/// 32-bit registers of a thread that hold tiles.
struct TileRegisters {
  unsigned scores, outputs;

  TileRegisters(const Problem &problem, const Schedule &s)
      : scores(s.qTileRows * s.kvBlock / mmaSyncThreads),
        outputs(s.qTileRows * outputColumns(problem, s) / mmaSyncThreads) {}

  /// Returns the registers of P while most scores are still live, since scores
  /// become P one by one. In blocks of many keys ptxas starts more of P at
  /// once.
  unsigned ofP(unsigned keys) const {
    constexpr unsigned manyKeys = 128, share = 8, shareOfMany = 4;
    return scores / (keys > manyKeys ? shareOfMany : share);
  }
};

} // namespace

/// Returns the registers that code on scores needs: for the positions of a
/// thread's keys, and for the values that it reads for them.
static unsigned ofScoreCode(const Problem &problem, unsigned scores) {
  constexpr unsigned usual = 20, ofLongOrReads = 16, shareOfKeys = 4,
                     shareOfLoads = 2;
  if (!problem.score)
    return 0;
  unsigned count = usual + scores / shareOfKeys;
  unsigned reads = unsigned(problem.captures.size());
  if (problem.scoreByKey || problem.scoreIsLong) {
    count += ofLongOrReads;
    reads = std::max(reads, 1u);
  }
  // Code that reads nothing per key reads its vectors once for all keys.
  if (!problem.scoreByKey)
    reads = std::min(reads, 1u);
  return count + reads * scores / shareOfLoads;
}

/// Returns the registers that other values of a thread need: fragments of the
/// factors, addresses, statistics of rows, and what features add. Measured with
/// ptxas 13.0: test/Pipeline/Inputs/spills_mma_sync.py has kernels that it
/// spills with fewer.
static unsigned othersOf(const Problem &problem, const Schedule &s,
                         unsigned scores) {
  constexpr unsigned usual = 32, perFragment = 8, ofLists = 16, ofLengths = 8,
                     ofTrueMax = 24, shareOfPolynomials = 16,
                     ofFewRegisters = 4, ofShortSums = 8, ofHalves = 32,
                     shareOfHalves = 8, ofPolynomials = 4, ofPasses = 16,
                     halfK = 8;
  unsigned others = usual + s.qTileRows / 64 * perFragment;
  if (problem.headDim < outputColumns(problem, s))
    others += ofShortSums;
  // ptxas keeps more fragments for twice as many instructions.
  if (s.mmaK == halfK)
    others += ofHalves + scores / shareOfHalves;
  if (s.exp2EmulatedPercent)
    others += ofPolynomials + scores / shareOfPolynomials;
  if (s.ctasPerSm > 2)
    others += ofFewRegisters;
  if (outputPasses(problem, s) > 1)
    others += ofPasses;
  if (problem.blockTables || problem.topk || problem.kvIndices)
    others += ofLists;
  if (problem.needsTrueMax())
    others += ofTrueMax;
  unsigned lengths = (problem.cuSeqlensQ || problem.cuSeqlensK) +
                     problem.mask.left.has_value();
  if (lengths)
    others += ofLengths * (1 + lengths);
  return others + ofScoreCode(problem, scores);
}

Violation fmha::schedule::checkMmaSyncRegisters(const Case &c) {
  const Schedule &s = c.schedule;
  TileRegisters tiles(c.problem, s);
  // ptxas for GPUs with TMA keeps more addresses.
  constexpr unsigned ofAddresses = 4;
  unsigned others = othersOf(c.problem, s, tiles.scores);
  if (c.gpu && c.gpu->hasTma)
    others += ofAddresses;
  unsigned there = registersAtLaunch(mmaSyncThreads, s.ctasPerSm);
  others += tiles.ofP(s.kvBlock);
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
