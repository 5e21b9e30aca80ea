//===- RacePhases.cpp - Phases that overtake those who wait -----*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.7.13.15.16: a wait tells the last complete phase from the one that
// runs, and no others. Who waits for phase k must therefore have seen it
// complete before phase k + 1 does: it would take the latter for the phase
// before its own, and wait for one that is past. So something that phase k + 1
// needs (an arrival, expected bytes, a copy) has to come after each wait that
// saw phase k. What orders them may be relaxed: to be late is no matter of
// memory.
//
//===----------------------------------------------------------------------===//

#include "Handlers.h"
#include "RaceState.h"

#include "fmha/PTX/Sim/Core/Parties.h"

#include <bit>

using namespace ptxsim;

void Races::precede(const Warp &warp, LaneMask active, SyncPoint &point) {
  WarpState &state = stateOf(warp);
  race::VectorClock &flow = point.gathering.flow;
  flow.join(state.knows.seen);
  flow.join(state.knows.flow);
  handOn(flow, warp, state, active, state.time);
  tick(state);
}

void Races::seePhase(const Site &who, LaneMask active, SyncPoint &point) {
  PhaseSeen now{who, active, stateOf(*who.warp).time};
  for (PhaseSeen &known : point.seers)
    if (known.site.warp == who.warp && known.lanes == active) {
      known = now;
      return;
    }
  point.seers.push_back(now);
}

/// Whether what `knows` says comes after the wait. The lanes that waited
/// together are one: what a wait tells one of them its warp knows.
bool Races::inFlow(const race::Knowledge &knows, const PhaseSeen &seen) {
  auto has = [&](race::Actor actor) {
    return knows.seen.at(actor) >= seen.time ||
           knows.flow.at(actor) >= seen.time;
  };
  uint32_t warp = stateOf(*seen.site.warp).actor;
  if (has(warp))
    return true;
  for (LaneMask rest = seen.lanes; rest; rest &= rest - 1) {
    race::Actor actor = lanes->actor(warp, unsigned(std::countr_zero(rest)));
    if (actor && has(actor))
      return true;
  }
  return false;
}

void Races::judgePhase(const Site &by, uint32_t offset, SyncPoint &point) {
  for (const PhaseSeen &seen : point.seers)
    if (!inFlow(point.gathering, seen))
      cluster.machine.report.add(
          FindingId::MbarrierPhaseOverrun, by,
          "completes a phase of the mbarrier " +
              sharedName(cluster.machine, offset) + ".",
          otherAt("the phase before was waited for by", seen.site));
  point.seers.clear();
}
