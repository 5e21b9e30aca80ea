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

/// Finds the path of each warp through the SASS from the steps that it executed
/// of the PTX. The steps are cut into runs at branches and their targets. A
/// path matches if the instructions of its blocks have the lines of the runs,
/// in order. Since ptxas moves and duplicates instructions and merges and
/// inverts branches, no path matches exactly; dynamic programming over runs and
/// blocks finds the best one.
class SassWalk {
public:
  /// A block that the warp visits, and the runs that it may have parts of.
  struct Visit {
    uint32_t block = 0, firstRun = 0, lastRun = 0;
  };
  SassWalk(const sass::Function &function, const std::vector<Block> &blocks,
           const Recording &recording);
  /// Returns the blocks that the warp visits; empty if no path leads to an
  /// exit.
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
  /// By block: the weight of its instructions, and how many rounds of a loop it
  /// has. By line: the weight of its instructions.
  std::vector<double> weights, rounds;
  std::unordered_map<uint32_t, double> lineWeights;
  std::map<Lines, uint32_t> kinds;
  std::vector<Lines> linesOf;
  /// By kind: the penalty of a path that has none of its lines.
  std::vector<double> costs;
  std::unordered_map<uint64_t, double> overlaps;
  /// Lines that runs begin with.
  std::unordered_set<uint32_t> leaders;
  std::vector<uint32_t> runOfStep;
  /// By run: the best path to each block in which the run begins.
  std::vector<std::map<uint32_t, Place>> places;
};

} // namespace ptxsim::timing

#endif // FMHA_LIB_PTX_TIME_SASSWALK_H
