//===- RaceSync.cpp - The edges of happens-before ---------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Machine/Handlers.h"
#include "RaceState.h"

#include <algorithm>

using namespace ptxsim;
using race::Kind;
using race::Ordering;
using race::Scope;

/// Adds an entry to what its CTA has already published at the same scope.
static void publish(PublishedList &list, const Published &entry) {
  for (Published &old : list)
    if (old.cluster == entry.cluster && old.rank == entry.rank &&
        old.scope == entry.scope) {
      old.knows.join(entry.knows);
      old.version = entry.version;
      return;
    }
  list.push_back(entry);
}

/// Orders what the warp does from here on after what it has released.
void RaceState::tick(WarpState &state) { ++state.time; }

race::Actor RaceState::laneActor(const WarpState &state, unsigned lane) {
  return lanes->actorOrNew(state.actor, lane, nextActor);
}

/// Adds what the lanes did up to `until` to `given`. The warp's own component
/// of its knowledge gives the time up to which its lanes know of each other.
void RaceState::handOn(race::VectorClock &given, const Warp &warp,
                       WarpState &state, LaneMask active, race::Time until) {
  if ((warp.live & ~active) == 0)
    return given.raise(state.actor, until);
  eachLane(active,
           [&](unsigned lane) { given.raise(laneActor(state, lane), until); });
}

RaceTicket RaceEdges::ticket(const Site &who, RaceStream &stream) {
  const Warp &warp = *who.warp;
  RaceState::WarpState &state = clocks.stateOf(warp);
  RaceTicket result{state.knows};
  LaneMask issuer = who.lane < 0 ? kFullMask : LaneMask(1) << who.lane;
  clocks.handOn(result.knows.seen, warp, state, issuer, state.time);
  result.knows.seen.raise(stream.actor, stream.time);
  // A commit implies tcgen05.fence::before_thread_sync.
  if (stream.kind == Kind::Mma)
    result.knows.tensor.raise(stream.actor, stream.time);
  clocks.close(stream);
  clocks.tick(state);
  return result;
}

void RaceEdges::finished(const Warp &warp, RaceStream &stream,
                         race::Time time) {
  clocks.stateOf(warp).knows.seen.raise(stream.actor, time);
}

void RaceEdges::finishedAll(const Warp &warp, RaceStream &stream) {
  finished(warp, stream, stream.time);
  clocks.close(stream);
}

void RaceEdges::arrive(const Warp &warp, LaneMask active, SyncPoint &point,
                       Ordering order, uint32_t rank) {
  RaceState::WarpState &state = clocks.stateOf(warp);
  Scope need = warp.cta.rank == rank ? Scope::Cta : Scope::Cluster;
  // In practice a remote arrive has no scope, and still works.
  if (order.scope < need && clocks.launch.isa)
    return precede(warp, active, point);
  // fence.mbarrier_init makes any arrival a release, for the init only.
  point.gathering.inits.raise(state.actor, state.knows.inits.at(state.actor));
  if (order.releases) {
    point.gathering.join(state.knows);
    clocks.handOn(point.gathering.seen, warp, state, active, state.time);
    clocks.tick(state);
    return;
  }
  if (state.fenced && state.fenceScope >= need) {
    point.gathering.join(*state.fenced);
    clocks.handOn(point.gathering.seen, warp, state, active & state.fencedLanes,
                  state.fenceTime);
  }
  precede(warp, active, point);
}

void RaceEdges::arrive(const RaceTicket &ticket, SyncPoint &point) {
  point.gathering.join(ticket.knows);
}

void RaceEdges::complete(SyncPoint &point) {
  point.completed = point.gathering;
  for (const Warp *warp : point.waiting)
    clocks.stateOf(*warp).knows.join(point.completed);
  point.waiting.clear();
}

void RaceEdges::acquire(const Warp &warp, SyncPoint &point, Ordering order) {
  RaceState::WarpState &state = clocks.stateOf(warp);
  if (order.acquires)
    state.knows.join(point.completed);
  else {
    publish(state.observed,
            {clocks.number, warp.cta.rank, Scope::Gpu, point.completed});
    state.knows.flow.join(point.completed.seen);
    state.knows.flow.join(point.completed.flow);
  }
}

bool RaceEdges::inScope(const Warp &warp, const Published &published,
                        Scope scope) const {
  Scope need = Scope::Gpu;
  if (published.cluster == clocks.number)
    need = published.rank == warp.cta.rank ? Scope::Cta : Scope::Cluster;
  return scope >= need && published.scope >= need;
}

void RaceEdges::absorb(const Warp &warp, RaceState::WarpState &state,
                       const Published &published, Scope scope) {
  if (!inScope(warp, published, scope))
    return;
  uint64_t &last = state.absorbed[published.version % state.absorbed.size()];
  if (published.version && last == published.version)
    return;
  last = published.version;
  if (published.cluster == clocks.number)
    state.knows.join(published.knows);
  else
    state.knows.joinForeign(published.cluster, published.knows, clocks.number);
}

/// Absorbs what a strong read acquires, or records it for a later acquire
/// fence.
void RaceValues::observe(const Warp &warp, const Location &location,
                         Ordering order) {
  RaceState::WarpState &state = clocks.stateOf(warp);
  for (const Published &entry : location.releases)
    if (order.acquires)
      edges.absorb(warp, state, entry, order.scope);
    else if (edges.inScope(warp, entry, order.scope))
      publish(state.observed,
              {entry.cluster, entry.rank, entry.scope, entry.knows});
}

/// Performs a strong access to one location in memory: PTX ISA 8.8, "release
/// and acquire patterns". A plain store begins a new release sequence; an
/// atomic continues the old one.
void RaceValues::synchronize(Locations &locations, uint64_t address,
                             race::Access &access) {
  const Warp &warp = *reports.site.warp;
  auto found = locations.find(address);
  if (found != locations.end() && reports.kind == Access::Write)
    found->second = Location();
  else if (found != locations.end()) {
    observe(warp, found->second, reports.site.inst->order);
    readValue(warp, found->second);
  }
  if (reports.kind == Access::Read)
    return;
  if (clocks.launch.valuesFlow && clocks.phaseSeen)
    leaveValue(warp, locations[address], access.stamp.lane);
  release(warp, locations, address, access);
}

/// Synchronizes each element of a vector as a separate access (PTX ISA 8.2.4).
void RaceValues::synchronizeAll(Locations &locations, uint64_t address,
                                uint64_t bytes, race::Access &access) {
  unsigned elements = reports.site.inst->order.elements;
  for (unsigned i = 0; i < elements; ++i)
    synchronize(locations, address + i * (bytes / elements), access);
}

/// Publishes the knowledge that a strong write releases by its own order or by
/// a fence before it.
void RaceValues::release(const Warp &warp, Locations &locations,
                         uint64_t address, race::Access &access) {
  const Ordering &order = reports.site.inst->order;
  RaceState::WarpState &state = clocks.stateOf(warp);
  const race::Knowledge *given =
      order.releases ? &state.knows : state.fenced.get();
  if (!given)
    return;
  Scope scope =
      order.releases ? order.scope : std::min(order.scope, state.fenceScope);
  Published entry = {clocks.number, warp.cta.rank, scope, *given,
                     ++clocks.launch.versions};
  LaneMask lane = LaneMask(1) << access.stamp.lane;
  if (order.releases)
    clocks.handOn(entry.knows.seen, warp, state, lane, state.time);
  else
    clocks.handOn(entry.knows.seen, warp, state, lane & state.fencedLanes,
                  state.fenceTime);
  if (&locations == &clocks.launch.locations)
    clocks.launch.lanes[clocks.number] = clocks.lanes;
  publish(locations[address].releases, entry);
  if (!order.releases)
    return;
  clocks.tick(state);
  // The next lane is ordered after the release.
  access.stamp.when = race::momentOf(clocks.number, state.actor, state.time);
}

void RaceEdges::fence(const Warp &warp, LaneMask active, Ordering order) {
  RaceState::WarpState &state = clocks.stateOf(warp);
  if (order.acquires) {
    PublishedList observed = std::move(state.observed);
    state.observed.clear();
    for (const Published &entry : observed)
      if (inScope(warp, entry, order.scope))
        absorb(warp, state, entry, order.scope);
      else
        state.observed.push_back(entry);
  }
  if (!order.releases)
    return;
  state.fenced = std::make_unique<race::Knowledge>(state.knows);
  state.fencedLanes = active;
  state.fenceTime = state.time;
  state.fenceScope = order.scope;
  clocks.tick(state);
}

void RaceEdges::proxyFence(const Warp &warp, LaneMask active, bool shared,
                           bool global) {
  RaceState::WarpState &state = clocks.stateOf(warp);
  race::Knowledge &knows = state.knows;
  // The log of fences distinguishes the lanes.
  auto pass = [&](race::VectorClock &view) {
    view.join(knows.seen);
    view.raise(state.actor, state.time);
  };
  if (shared)
    pass(knows.sharedProxy);
  if (global)
    pass(knows.globalProxy);
  for (auto &[cluster, other] : knows.others) {
    auto fenced = std::make_shared<race::Knowledge>(*other);
    fenced->globalProxy.join(fenced->seen);
    other = std::move(fenced);
  }
  clocks.fences.fence(state.actor, active, state.time, knows.seen,
                      uint32_t(clocks.warps.size()), *clocks.lanes);
  clocks.tick(state);
}

/// Orders what the warp has issued to the tensor core, or has waited for,
/// before the synchronization that follows. This does not imply completion.
void RaceEdges::tensorFenceBefore(const Warp &warp) {
  RaceState::WarpState &state = clocks.stateOf(warp);
  for (Kind kind : {Kind::Mma, Kind::TmemLoad, Kind::TmemStore}) {
    auto found = clocks.streams.find({state.actor, kind, 0});
    if (found == clocks.streams.end())
      continue;
    RaceStream &stream = found->second;
    state.knows.tensor.raise(stream.actor, stream.time);
    // Later operations get a later time, whether or not these are known.
    clocks.close(stream);
  }
}

void RaceEdges::tensorFenceAfter(const Warp &warp) {
  RaceState::WarpState &state = clocks.stateOf(warp);
  state.tensorFenced.join(state.knows.tensor);
}

void RaceEdges::lanesMeet(const Warp &warp, LaneMask active) {
  RaceState::WarpState &state = clocks.stateOf(warp);
  clocks.handOn(state.knows.seen, warp, state, active, state.time);
  clocks.tick(state);
}

void RaceEdges::collective(const Warp &warp, LaneMask active) {
  if (!clocks.launch.isa)
    return lanesMeet(warp, active);
  RaceState::WarpState &state = clocks.stateOf(warp);
  clocks.handOn(state.knows.flow, warp, state, active, state.time);
  clocks.tick(state);
}

void RaceEdges::waitForGrids(const Warp &warp) {
  clocks.launch.waited = true;
  if (clocks.launch.afterWait)
    clocks.stateOf(warp).knows.joinOther(race::kEarlierGrids,
                                         clocks.launch.afterWait);
}
