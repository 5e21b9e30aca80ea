//===- BarrierReinit.cpp - Barriers, and their reuse ------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Execution.h"

#include <algorithm>

using namespace fmha::schedule::sync;

/// Records that the agent waits for the barrier or arrives at it.
void Mbarriers::use(uint32_t agent, const Event &event) {
  AgentState &self = run.agents[agent];
  self.now.raise(laneOf(agent, Issue), ++self.tick);
  run.barriers[event.barrier].used[agent] = self.tick;
}

void Mbarriers::init(uint32_t agent, const Event &event) {
  AgentState &self = run.agents[agent];
  BarrierState &state = run.barriers[event.barrier];
  if (state.initialized)
    run.report(event.source, std::nullopt,
               "Y5: initializes barrier " + run.quote(event.barrier) +
                   " a second time; init_barrier belongs in the prologue");
  if (event.amount != run.program.barriers[event.barrier].arrivals)
    run.report(
        event.source, std::nullopt,
        "Y3: initializes barrier " + run.quote(event.barrier) + " with " +
            std::to_string(event.amount) +
            " arrivals, but it is declared with " +
            std::to_string(run.program.barriers[event.barrier].arrivals));
  self.now.raise(laneOf(agent, Issue), ++self.tick);
  state.initialized = true;
  state.initAgent = agent;
  state.initTick = self.tick;
  state.pending = run.program.barriers[event.barrier].arrivals;
  state.bytes = 0;
  state.before = state.count;
  state.asyncPhase = 0;
  state.gathered.clear();
  state.waiters.clear();
  // An agent that knows of the init knows that the earlier phases are over.
  self.now.raise(run.barrierLane(event.barrier), state.count);
}

/// Checks Y8: in every run, all uses of the barrier by other agents and by
/// asynchronous units must precede the invalidation.
void Mbarriers::invalidate(uint32_t agent, const Event &event) {
  checkReady(agent, event);
  BarrierState &state = run.barriers[event.barrier];
  const Clock &now = run.agents[agent].now;
  for (uint32_t other = 0; other < run.agents.size(); ++other)
    if (other != agent && now[laneOf(other, Issue)] < state.used[other])
      run.report(event.source, std::nullopt,
                 "Y8: invalidates barrier " + run.quote(event.barrier) +
                     ", which " + run.program.agents[other].name +
                     " may still use: expected a synchronization of the CTA "
                     "between");
  Tick seen = std::max(now[run.barrierLane(event.barrier)],
                       signalledBefore(now)[event.barrier]);
  if (seen < state.asyncPhase)
    run.report(
        event.source, state.asyncSource,
        "Y8: invalidates barrier " + run.quote(event.barrier) +
            ", which may still be signalled: expected a thread that waits "
            "for that phase before the synchronization of the CTA");
  state.initialized = false;
}
