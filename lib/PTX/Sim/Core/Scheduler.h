//===- Scheduler.h - Which warp runs next, and what if none can -*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PTX_SIM_CORE_SCHEDULER_H
#define FMHA_LIB_PTX_SIM_CORE_SCHEDULER_H

#include "Handlers.h"

namespace ptxsim {

/// Barriers.cpp: an exit may complete a barrier that the others wait at.
void barriersAfterExit(Cta &cta);
void completeClusterBarrier(Cluster &cluster);

/// Runs a cluster to its end. Eager and late: round robin with long turns.
/// Random: a warp and a turn length from the seed.
class Scheduler {
public:
  explicit Scheduler(Cluster &cluster);
  bool run();

private:
  void turn(Warp &warp, uint64_t budget);
  void sweep();
  void randomTurns();
  bool stalled();
  bool endSoftWaits();
  bool watchForLivelock();
  void reportDeadlock(FindingId id);
  bool finish();

  Cluster &cluster;
  Machine &machine;
  std::vector<Warp *> warps;
  uint64_t changesAtStall = 0, softRounds = 0;
  // Livelock: a state that comes back while nothing in the machine changes.
  uint64_t changesWatched = 0, watchedSince = 0, sweeps = 0, nextSnapshot = 1;
  uint64_t snapshot = 0;
  bool suspicious = false;
};

} // namespace ptxsim

#endif // FMHA_LIB_PTX_SIM_CORE_SCHEDULER_H
