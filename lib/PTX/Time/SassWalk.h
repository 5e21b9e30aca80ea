//===- SassWalk.h - The way of a warp through SASS --------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PTX_TIME_SASSWALK_H
#define FMHA_LIB_PTX_TIME_SASSWALK_H

#include "SassBlocks.h"

#include "fmha/PTX/Time/Recording.h"

#include <map>
#include <unordered_map>
#include <unordered_set>

namespace ptxsim::timing {

/// Finds the ways that warps take through SASS from what they executed of its
/// PTX. The steps of a warp are cut into runs where branches leave and lead to.
/// A way suits if the instructions of its blocks have the lines of the runs, in
/// order; ptxas moves and duplicates instructions and merges and turns
/// branches, so the best way wins, by dynamic programming over runs and blocks.
class SassWalk {
public:
  /// A block that the warp visits, and the runs that it may have parts of.
  struct Visit {
    uint32_t block = 0, firstRun = 0, lastRun = 0;
  };
  SassWalk(const sass::Function &function, const std::vector<Block> &blocks,
           const Recording &recording);
  /// Returns the blocks that the warp visits; empty if no way ends with it.
  std::vector<Visit> walk(const WarpRecord &record);
  /// Returns the run of each step of the last warp.
  const std::vector<uint32_t> &runs() const { return runOfStep; }

private:
  /// The lines of a run, each once, with the lanes that were active.
  using Lines = std::vector<uint32_t>;
  struct Place {
    double score = 0;
    uint32_t fromRun = 0, fromBlock = 0;
  };

  void findLeaders();
  std::vector<uint32_t> runsOf(const WarpRecord &record);
  uint32_t kindOf(Lines lines);
  double overlapOf(uint32_t block, uint32_t kind);
  void leave(uint32_t run, uint32_t block, const std::vector<uint32_t> &runs);
  void reach(uint32_t run, uint32_t block, Place place);
  std::vector<Visit> backFrom(uint32_t run, uint32_t block) const;

  const sass::Function &function;
  const std::vector<Block> &blocks;
  const Recording &recording;
  /// What the instructions of each block weigh, how many rounds of a loop it
  /// has, and what the instructions of each line weigh.
  std::vector<double> weights, rounds;
  std::unordered_map<uint32_t, double> lineWeights;
  std::map<Lines, uint32_t> kinds;
  std::vector<Lines> linesOf;
  /// By kind, what none of its lines being there costs.
  std::vector<double> costs;
  std::unordered_map<uint64_t, double> overlaps;
  /// Lines that runs begin with.
  std::unordered_set<uint32_t> leaders;
  std::vector<uint32_t> runOfStep;
  /// By run: the best way to each block, the run being reached in it.
  std::vector<std::map<uint32_t, Place>> places;
};

} // namespace ptxsim::timing

#endif // FMHA_LIB_PTX_TIME_SASSWALK_H
