//===- LaunchQueue.h - Clusters that have not started --------- -*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// clusterlaunchcontrol.try_cancel takes a cluster that has not started out of
// the launch. Which clusters have started when a request is answered is the
// hardware's choice, and so is the cluster that it gives and whether it gives
// one at all. Here all of that follows from policy and seed: the clusters of
// such a launch run on one core, so many of them in turns, and one makes room
// for the others whenever a request of it is answered.
//
//           clusters in turns   a request is given
//   eager   4                   the next cluster, while there is one
//   late    as in any launch    nothing: the fewest that the manual allows
//   random  1 to 8              one of all, or, one time in eight, nothing
//   pct     1 to 8              likewise
//
// An exploration has one cluster, and nothing to cancel.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PTX_SIM_CORE_EXECUTION_LAUNCHQUEUE_H
#define FMHA_PTX_SIM_CORE_EXECUTION_LAUNCHQUEUE_H

#include "fmha/PTX/Sim/Core/Program/Types.h"
#include "fmha/PTX/Sim/Simulator.h"

#include <optional>
#include <set>

namespace ptxsim {

struct Program;

class LaunchQueue {
public:
  LaunchQueue(const Options &options, uint64_t clusters);
  /// The clusters that run in turns, where other launches have `most`.
  uint64_t placesOf(uint64_t most) const { return places ? places : most; }
  /// The cluster starts, and cannot be cancelled any more.
  void start(uint64_t number) { take(number); }
  /// Of a cluster that has not started: whether it never will.
  bool isCancelled(uint64_t number) const {
    return number < first || taken.count(number);
  }
  /// Answers a request: the first CTA of the cluster that will not run, or
  /// nothing where the request fails.
  std::optional<Dim3> cancel(Cluster &requester);

private:
  uint64_t pick(Cluster &requester) const;
  void take(uint64_t number);
  Policy policy;
  uint64_t count;
  /// 0: as many as in other launches.
  uint64_t places = 0;
  /// All clusters before `first`, and those in `taken`, have started or are
  /// cancelled.
  uint64_t first = 0;
  std::set<uint64_t> taken;
};

/// Whether a program asks for clusters to be cancelled.
bool cancelsClusters(const Program &program);

} // namespace ptxsim

#endif // FMHA_PTX_SIM_CORE_EXECUTION_LAUNCHQUEUE_H
