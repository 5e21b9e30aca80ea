//===- Policies.h - The order of warps and operations -----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PTX_SIM_CORE_EXECUTION_POLICIES_H
#define FMHA_LIB_PTX_SIM_CORE_EXECUTION_POLICIES_H

#include "Machine/Handlers.h"

#include <map>

namespace ptxsim {

/// The warps of a cluster, and how long one runs.
struct WarpTurns {
  explicit WarpTurns(Cluster &cluster);
  /// Runs at most `budget` instructions of the warp.
  void turn(Warp &warp, uint64_t budget);
  /// A long turn of each warp.
  void sweep();

  Cluster &cluster;
  Machine &machine;
  std::vector<Warp *> warps;
};

/// Policy::Random: turns of warps and completions of operations, all drawn.
void takeRandomTurns(WarpTurns &turns);

/// Policy::Pct: priorities of warps and operations, some of which change at
/// steps that are drawn.
class PriorityPolicy {
public:
  explicit PriorityPolicy(WarpTurns &turns)
      : turns(turns), cluster(turns.cluster), warps(turns.warps) {}
  /// Runs as many steps as a sweep has, each of the warp or operation of
  /// highest priority.
  void takeTurns();
  /// Completes the operation of highest priority. Returns false if none may.
  bool completeOne();

private:
  void drawPriorities();
  void changePriority(uint64_t &priority, uint64_t before);
  uint64_t &priorityOf(AsyncOpId op);
  std::optional<size_t> bestOp();

  WarpTurns &turns;
  Cluster &cluster;
  const std::vector<Warp *> &warps;
  // Priorities of warps (in the order of `warps`) and operations, the lowest
  // one given so far, and the steps at which priorities change.
  std::vector<uint64_t> warpPriorities;
  std::map<AsyncOpId, uint64_t> opPriorities;
  uint64_t lowest = uint64_t(1) << 32, prioritySteps = 0;
  std::vector<uint64_t> priorityChanges;
};

/// Policy::Exhaustive: steps that the exploration of the launch chooses.
class ExhaustivePolicy {
public:
  explicit ExhaustivePolicy(WarpTurns &turns)
      : turns(turns), cluster(turns.cluster), machine(turns.machine),
        warps(turns.warps) {}
  /// Takes one step of a warp or of an operation.
  void takeTurn();
  /// Completes an operation. Returns false if none may, or if the exploration
  /// stops this schedule.
  bool completeOne();

private:
  /// A step that may be taken: one of a warp or of an operation.
  struct Choice {
    uint64_t number;
    Warp *warp;
    size_t op;
  };
  std::vector<Choice> opChoices();
  bool explore(std::vector<Choice> choices);
  void step(Warp &warp);

  WarpTurns &turns;
  Cluster &cluster;
  Machine &machine;
  const std::vector<Warp *> &warps;
  // Per warp, the number of changes + 1 if its last step changed nothing, else
  // 0.
  std::vector<uint64_t> fruitless;
};

} // namespace ptxsim

#endif // FMHA_LIB_PTX_SIM_CORE_EXECUTION_POLICIES_H
