//===- RacePhases.cpp - Phases that overrun their waiters -------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.7.13.15.16: a wait distinguishes the last complete phase from the
// running one, and no others. A waiter of phase k must therefore observe its
// completion before phase k + 1 completes: otherwise it mistakes the latter for
// the phase before its own, and waits for a phase that is past. So an event
// that phase k + 1 needs (an arrival, expected bytes, a copy) must come after
// each wait that observed phase k. The ordering between them may be relaxed:
// lateness does not involve memory.
//
//===----------------------------------------------------------------------===//

#include "Machine/Handlers.h"
#include "RaceState.h"

#include "fmha/PTX/Sim/Core/Machine/OtherAccessors.h"
#include "fmha/PTX/Sim/Core/Program/Program.h"

#include <bit>

using namespace ptxsim;

void RaceEdges::precede(const Warp &warp, LaneMask active, SyncPoint &point) {
  RaceState::WarpState &state = clocks.stateOf(warp);
  race::VectorClock &flow = point.gathering.flow;
  flow.join(state.knows.seen);
  flow.join(state.knows.flow);
  clocks.handOn(flow, warp, state, active, state.time);
  if (&point == &clocks.cluster.clusterSync) {
    race::VectorClock &met = point.gathering.clusterFlow;
    met.join(state.knows.seen);
    clocks.handOn(met, warp, state, active, state.time);
  }
  clocks.tick(state);
}

void RaceEdges::follow(const Warp &warp, const SyncPoint &point) {
  clocks.stateOf(warp).knows.flow.join(point.gathering.flow);
}

void RaceBarriers::seePhase(const Site &who, LaneMask active,
                            SyncPoint &point) {
  // Earlier values of the lanes in memory carry no information about this wait.
  clocks.tick(clocks.stateOf(*who.warp));
  clocks.phaseSeen = true;
  PhaseSeen now{who, active, clocks.stateOf(*who.warp).time};
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

/// Orders a read of the value after the lane that wrote it. All lanes of a warp
/// that execute a write together count as one, so that a warp whose lanes each
/// write a word needs no component per lane.
void RaceValues::leaveValue(const Warp &warp, Location &location,
                            unsigned lane) {
  RaceState::WarpState &state = clocks.stateOf(warp);
  race::VectorClock &flow = location.flow[clocks.number];
  flow.join(state.knows.seen);
  flow.join(state.knows.flow);
  bool together = (warp.live & ~state.active) == 0;
  clocks.handOn(flow, warp, state,
                together ? state.active : LaneMask(1) << lane, state.time);
}

/// Follows the values of this cluster; values of other clusters order only by
/// releases.
void RaceValues::readValue(const Warp &warp, const Location &location) {
  // A red combines with the stored value, but does not return it.
  if (location.flow.empty() || reports.site.inst->dst.empty())
    return;
  auto found = location.flow.find(clocks.number);
  if (found != location.flow.end())
    clocks.stateOf(warp).knows.flow.join(found->second);
}

/// Returns true if `knows` contains the wait. Lanes that waited together count
/// as one: their warp knows what a wait gives any of them.
bool RaceBarriers::inFlow(const race::Knowledge &knows, const PhaseSeen &seen) {
  auto has = [&](race::Actor actor) {
    return knows.seen.at(actor) >= seen.time ||
           knows.flow.at(actor) >= seen.time;
  };
  uint32_t warp = clocks.stateOf(*seen.site.warp).actor;
  if (has(warp))
    return true;
  for (LaneMask rest = seen.lanes; rest; rest &= rest - 1) {
    race::Actor actor =
        clocks.lanes->actor(warp, unsigned(std::countr_zero(rest)));
    if (actor && has(actor))
      return true;
  }
  return false;
}

void RaceBarriers::checkPhaseOverrun(const Site &by, uint32_t offset,
                                     SyncPoint &point) {
  for (const PhaseSeen &seen : point.seers)
    if (!inFlow(point.gathering, seen))
      clocks.cluster.machine.report.add(
          FindingId::MbarrierPhaseOverrun, by,
          "completes a phase of the mbarrier " +
              sharedName(clocks.cluster.machine, offset) + ".",
          otherAt("the phase before was waited for by", seen.site));
  point.seers.clear();
}
