//===- Races.cpp - Accesses that the race detector sees ---------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RaceState.h"

#include "fmha/PTX/Sim/Core/Machine/OtherAccessors.h"

#include <algorithm>

using namespace ptxsim;
using Fault = race::Conflict::Fault;
using race::Kind;
using View = race::Knowledge::View;

RaceState::RaceState(Cluster &cluster, LaunchRaces &launch)
    : cluster(cluster), launch(launch), number(uint32_t(cluster.number + 1)),
      ctaWarps(uint32_t(cluster.ctas[0]->warps.size())),
      warps(cluster.ctas.size() * ctaWarps), ctas(cluster.ctas.size()),
      nextActor(uint32_t(warps.size())),
      lanes(std::make_shared<race::Lanes>(uint32_t(warps.size()))) {
  for (uint32_t i = 0; i < warps.size(); ++i)
    warps[i].actor = i;
}

RaceState::~RaceState() = default;

RaceState::WarpState &RaceState::stateOf(const Warp &warp) {
  return warps[warp.cta.rank * ctaWarps + warp.index];
}

/// Gives accesses by different lanes than before a new time.
void RaceState::enter(WarpState &state, LaneMask active) {
  if (state.active == active) [[likely]]
    return;
  state.active = active;
  lanes->active(state.actor, ++state.time, active);
}

RaceStream &RaceState::stream(const Warp &warp, Kind kind, uint64_t key) {
  uint32_t owner = stateOf(warp).actor;
  auto [found, isNew] = streams.try_emplace({owner, kind, key});
  if (isNew)
    // After the last number all streams share one, and some races are missed.
    found->second = {std::min(nextActor++, race::kActors - 1), 1, kind, owner};
  return found->second;
}

race::Access RaceReporter::accessOf(const Site &who, Access access) {
  RaceState::WarpState &state = clocks.stateOf(*who.warp);
  site = who;
  race::Access result;
  result.stamp.when = race::momentOf(clocks.number, state.actor, state.time);
  result.stamp.line = who.inst->line;
  result.stamp.warp = uint16_t(state.actor);
  result.stamp.lane = uint8_t(who.lane);
  result.cluster = clocks.number;
  result.lanes = clocks.lanes.get();
  result.foreign = &clocks.launch.lanes;
  result.ctaWarps = clocks.ctaWarps;
  result.knows = &state.knows;
  result.write = access != Access::Read;
  result.report = report;
  result.context = this;
  return result;
}

race::Access RaceReporter::streamAccess(const RaceStream &stream,
                                        const Site &who, Access access) {
  race::Access result = accessOf(who, access);
  result.stamp.when = race::momentOf(clocks.number, stream.actor, stream.time);
  result.stamp.kind = stream.kind;
  // cp.async writes through the generic proxy, all other operations through the
  // async proxy.
  result.stamp.async = stream.kind != Kind::CpAsync;
  result.fences = &clocks.fences;
  // Reductions of the async proxy are relaxed at device scope.
  if (access == Access::Atomic)
    result.stamp.scope = race::Scope::Gpu;
  return result;
}

race::Access RaceMemory::laneAccess(const Warp &warp, const Instruction &inst,
                                    LaneMask active, Access access) {
  clocks.enter(clocks.stateOf(warp), active);
  race::Access result = reports.accessOf(warp.site(inst), access);
  result.stamp.scope = inst.order.scope;
  reports.kind = access;
  return result;
}

void RaceMemory::shared(race::Access &access, unsigned lane, uint32_t address,
                        uint32_t bytes) {
  uint32_t rank = address >> 24;
  reports.place = clocks.cluster.ctas[rank].get();
  reports.space = Space::Shared;
  reports.site.lane = lane < 32 ? int(lane) : -1;
  access.stamp.lane = uint8_t(lane);
  clocks.ctas[rank].shared.apply(address & 0xFFFFFF, bytes, access);
  if (reports.place != &reports.site.warp->cta) [[unlikely]]
    clocks.ctas[rank].touch(access.stamp.warp,
                            {race::timeOf(access.stamp.when), reports.site,
                             FindingId::DsmemAfterExit});
  if (access.stamp.scope != race::Scope::Weak) [[unlikely]]
    values.synchronizeAll(locations, address, bytes, access);
}

void RaceMemory::global(race::Access &access, unsigned lane, uint64_t address,
                        uint64_t bytes) {
  reports.space = Space::Global;
  reports.site.lane = int(lane);
  access.stamp.lane = uint8_t(lane);
  clocks.launch.global.apply(address, bytes, access);
  checkEarlier(access, address, bytes);
  if (access.stamp.scope != race::Scope::Weak) [[unlikely]]
    values.synchronizeAll(clocks.launch.locations, address, bytes, access);
}

race::Access RaceMemory::sharedAccess(const RaceStream &stream, const Site &who,
                                      Cta &cta, Access access) {
  reports.place = &cta;
  reports.space = Space::Shared;
  race::Access checked = reports.streamAccess(stream, who, access);
  if (checked.stamp.async)
    checked.proxy = View::SharedProxy;
  touch(stream, who, cta);
  return checked;
}

race::Shadow &RaceMemory::shadowOf(const Cta &cta) {
  return clocks.ctas[cta.rank].shared;
}

void RaceMemory::asyncShared(const RaceStream &stream, const Site &who,
                             Cta &cta, uint32_t offset, uint32_t bytes,
                             Access access) {
  shadowOf(cta).apply(offset, bytes, sharedAccess(stream, who, cta, access));
}

void RaceMemory::asyncGlobal(const RaceStream &stream, const Site &who,
                             uint64_t address, uint64_t bytes, Access access) {
  reports.space = Space::Global;
  race::Access checked = reports.streamAccess(stream, who, access);
  if (checked.stamp.async)
    checked.proxy = View::GlobalProxy;
  clocks.launch.global.apply(address, bytes, checked);
  checkEarlier(checked, address, bytes);
}

/// Checks an access against the earlier grids of which it is not known that
/// they have ended. That an asynchronous operation follows the wait needs no
/// proxy fence.
void RaceMemory::checkEarlier(const race::Access &access, uint64_t address,
                              uint64_t bytes) {
  const race::OverlappedGrids &earlier = clocks.launch.earlier;
  for (size_t i = 0; i < earlier.size(); ++i)
    if (!access.knows->has(View::Seen, clocks.number, race::endOfGrid(i)))
      reports.checkOverlap(*earlier[i].grid, access, address, bytes);
}

/// Returns the other lanes of the warp whose issues are not ordered before the
/// access.
static uint32_t unorderedLanesOf(const RaceStream &stream,
                                 const race::Access &access) {
  uint32_t result = 0;
  race::Stamp issue;
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (!stream.issued[lane] || lane == access.stamp.lane)
      continue;
    issue.when =
        race::momentOf(access.cluster, stream.warp, stream.issued[lane]);
    issue.warp = uint16_t(stream.warp);
    issue.lane = uint8_t(lane);
    result |= uint32_t(!race::knows(access, View::Seen, issue)) << lane;
  }
  return result;
}

void RaceMemory::tensor(RaceStream *stream, const Site &who, Cta &cta,
                        uint8_t groups, uint32_t column, uint32_t count,
                        Access access, Piped piped) {
  reports.place = &cta;
  reports.space = Space::Local;
  race::Access checked = stream ? reports.streamAccess(*stream, who, access)
                                : reports.accessOf(who, access);
  if (clocks.launch.isa)
    checked.tensorFenced = &clocks.stateOf(*who.warp).tensorFenced;
  checked.inIssueOrder = !clocks.launch.isa;
  if (stream && stream->kind == Kind::Mma) {
    checked.stamp.kind = piped.kind;
    checked.unorderedLanes = unorderedLanesOf(*stream, checked);
    stream->issued[checked.stamp.lane % 32] = clocks.stateOf(*who.warp).time;
  }
  if (piped.key) {
    auto [found, isNew] =
        mmaKeys.try_emplace(piped.key, uint8_t(mmaKeys.size() + 1));
    checked.stamp.key = found->second;
  }
  clocks.ctas[cta.rank].tensor.apply(groups, column, count, checked);
}

void RaceMemory::tensorFreed(const Site &who, Cta &cta, uint32_t column,
                             uint32_t count) {
  reports.place = &cta;
  reports.space = Space::Local;
  race::Access checked = reports.accessOf(who, Access::Write);
  clocks.ctas[cta.rank].tensor.apply(0xff, column, count, checked);
  clocks.ctas[cta.rank].tensor.forget(column, count);
}

/// Records that a thread uses an mbarrier of another CTA, which must not end
/// before that. The thread itself knows that the use is done, and so do the
/// observers of the phase's completion, whatever else the arrival releases.
void RaceBarriers::noteRemoteUse(const Site &who, const Cta &cta,
                                 uint32_t offset, SyncPoint &point) {
  RaceStream &uses =
      clocks.stream(*who.warp, Kind::Thread, uint64_t(cta.rank) << 24 | offset);
  clocks.ctas[cta.rank].touch(uses.actor,
                              {uses.time, who, FindingId::DsmemAfterExit});
  clocks.stateOf(*who.warp).knows.seen.raise(uses.actor, uses.time);
  point.gathering.seen.raise(uses.actor, uses.time);
  clocks.close(uses);
  if (cta.exited())
    clocks.cluster.machine.report.add(FindingId::DsmemAfterExit, who,
                                      "use of an mbarrier of rank " +
                                          std::to_string(cta.rank) + ".",
                                      exitOf(cta));
}

/// Keeps the last use of each warp.
static void noteLast(std::vector<race::Stamp> &uses, const race::Stamp &use) {
  for (race::Stamp &known : uses)
    if (known.warp == use.warp) {
      known = use;
      return;
    }
  uses.push_back(use);
}

void RaceBarriers::barrierInit(const Site &who, Cta &cta, uint32_t offset,
                               SyncPoint &point) {
  reports.place = &cta;
  reports.space = Space::Shared;
  race::Access checked = reports.accessOf(who, Access::Write);
  memory.shadowOf(cta).apply(offset, 8, checked);
  for (const race::Stamp &use : point.uses)
    if (!race::knows(checked, View::Seen, use))
      reports.describe(checked,
                       {race::Conflict::Fault::Race, use, true, offset});
  point = SyncPoint();
  point.init = checked.stamp;
}

void RaceBarriers::barrierUse(const Site &who, const Cta &cta, uint32_t offset,
                              SyncPoint &point, LaneMask users, bool signals) {
  RaceState::WarpState &state = clocks.stateOf(*who.warp);
  clocks.enter(state, users);
  if (&cta != &who.warp->cta && !signals)
    noteRemoteUse(who, cta, offset, point);
  if (!point.init.when)
    return;
  race::Access checked = reports.accessOf(who, Access::Atomic);
  if (users & (users - 1))
    checked.stamp.lane = race::kManyLanes;
  noteLast(point.uses, checked.stamp);
  if (race::knows(checked, View::Seen, point.init) ||
      initFenced(checked, point.init))
    return;
  reports.place = &cta;
  reports.space = Space::Shared;
  checked.write = false;
  reports.describe(checked, {Fault::Race, point.init, true, offset});
}

void RaceBarriers::barrierSignal(const RaceStream &stream, const Site &who,
                                 const Cta &cta, uint32_t offset,
                                 SyncPoint &point) {
  barrierUse(who, cta, offset, point, LaneMask(1) << (who.lane & 31), true);
  memory.touch(stream, who, cta);
  if (!clocks.launch.isa || stream.kind == Kind::CpAsync || !point.init.when)
    return;
  race::Access checked = reports.streamAccess(stream, who, Access::Read);
  checked.proxy = View::SharedProxy;
  // An access that is not ordered at all has been reported above.
  if (!race::knows(checked, View::Seen, point.init) ||
      initFenced(checked, point.init) || race::proxyFenced(checked, point.init))
    return;
  reports.place = &cta;
  reports.space = Space::Shared;
  reports.describe(checked, {Fault::InitFence, point.init, true, offset});
}

bool RaceBarriers::initFenced(const race::Access &access,
                              const race::Stamp &init) const {
  return access.knows->has(View::Inits, clocks.number, init.when) &&
         clocks.initFences.fenced(init.warp, init.lane,
                                  race::timeOf(init.when));
}

/// Orders the mbarrier.init of these lanes, and nothing else, before everything
/// after the next arrival, even a relaxed one.
void RaceEdges::barrierInitFence(const Warp &warp, LaneMask active) {
  RaceState::WarpState &state = clocks.stateOf(warp);
  state.knows.inits.raise(state.actor, state.time);
  clocks.initFences.fence(state.actor, active, state.time, {},
                          uint32_t(clocks.warps.size()), *clocks.lanes);
  clocks.tick(state);
}

void RaceMemory::touch(const RaceStream &stream, const Site &who,
                       const Cta &cta) {
  // The threads of a CTA do not end before their cp.async have completed.
  if (stream.kind == Kind::CpAsync)
    return;
  if (cta.exited())
    clocks.cluster.machine.report.add(FindingId::SmemInUseAtExit, who,
                                      "the CTA of rank " +
                                          std::to_string(cta.rank) +
                                          " has ended before it is issued.",
                                      exitOf(cta));
  clocks.ctas[cta.rank].touch(stream.actor, {stream.time, who});
}

/// Returns true if the lane of a warp that accesses the CTA has released its
/// access on its own.
bool RaceMemory::knownByLane(const RaceState::CtaState &state,
                             race::Actor actor) const {
  const RaceState::CtaState::Touch &touch = state.touches[actor];
  return actor < clocks.warps.size() && touch.site.lane >= 0 &&
         clocks.lanes->has(state.atExit, actor, 1u << touch.site.lane,
                           touch.time);
}

void RaceMemory::warpExits(const Warp &warp) {
  RaceState::CtaState &state = clocks.ctas[warp.cta.rank];
  state.atExit.join(clocks.stateOf(warp).knows.seen);
  if (warp.cta.liveWarps)
    return;
  for (race::Actor actor = 0; actor < state.touches.size(); ++actor) {
    const RaceState::CtaState::Touch &touch = state.touches[actor];
    if (touch.time > state.atExit.at(actor) && !knownByLane(state, actor))
      clocks.cluster.machine.report.add(
          touch.id, touch.site,
          "no warp of the CTA of rank " + std::to_string(warp.cta.rank) +
              " knows that it is done when the last one exits.",
          exitOf(warp.cta));
  }
}
