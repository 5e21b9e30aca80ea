//===- Clock.cpp - Vector clocks and the knowledge of actors --------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Sim/Race/Clock.h"

#include <algorithm>

using namespace ptxsim::race;

void VectorClock::join(const VectorClock &other) {
  if (times.size() < other.times.size())
    times.resize(other.times.size());
  Time *to = times.data();
  const Time *from = other.times.data();
  for (size_t i = 0, n = other.times.size(); i < n; ++i)
    to[i] = std::max(to[i], from[i]);
}

void Knowledge::join(const Knowledge &other) {
  seen.join(other.seen);
  sharedProxy.join(other.sharedProxy);
  globalProxy.join(other.globalProxy);
  tensor.join(other.tensor);
  inits.join(other.inits);
  flow.join(other.flow);
  clusterFlow.join(other.clusterFlow);
  for (const auto &[cluster, known] : other.others)
    joinOther(cluster, known);
}

void Knowledge::joinOther(uint32_t cluster,
                          std::shared_ptr<const Knowledge> other) {
  std::shared_ptr<const Knowledge> &mine = others[cluster];
  if (!mine) {
    mine = std::move(other);
  } else if (mine != other) {
    auto both = std::make_shared<Knowledge>(*mine);
    both->join(*other);
    mine = std::move(both);
  }
}

void Knowledge::joinForeign(uint32_t cluster, const Knowledge &other,
                            uint32_t own) {
  for (const auto &[number, known] : other.others)
    if (number != own)
      joinOther(number, known);
    else
      join(*known);
  auto flat = std::make_shared<Knowledge>(other);
  flat->others.clear();
  joinOther(cluster, std::move(flat));
}

bool Knowledge::hasForeign(View which, Moment moment) const {
  auto found = others.find(clusterOf(moment));
  return found != others.end() &&
         found->second->view(which).at(actorOf(moment)) >= timeOf(moment);
}
