//===- Races.cpp - Accesses that the race detector sees ---------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RaceState.h"

#include <algorithm>

using namespace ptxsim;
using race::Kind;
using View = race::Knowledge::View;

Races::Races(Cluster &cluster, LaunchRaces &launch)
    : cluster(cluster), launch(launch), number(++launch.clusters),
      ctaWarps(uint32_t(cluster.ctas[0]->warps.size())),
      warps(cluster.ctas.size() * ctaWarps), ctas(cluster.ctas.size()),
      nextActor(uint32_t(warps.size())) {
  for (uint32_t i = 0; i < warps.size(); ++i) {
    warps[i].actor = i;
    warps[i].knows.seen.raise(i, 1);
  }
}

Races::~Races() = default;

Races::WarpState &Races::stateOf(const Warp &warp) {
  return warps[warp.cta.rank * ctaWarps + warp.index];
}

RaceStream &Races::stream(const Warp &warp, Kind kind, uint64_t key) {
  uint32_t owner = stateOf(warp).actor;
  auto [found, isNew] = streams.try_emplace({owner, kind, key});
  if (isNew)
    // Beyond the last number streams share one, and some races stay unseen.
    found->second = {std::min(nextActor++, race::kActors - 1), 1, kind, owner};
  return found->second;
}

race::Access Races::accessOf(const Site &who, Access access) {
  WarpState &state = stateOf(*who.warp);
  site = who;
  race::Access result;
  result.stamp.when = race::momentOf(number, state.actor, state.time);
  result.stamp.line = who.inst->line;
  result.stamp.warp = uint16_t(state.actor);
  result.stamp.lane = uint8_t(who.lane);
  result.cluster = number;
  result.ctaWarps = ctaWarps;
  result.knows = &state.knows;
  result.write = access != Access::Read;
  result.report = report;
  result.context = this;
  return result;
}

race::Access Races::streamAccess(const RaceStream &stream, const Site &who,
                                 Access access) {
  race::Access result = accessOf(who, access);
  result.stamp.when = race::momentOf(number, stream.actor, stream.time);
  result.stamp.kind = stream.kind;
  // cp.async writes through the generic proxy, all other agents through the
  // async proxy.
  result.stamp.async = stream.kind != Kind::CpAsync;
  result.fences = &fences;
  // Reductions of the async proxy are relaxed at the scope of the device.
  if (access == Access::Atomic)
    result.stamp.scope = race::Scope::Gpu;
  return result;
}

race::Access Races::laneAccess(const Warp &warp, const Instruction &inst,
                               Access access) {
  race::Access result = accessOf(warp.site(inst), access);
  result.stamp.scope = inst.order.scope;
  kind = access;
  return result;
}

void Races::shared(race::Access &access, unsigned lane, uint32_t address,
                   uint32_t bytes) {
  uint32_t rank = address >> 24;
  place = cluster.ctas[rank].get();
  space = Space::Shared;
  site.lane = int(lane);
  access.stamp.lane = uint8_t(lane);
  ctas[rank].shared.apply(address & 0xFFFFFF, bytes, access);
  if (place != &site.warp->cta) [[unlikely]]
    ctas[rank].touch(access.stamp.warp, {race::timeOf(access.stamp.when), site,
                                         FindingId::DsmemAfterExit});
  if (access.stamp.scope != race::Scope::Weak) [[unlikely]]
    synchronise(published, address, access);
}

void Races::global(race::Access &access, unsigned lane, uint64_t address,
                   uint64_t bytes) {
  space = Space::Global;
  site.lane = int(lane);
  access.stamp.lane = uint8_t(lane);
  launch.global.apply(address, bytes, access);
  if (access.stamp.scope != race::Scope::Weak) [[unlikely]]
    synchronise(launch.published, address, access);
}

race::Access Races::sharedAccess(const RaceStream &stream, const Site &who,
                                 Cta &cta, Access access) {
  place = &cta;
  space = Space::Shared;
  race::Access checked = streamAccess(stream, who, access);
  if (checked.stamp.async)
    checked.proxy = View::SharedProxy;
  touch(stream, who, cta);
  return checked;
}

race::Shadow &Races::shadowOf(const Cta &cta) { return ctas[cta.rank].shared; }

void Races::asyncShared(const RaceStream &stream, const Site &who, Cta &cta,
                        uint32_t offset, uint32_t bytes, Access access) {
  shadowOf(cta).apply(offset, bytes, sharedAccess(stream, who, cta, access));
}

void Races::asyncGlobal(const RaceStream &stream, const Site &who,
                        uint64_t address, uint64_t bytes, Access access) {
  space = Space::Global;
  race::Access checked = streamAccess(stream, who, access);
  if (checked.stamp.async)
    checked.proxy = View::GlobalProxy;
  launch.global.apply(address, bytes, checked);
}

void Races::tensor(const RaceStream *stream, const Site &who, Cta &cta,
                   uint8_t groups, uint32_t column, uint32_t count,
                   Access access, uint64_t key) {
  place = &cta;
  space = Space::Local;
  race::Access checked =
      stream ? streamAccess(*stream, who, access) : accessOf(who, access);
  if (launch.isa)
    checked.tensorFenced = &stateOf(*who.warp).tensorFenced;
  checked.inIssueOrder = !launch.isa;
  if (stream && stream->kind == Kind::Mma && !key)
    checked.stamp.kind = Kind::TmemCopy;
  if (key) {
    auto [found, isNew] = mmaKeys.try_emplace(key, uint8_t(mmaKeys.size() + 1));
    checked.stamp.key = found->second;
  }
  ctas[cta.rank].tensor.apply(groups, column, count, checked);
}

void Races::tensorFreed(const Site &who, Cta &cta, uint32_t column,
                        uint32_t count) {
  place = &cta;
  space = Space::Local;
  race::Access checked = accessOf(who, Access::Write);
  ctas[cta.rank].tensor.apply(0xff, column, count, checked);
  ctas[cta.rank].tensor.forget(column, count);
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

void Races::barrierInit(const Site &who, Cta &cta, uint32_t offset,
                        SyncPoint &point) {
  place = &cta;
  space = Space::Shared;
  race::Access checked = accessOf(who, Access::Write);
  shadowOf(cta).apply(offset, 8, checked);
  for (const race::Stamp &use : point.uses)
    if (!checked.knows->has(View::Seen, number, use.when))
      describe(checked, {race::Conflict::Fault::Race, use, true, offset});
  point = SyncPoint();
  point.init = checked.stamp;
}

void Races::barrierUse(const Site &who, const Cta &cta, uint32_t offset,
                       SyncPoint &point) {
  WarpState &state = stateOf(*who.warp);
  // Who waits learns of a releasing arrival with what it hands on.
  race::Ordering order = who.inst->order;
  if (&cta != &who.warp->cta && order.releases &&
      order.scope >= race::Scope::Cluster) {
    ctas[cta.rank].touch(state.actor,
                         {state.time, who, FindingId::DsmemAfterExit});
    if (cta.exited())
      cluster.machine.report.add(FindingId::DsmemAfterExit, who,
                                 "arrival at an mbarrier of rank " +
                                     std::to_string(cta.rank) + ".");
  }
  if (!point.init.when)
    return;
  noteLast(point.uses, accessOf(who, Access::Atomic).stamp);
  if (state.knows.has(View::Seen, number, point.init.when) ||
      warps[point.init.warp].initFence > race::timeOf(point.init.when))
    return;
  place = &cta;
  space = Space::Shared;
  race::Access checked = accessOf(who, Access::Read);
  describe(checked, {race::Conflict::Fault::Race, point.init, true, offset});
}

void Races::barrierInitFence(const Warp &warp) {
  WarpState &state = stateOf(warp);
  tick(state);
  state.initFence = state.time;
}

void Races::touch(const RaceStream &stream, const Site &who, const Cta &cta) {
  // The threads of a CTA do not end before their cp.async have.
  if (stream.kind == Kind::CpAsync)
    return;
  ctas[cta.rank].touch(stream.actor, {stream.time, who});
}

void Races::warpExits(const Warp &warp) {
  CtaState &state = ctas[warp.cta.rank];
  state.atExit.join(stateOf(warp).knows.seen);
  if (warp.cta.liveWarps)
    return;
  for (race::Actor actor = 0; actor < state.touches.size(); ++actor) {
    const CtaState::Touch &touch = state.touches[actor];
    if (touch.time > state.atExit.at(actor))
      cluster.machine.report.add(
          touch.id, touch.site,
          "no warp of the CTA of rank " + std::to_string(warp.cta.rank) +
              " knows that it is done when the last one exits.");
  }
}
