//===- LaunchQueue.cpp - Clusters that have not started -------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Sim/Core/Execution/LaunchQueue.h"

#include "fmha/PTX/Sim/Core/Machine/Machine.h"
#include "fmha/PTX/Sim/Core/Program/Program.h"

using namespace ptxsim;

static constexpr uint64_t kEagerPlaces = 4, kRandomPlaces = 8;
/// One request in this many fails although clusters are left, for example
/// because a more urgent kernel needs their place.
static constexpr uint64_t kRejections = 8;

LaunchQueue::LaunchQueue(const Options &options, uint64_t clusters)
    : policy(options.policy), count(clusters) {
  if (policy == Policy::Eager)
    places = kEagerPlaces;
  // Not the number of any cluster, so that none draws the same sequence.
  uint64_t generator = options.scheduleSeed ^ 0xE7037ED1A0B428DBull;
  if (options.randomized())
    places = 1 + drawBelow(kRandomPlaces, generator);
}

void LaunchQueue::take(uint64_t number) {
  taken.insert(number);
  while (!taken.empty() && *taken.begin() == first) {
    taken.erase(taken.begin());
    ++first;
  }
}

/// Returns one of the clusters that are left; there is at least one.
uint64_t LaunchQueue::pick(Cluster &requester) const {
  uint64_t number = first;
  if (policy != Policy::Eager)
    number += requester.random(count - first);
  while (taken.count(number))
    number = number + 1 == count ? first : number + 1;
  return number;
}

std::optional<Dim3> LaunchQueue::cancel(Cluster &requester) {
  bool none = first + taken.size() == count;
  bool rejects = policy == Policy::Late || policy == Policy::Exhaustive;
  bool randomized = requester.machine.options.randomized();
  if (none || rejects || (randomized && requester.random(kRejections) == 0))
    return std::nullopt;
  uint64_t number = pick(requester);
  take(number);
  requester.machine.ctasDone += requester.ctas.size();
  return firstCta(requester.machine, number);
}

bool ptxsim::cancelsClusters(const Program &program) {
  for (const auto &[function, code] : program.codes)
    for (const Instruction &inst : code->instructions)
      if (inst.opcode.starts_with("clusterlaunchcontrol.try_cancel"))
        return true;
  return false;
}
