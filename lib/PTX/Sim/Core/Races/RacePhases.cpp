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

#include "Machine/Handlers.h"
#include "RaceState.h"

#include "fmha/PTX/Sim/Core/Machine/Parties.h"
#include "fmha/PTX/Sim/Core/Program/Program.h"

#include <bit>

using namespace ptxsim;

void Races::precede(const Warp &warp, LaneMask active, SyncPoint &point) {
  WarpState &state = stateOf(warp);
  race::VectorClock &flow = point.gathering.flow;
  flow.join(state.knows.seen);
  flow.join(state.knows.flow);
  handOn(flow, warp, state, active, state.time);
  if (&point == &cluster.clusterSync) {
    race::VectorClock &met = point.gathering.clusterFlow;
    met.join(state.knows.seen);
    handOn(met, warp, state, active, state.time);
  }
  tick(state);
}

void Races::follow(const Warp &warp, const SyncPoint &point) {
  stateOf(warp).knows.flow.join(point.gathering.flow);
}

void Races::seePhase(const Site &who, LaneMask active, SyncPoint &point) {
  // What the lanes have left in memory before says nothing of this wait.
  tick(stateOf(*who.warp));
  phaseSeen = true;
  PhaseSeen now{who, active, stateOf(*who.warp).time};
  for (PhaseSeen &known : point.seers)
    if (known.site.warp == who.warp && known.lanes == active) {
      known = now;
      return;
    }
  point.seers.push_back(now);
}

bool ptxsim::readsStrongly(const Program &program) {
  for (const auto &[function, code] : program.codes)
    for (const Instruction &inst : code->instructions)
      if (inst.order.scope != race::Scope::Weak && !inst.dst.empty() &&
          (inst.opcode.starts_with("ld") || inst.opcode.starts_with("atom")))
        return true;
  return false;
}

/// Who reads the value comes after the lane that wrote it. All lanes of a warp
/// that execute a write together count as one, so that a warp which writes a
/// word each costs no component a lane.
void Races::leaveValue(const Warp &warp, Place &place, unsigned lane) {
  WarpState &state = stateOf(warp);
  race::VectorClock &flow = place.flow[number];
  flow.join(state.knows.seen);
  flow.join(state.knows.flow);
  bool together = (warp.live & ~state.active) == 0;
  handOn(flow, warp, state, together ? state.active : LaneMask(1) << lane,
         state.time);
}

/// Values that other clusters have left lead back to this one only by releases.
void Races::readValue(const Warp &warp, const Place &place) {
  // A red writes what was there and more, and learns nothing of it.
  if (place.flow.empty() || site.inst->dst.empty())
    return;
  auto found = place.flow.find(number);
  if (found != place.flow.end())
    stateOf(warp).knows.flow.join(found->second);
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
