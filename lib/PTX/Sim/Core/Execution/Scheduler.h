//===- Scheduler.h - Chooses the next warp and resolves stalls --*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PTX_SIM_CORE_EXECUTION_SCHEDULER_H
#define FMHA_LIB_PTX_SIM_CORE_EXECUTION_SCHEDULER_H

#include "Policies.h"

namespace ptxsim {

/// Runs a cluster to its end in the order of the policy: eager and late take
/// long turns round robin.
class Scheduler {
public:
  explicit Scheduler(Cluster &cluster);
  /// Runs until the end of the cluster or of the launch. With `mayYield` it
  /// returns false, to be called again, once the cluster has run long without
  /// changing anything: it may be waiting for another cluster.
  bool run(bool mayYield);
  /// Sets the number of changes that all other clusters have made so far.
  void othersChanged(uint64_t changes);
  /// Returns true if the cluster can only spin unless others change something,
  /// and has already examined `changes` changes of the others.
  bool isStuck(uint64_t changes) const {
    return stuck && changesOfOthers == changes;
  }
  /// Splits reconverged lanes. Warps reconverge after a branch where they can,
  /// and no program may rely on that: the lanes waiting there may be those that
  /// end the spinning of the others, for example by releasing a lock. Returns
  /// false if none wait.
  bool partLanes();
  void reportLivelock() { reportDeadlock(FindingId::Livelock); }

private:
  void takeTurns();
  bool completeOne();
  bool stalled();
  bool endSoftWaits();
  bool watchForLivelock();
  uint64_t quietSteps() const;
  void restartWatch();
  void reportDeadlock(FindingId id);
  bool finish();

  Cluster &cluster;
  Machine &machine;
  WarpTurns turns;
  PriorityPolicy priorities{turns};
  ExhaustivePolicy exhaustive{turns};
  const std::vector<Warp *> &warps = turns.warps;
  uint64_t changesAtStall = 0, softRounds = 0;
  // Livelock: a state that recurs while nothing in the machine changes.
  uint64_t changesWatched = 0, watchedSince = 0, sweeps = 0, nextSnapshot = 1;
  uint64_t snapshot = 0, lookedSince = 0;
  bool suspicious = false, stuck = false, yields = false;
  uint64_t visitedSince = 0, changesOfOthers = 0;
  /// Instructions of a visit without any change after which other clusters run.
  uint64_t patience;
};

} // namespace ptxsim

#endif // FMHA_LIB_PTX_SIM_CORE_EXECUTION_SCHEDULER_H
