//===- Graph.h - Branches and loops of SASS ---------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PTX_TIME_TRIPS_GRAPH_H
#define FMHA_LIB_PTX_TIME_TRIPS_GRAPH_H

#include "SassSource.h"

#include <map>

namespace ptxsim::timing {

constexpr uint32_t kNoBlock = UINT32_MAX;

/// How a block ends.
enum class Ending : uint8_t {
  /// The next block follows.
  Falls,
  /// A branch or an exit with a condition.
  Chooses,
  /// A branch without one.
  Jumps,
  /// BRX, which has a table of targets.
  Table,
  /// BSYNC, after which the warp is where its last BSSY says.
  Joins,
  Exits,
};

/// A natural loop.
struct Loop {
  uint32_t head = 0, size = 0;
  /// By block.
  std::vector<bool> has;
};

/// What a kernel without PTX says about where its warps may go.
class SassGraph {
public:
  explicit SassGraph(const SassKernel &kernel);
  const sass::Instruction &lastOf(uint32_t block) const;
  Ending endingOf(uint32_t block) const;
  /// Returns the blocks that the arms of a branch lead to; kNoBlock for the
  /// end of the warp.
  uint32_t takenOf(uint32_t block) const;
  uint32_t fallsOf(uint32_t block) const;
  uint32_t blockOf(uint32_t instruction) const;
  /// Returns the innermost loop that one arm of the branch leaves and the other
  /// does not; null if there is none.
  const Loop *loopLeftBy(uint32_t block) const;
  /// Returns which arm stays in that loop.
  bool takenStaysIn(const Loop &loop, uint32_t block) const;
  /// Returns whether the branch is taken once the wait before it has succeeded;
  /// nullopt if it does not test a wait.
  std::optional<bool> takenAfterWait(uint32_t block) const;
  /// Returns the blocks that warps can reach if no wait is repeated.
  std::vector<bool> reachable() const;

private:
  std::vector<uint32_t> nextOf(uint32_t block) const;
  void findLoops();
  void addLoop(uint32_t from, uint32_t head,
               const std::vector<std::vector<uint32_t>> &before);

  const SassKernel &kernel;
  std::map<uint32_t, uint32_t> firsts;
  std::vector<Loop> loops;
};

} // namespace ptxsim::timing

#endif // FMHA_LIB_PTX_TIME_TRIPS_GRAPH_H
