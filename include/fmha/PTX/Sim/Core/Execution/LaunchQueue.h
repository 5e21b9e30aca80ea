//===- LaunchQueue.h - Clusters that have not started --------- -*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// clusterlaunchcontrol.try_cancel removes a cluster that has not started from
// the launch. The hardware decides which clusters have started when it answers
// a request, which cluster it returns, and whether it returns any. Here policy
// and seed decide all three: the clusters of such a launch run on one core,
// several of them in turns, and a cluster yields to the others whenever one of
// its requests is answered.
//
//           clusters in turns   result of a request
//   eager   4                   the next cluster, while any is left
//   late    as in any launch    none: the fewest that the manual allows
//   random  1 to 8              any of those left; for 1 in 8 requests, none
//   pct     1 to 8              same as random
//
// An exploration has a single cluster, and nothing to cancel.
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
  /// Returns how many clusters run in turns where other launches run `most`.
  uint64_t placesOf(uint64_t most) const { return places ? places : most; }
  /// Starts the cluster; it can no longer be cancelled.
  void start(uint64_t number) { take(number); }
  /// Returns true if a cluster that has not started is cancelled.
  bool isCancelled(uint64_t number) const {
    return number < first || taken.count(number);
  }
  /// Answers a request: returns the first CTA of the cancelled cluster, or
  /// nullopt if the request fails.
  std::optional<Dim3> cancel(Cluster &requester);

private:
  uint64_t pick(Cluster &requester) const;
  void take(uint64_t number);
  Policy policy;
  uint64_t count;
  /// 0: the same number as in other launches.
  uint64_t places = 0;
  /// All clusters before `first`, and those in `taken`, have started or are
  /// cancelled.
  uint64_t first = 0;
  std::set<uint64_t> taken;
};

/// Returns true if the program cancels clusters (clusterlaunchcontrol).
bool cancelsClusters(const Program &program);

} // namespace ptxsim

#endif // FMHA_PTX_SIM_CORE_EXECUTION_LAUNCHQUEUE_H
