//===- Scheduler.h - Which warp runs next, and what if none can -*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PTX_SIM_CORE_EXECUTION_SCHEDULER_H
#define FMHA_LIB_PTX_SIM_CORE_EXECUTION_SCHEDULER_H

#include "Machine/Handlers.h"

#include <map>

namespace ptxsim {

/// Runs a cluster to its end. Eager and late: round robin with long turns.
/// Random: a warp and a turn length from the seed.
class Scheduler {
public:
  explicit Scheduler(Cluster &cluster);
  /// Runs the cluster to its end, or to that of the launch. With `mayYield` it
  /// returns false, to be called again, once the cluster has run for long
  /// without changing anything: it may wait for another one.
  bool run(bool mayYield);
  /// Tells the changes that all other clusters have made so far.
  void othersChanged(uint64_t changes);
  /// Whether the cluster can only spin unless others change something, and has
  /// had a look at as many changes of theirs.
  bool isStuck(uint64_t changes) const {
    return stuck && changesOfOthers == changes;
  }
  /// Warps meet again behind a branch where they can, which no program may rely
  /// on: lanes that wait there may be those that end the spinning of the
  /// others, say by giving back a lock. False if there are none.
  bool partLanes();
  void reportLivelock() { reportDeadlock(FindingId::Livelock); }

private:
  void turn(Warp &warp, uint64_t budget);
  void sweep();
  // --- policies, Policies.cpp ---
  void takeTurns();
  bool completeOne();
  void randomTurns();
  void priorityTurns();
  void changePriority(uint64_t &priority, uint64_t before);
  uint64_t &priorityOf(AgentId agent);
  std::optional<size_t> bestAgent();
  /// A step that Policy::Exhaustive may take: a warp's, or else an agent's.
  struct Choice {
    uint64_t number;
    Warp *warp;
    size_t agent;
  };
  std::vector<Choice> agentChoices();
  bool explore(std::vector<Choice> choices);
  bool exploreAgents();
  void exploreTurn();
  void step(Warp &warp);
  bool stalled();
  bool endSoftWaits();
  bool watchForLivelock();
  uint64_t quietSteps() const;
  void restartWatch();
  void reportDeadlock(FindingId id);
  Site blockedSite() const;
  bool finish();

  Cluster &cluster;
  Machine &machine;
  std::vector<Warp *> warps;
  uint64_t changesAtStall = 0, softRounds = 0;
  // Livelock: a state that comes back while nothing in the machine changes.
  uint64_t changesWatched = 0, watchedSince = 0, sweeps = 0, nextSnapshot = 1;
  uint64_t snapshot = 0, lookedSince = 0;
  bool suspicious = false, stuck = false, yields = false;
  uint64_t visitedSince = 0, changesOfOthers = 0;
  /// Quiet instructions of a visit after which other clusters have a turn.
  uint64_t patience;

  // Policy::Pct: priorities of warps (as `warps`) and agents, the lowest one
  // given so far, and the steps at which priorities change.
  std::vector<uint64_t> warpPriorities;
  std::map<AgentId, uint64_t> agentPriorities;
  uint64_t lowest = uint64_t(1) << 32, prioritySteps = 0;
  std::vector<uint64_t> priorityChanges;
  // Policy::Exhaustive: warps whose last step changed nothing, and the number
  // of changes then.
  std::vector<uint64_t> fruitless;
};

} // namespace ptxsim

#endif // FMHA_LIB_PTX_SIM_CORE_EXECUTION_SCHEDULER_H
