//===- HappensBefore.cpp - Whether two accesses are ordered ---------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Sim/Race/Shadow.h"

#include <algorithm>
#include <bit>

using namespace ptxsim::race;
using View = Knowledge::View;
using Fault = Conflict::Fault;

void FenceLog::fence(uint32_t warp, uint32_t lanes, Time now,
                     const VectorClock &seen, uint32_t warps,
                     const Lanes &named) {
  if (entries.size() < warps)
    entries.resize(warps);
  for (unsigned lane = 0; lane < 32; ++lane)
    if (lanes >> lane & 1)
      entries[warp].lanes[lane] = now;
  for (uint32_t other = 0; other < warps; ++other)
    entries[other].byOthers = std::max(entries[other].byOthers, seen.at(other));
  for (const Lanes::Named &one : named.named()) {
    Time &last = entries[one.warp].lanes[one.lane];
    last = std::max(last, seen.at(one.actor));
  }
}

bool FenceLog::fenced(uint32_t warp, unsigned lane, Time time) const {
  return warp < entries.size() && (entries[warp].lanes[lane % 32] >= time ||
                                   entries[warp].byOthers >= time);
}

/// Implements `knows` for accesses that the warp as a whole does not know.
static bool knowsLanes(const Access &access, const Lanes &lanes, View view,
                       const Stamp &other, bool ownCluster) {
  bool ownWarp = ownCluster && other.warp == access.stamp.warp;
  unsigned lane = access.stamp.lane;
  if (ownWarp && (lane == kWholeWarp || other.lane == kWholeWarp))
    return true;
  const Knowledge *knowledge = access.knows;
  if (!ownCluster) {
    auto found = knowledge->others.find(clusterOf(other.when));
    if (found == knowledge->others.end())
      return false;
    knowledge = found->second.get();
  }
  const VectorClock &clock = knowledge->view(view);
  Time time = timeOf(other.when);
  // A collective belongs to all lanes: a release by any of them includes it.
  if (other.lane == kWholeWarp)
    return std::ranges::any_of(lanes.named(), [&](const Lanes::Named &one) {
      return one.warp == other.warp && clock.at(one.actor) >= time;
    });
  uint32_t wanted = other.lane == kManyLanes ? lanes.activeAt(other.warp, time)
                                             : 1u << other.lane % 32;
  if (ownWarp && lane < 32)
    wanted &= ~(1u << lane);
  return lanes.has(clock, other.warp, wanted, time);
}

bool ptxsim::race::knows(const Access &access, View view, const Stamp &other) {
  if (access.knows->has(view, access.cluster, other.when))
    return true;
  if (!access.lanes || actorOf(other.when) != other.warp)
    return false;
  if (clusterOf(other.when) == access.cluster)
    return knowsLanes(access, *access.lanes, view, other, true);
  auto found = access.foreign->find(clusterOf(other.when));
  return found != access.foreign->end() &&
         knowsLanes(access, *found->second, view, other, false);
}

/// Returns true if both are strong, each in the scope of the other (PTX ISA
/// 8.7).
static bool morallyStrong(const Access &access, const Stamp &other) {
  const Stamp &own = access.stamp;
  Scope need = Scope::Gpu;
  if (clusterOf(other.when) == access.cluster)
    need = own.warp / access.ctaWarps == other.warp / access.ctaWarps
               ? Scope::Cta
               : Scope::Cluster;
  return own.scope >= need && other.scope >= need;
}

/// Returns true if the threads that made the access have executed a fence after
/// it.
static bool fenceIsLogged(const Access &access, const Stamp &other) {
  // Fences of other clusters are not logged by lane.
  bool logged = access.fences && clusterOf(other.when) == access.cluster &&
                other.kind == Kind::Thread;
  if (!logged)
    return true;
  Time time = timeOf(other.when);
  if (other.lane != kManyLanes || !access.lanes)
    return access.fences->fenced(other.warp, other.lane, time);
  // Lanes that read a byte in one epoch share one stamp.
  bool all = true;
  for (uint32_t lanes = access.lanes->activeAt(other.warp, time); lanes;
       lanes &= lanes - 1)
    all &= access.fences->fenced(other.warp, unsigned(std::countr_zero(lanes)),
                                 time);
  return all;
}

bool ptxsim::race::proxyFenced(const Access &access, const Stamp &other) {
  return knows(access, access.proxy, other) && fenceIsLogged(access, other);
}

/// Returns true if the other access is a response, or the read of one, and is
/// ordered before by a barrier.cluster that does not order memory. The manual's
/// example of try_cancel has fence.proxy.async and
/// barrier.cluster.arrive.relaxed between one response and the next.
static bool flowsBefore(const Access &access, const Stamp &other,
                        bool otherWrites) {
  bool isResponse = other.kind == Kind::TryCancel;
  bool isRead = other.kind == Kind::Thread && !otherWrites;
  if (!access.followsClusters || (!isResponse && !isRead) ||
      clusterOf(other.when) != access.cluster)
    return false;
  const VectorClock &flow = access.knows->clusterFlow;
  Time time = timeOf(other.when);
  if (flow.at(actorOf(other.when)) >= time)
    return true;
  if (!isRead || !access.lanes || other.lane == kWholeWarp)
    return false;
  uint32_t lanes = other.lane == kManyLanes
                       ? access.lanes->activeAt(other.warp, time)
                       : 1u << other.lane % 32;
  return access.lanes->has(flow, other.warp, lanes, time);
}

Fault ptxsim::race::memoryFault(const Access &access, const Stamp &other,
                                bool otherWrites) {
  if (access.overlaps) [[unlikely]]
    return Fault::Race;
  if (!knows(access, View::Seen, other)) {
    if (flowsBefore(access, other, otherWrites))
      return otherWrites || !access.fencesReads || fenceIsLogged(access, other)
                 ? Fault::None
                 : Fault::ProxyFence;
    return morallyStrong(access, other) || (access.repeats && otherWrites)
               ? Fault::None
               : Fault::Race;
  }
  bool crosses =
      access.stamp.async && !other.async && (otherWrites || access.fencesReads);
  if (crosses && access.proxy != View::Seen && !proxyFenced(access, other))
    return Fault::ProxyFence;
  return Fault::None;
}

static bool isPiped(Kind kind) {
  return kind == Kind::Mma || kind == Kind::TmemCopy ||
         kind == Kind::TmemRefresh || kind == Kind::TmemShift;
}

/// PTX ISA 9.7.16.6.2, "pipelined tcgen05 instructions".
static bool pipelined(const Access &access, const Stamp &other) {
  Kind first = other.kind, second = access.stamp.kind;
  bool sameWarp = other.warp == access.stamp.warp;
  if (sameWarp && other.lane < 32 && (access.unorderedLanes >> other.lane & 1))
    return false;
  if (access.inIssueOrder)
    return isPiped(first) && isPiped(second);
  switch (second) {
  case Kind::Mma:
    return first == Kind::Mma ? other.key == access.stamp.key : isPiped(first);
  case Kind::TmemShift:
    return first == Kind::Mma;
  case Kind::TmemRefresh:
    return first == Kind::TmemShift;
  default:
    return false;
  }
}

/// PTX ISA 9.7.16.6.4.2, "non-pipelined instructions, same thread": wait::ld
/// and wait::st are tcgen05 operations, which order later operations. A wait
/// for the mbarrier of a commit is not, and needs a fence even then.
static bool isWaitedForByTensorWait(const Stamp &other) {
  return other.kind == Kind::TmemLoad || other.kind == Kind::TmemStore ||
         other.kind == Kind::Thread;
}

Fault ptxsim::race::tensorFault(const Access &access, const Stamp &other,
                                bool) {
  bool sameWarp = other.warp == access.stamp.warp;
  bool fenced =
      !access.tensorFenced ||
      access.tensorFenced->at(actorOf(other.when)) >= timeOf(other.when);
  bool known = knows(access, View::Seen, other);
  // A pipelined pair needs no completion, only issue order: by program order in
  // one thread, by the fences between two threads.
  bool inOrder = sameWarp || (fenced && (known || access.tensorFenced));
  if (pipelined(access, other) && inOrder)
    return Fault::None;
  if (!known)
    return Fault::Race;
  fenced |= sameWarp && isWaitedForByTensorWait(other);
  return fenced ? Fault::None : Fault::TensorFence;
}
