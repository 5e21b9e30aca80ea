//===- Judge.cpp - Which two accesses are in order ------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Sim/Race/Shadow.h"

#include <algorithm>

using namespace ptxsim::race;
using View = Knowledge::View;
using Fault = Conflict::Fault;

void FenceLog::fence(uint32_t warp, uint32_t lanes, Time now, Time met,
                     const VectorClock &seen, uint32_t warps) {
  if (entries.size() < warps)
    entries.resize(warps);
  for (unsigned lane = 0; lane < 32; ++lane)
    if (lanes >> lane & 1)
      entries[warp].lanes[lane] = now;
  for (uint32_t other = 0; other < warps; ++other)
    entries[other].byOthers =
        std::max(entries[other].byOthers, other == warp ? met : seen.at(other));
}

bool FenceLog::fenced(uint32_t warp, unsigned lane, Time time) const {
  return warp < entries.size() && (entries[warp].lanes[lane % 32] >= time ||
                                   entries[warp].byOthers >= time);
}

/// PTX ISA 8.7: both strong, each in the scope of the other.
static bool morallyStrong(const Access &access, const Stamp &other) {
  const Stamp &own = access.stamp;
  Scope need = Scope::Gpu;
  if (clusterOf(other.when) == access.cluster)
    need = own.warp / access.ctaWarps == other.warp / access.ctaWarps
               ? Scope::Cta
               : Scope::Cluster;
  return own.scope >= need && other.scope >= need;
}

/// Whether a proxy fence lies between a generic write and the async access.
static bool vouched(const Access &access, const Stamp &other) {
  if (!access.knows->has(access.proxy, access.cluster, other.when))
    return false;
  // Fences of other clusters are not logged by lane.
  bool logged = access.fences && clusterOf(other.when) == access.cluster &&
                other.kind == Kind::Thread;
  return !logged ||
         access.fences->fenced(other.warp, other.lane, timeOf(other.when));
}

Fault ptxsim::race::judgeMemory(const Access &access, const Stamp &other,
                                bool otherWrites) {
  if (!access.knows->has(View::Seen, access.cluster, other.when))
    return morallyStrong(access, other) ? Fault::None : Fault::Race;
  bool crosses = access.stamp.async && otherWrites && !other.async;
  if (crosses && access.proxy != View::Seen && !vouched(access, other))
    return Fault::ProxyFence;
  return Fault::None;
}

/// PTX ISA 9.7.16.6.2, "pipelined tcgen05 instructions".
static bool pipelined(const Access &access, const Stamp &other) {
  Kind first = other.kind, second = access.stamp.kind;
  bool firstIsPiped = first == Kind::Mma || first == Kind::TmemCopy;
  bool secondIsPiped = second == Kind::Mma || second == Kind::TmemCopy;
  if (access.inIssueOrder)
    return firstIsPiped && secondIsPiped;
  return second == Kind::Mma &&
         (first == Kind::TmemCopy ||
          (first == Kind::Mma && other.key == access.stamp.key));
}

Fault ptxsim::race::judgeTensor(const Access &access, const Stamp &other,
                                bool) {
  bool sameWarp = other.warp == access.stamp.warp;
  bool fenced =
      sameWarp || !access.tensorFenced ||
      access.tensorFenced->at(actorOf(other.when)) >= timeOf(other.when);
  bool known = access.knows->has(View::Seen, access.cluster, other.when);
  // A pipelined pair needs no completion, only the order of issue: by program
  // order in one thread, by the fences between two.
  if (pipelined(access, other) && fenced &&
      (sameWarp || known || access.tensorFenced))
    return Fault::None;
  if (!known)
    return Fault::Race;
  return fenced ? Fault::None : Fault::TensorFence;
}
