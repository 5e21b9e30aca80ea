//===- Mbarriers.cpp - Phases of mbarriers in a run -----------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Execution.h"

#include <algorithm>

using namespace fmha::schedule::sync;

static std::string str(uint64_t value) { return std::to_string(value); }

std::string Mbarriers::stateOf(uint32_t barrier) const {
  const BarrierState &state = run.barriers[barrier];
  unsigned expected = run.program.barriers[barrier].arrivals;
  std::string text = "got " + str(expected - state.pending) + " of " +
                     str(expected) + " arrivals";
  if (state.bytes != 0)
    text += state.bytes > 0 ? ", and lacks " + str(state.bytes) +
                                  " bytes that arrive_expect_tx announced"
                            : ", and " + str(-state.bytes) +
                                  " bytes more than arrive_expect_tx announced";
  return text;
}

/// Checks Y5. The initializing thread itself needs the fence but no hand-off.
void Mbarriers::checkReady(uint32_t agent, const Event &event) {
  BarrierState &state = run.barriers[event.barrier];
  if (run.program.barriers[event.barrier].ready || state.misused)
    return;
  const Clock &now = run.agents[agent].now;
  std::string missing;
  if (!state.initialized)
    missing = "init_barrier";
  else if (now[laneOf(state.initAgent, Issue)] < state.initTick)
    missing = "a synchronization of the CTA after its init_barrier";
  else if (now[laneOf(state.initAgent, InitFenced)] < state.initTick)
    missing = "a fence mbarrier_init after its init_barrier";
  if (missing.empty())
    return;
  state.misused = true;
  run.report(event.source, std::nullopt,
             "Y5: uses barrier " + run.quote(event.barrier) + " without " +
                 missing);
}

/// Checks Y3: in a run where the previous phase ends late, this arrival would
/// count for that phase.
void Mbarriers::checkPhase(uint32_t agent, const Event &event) {
  const BarrierState &state = run.barriers[event.barrier];
  if (run.agents[agent].now[run.barrierLane(event.barrier)] < state.count)
    run.report(event.source, std::nullopt,
               "Y3: may signal barrier " + run.quote(event.barrier) +
                   " before its phase " + str(state.count - 1) +
                   " is complete, and so count for that phase: expected a wait "
                   "that follows from the end of that phase");
}

void Mbarriers::arrive(uint32_t agent, const Event &event, unsigned count,
                       const Clock &clock) {
  checkReady(agent, event);
  checkPhase(agent, event);
  BarrierState &state = run.barriers[event.barrier];
  if (count > state.pending) {
    unsigned expected = run.program.barriers[event.barrier].arrivals;
    run.report(event.source, std::nullopt,
               "Y3: a phase of barrier " + run.quote(event.barrier) +
                   " expects " + str(expected) + " arrivals, got " +
                   str(expected - state.pending + count) +
                   "; make the count of init_barrier and the arriving threads "
                   "agree");
    count = state.pending;
  }
  state.pending -= count;
  state.gathered.join(clock);
  completeIfFull(event.barrier);
}

void Mbarriers::completeIfFull(uint32_t barrier) {
  BarrierState &state = run.barriers[barrier];
  if (state.pending != 0 || state.bytes != 0)
    return;
  // Y4: the waits for the previous phase must have ended. A later one would
  // wait until the parity recurs.
  for (const Waiter &waiter : state.waiters)
    if (state.gathered[laneOf(waiter.agent, Issue)] < waiter.tick)
      run.report(waiter.source, std::nullopt,
                 "Y4: may sleep through phase " + str(state.count - 1) +
                     " of barrier " + run.quote(barrier) +
                     ": nothing keeps the next phase from ending first");
  state.waiters.clear();
  ++state.count;
  state.pending = run.program.barriers[barrier].arrivals;
  std::swap(state.last, state.gathered);
  state.last.raise(run.barrierLane(barrier), state.count);
  state.gathered.clear();
}

/// Returns the least number of complete phases that ends this wait in every
/// run.
Tick Mbarriers::awaitedCount(uint32_t agent, const Event &event) const {
  if (event.action == Action::WaitCount)
    return Tick(event.amount);
  // Parities count from the init.
  Tick first = run.barriers[event.barrier].before;
  Tick known =
      std::max(run.agents[agent].now[run.barrierLane(event.barrier)], first);
  return (known - first & 1) != Tick(event.amount) ? known : known + 1;
}

bool Mbarriers::wait(uint32_t agent, const Event &event) {
  checkReady(agent, event);
  AgentState &self = run.agents[agent];
  BarrierState &state = run.barriers[event.barrier];
  Tick awaited = awaitedCount(agent, event);
  if (awaited == state.before) {
    use(agent, event);
    return true;
  }
  if (state.count < awaited)
    return false;
  if (state.count > awaited &&
      self.now[run.barrierLane(event.barrier)] < state.count)
    run.report(event.source, std::nullopt,
               "Y4: may sleep through phase " + str(awaited - 1) +
                   " of barrier " + run.quote(event.barrier) +
                   ": nothing keeps the next phase from ending first");
  self.now.join(state.last);
  run.meet(agent, state.last);
  use(agent, event);
  state.waiters.push_back({agent, self.tick, event.source});
  return true;
}

/// Handles tcgen05.commit, which fences the MMAs before it and nothing else of
/// its thread.
void Mbarriers::commit(uint32_t agent, const Event &event) {
  Clock clock = run.agents[agent].now;
  clock.lower(laneOf(agent, Data), 0);
  clock.lower(laneOf(agent, Proxied), 0);
  for (const Chain &chain : run.chains)
    if (chain.agent == agent)
      clock.join(chain.done);
  noteAsync(event);
  run.commits.push_back(
      {agent, event.barrier, run.barriers[event.barrier].asyncPhase});
  arrive(agent, event, 1, clock);
}

void Mbarriers::noteAsync(const Event &event) {
  BarrierState &state = run.barriers[event.barrier];
  state.asyncPhase = state.count + 1;
  state.asyncSource = event.source;
}

/// Returns, for each barrier, the last phase that commits have signalled
/// according to `known`. A tcgen05.commit is in order with the tcgen05
/// operations of its thread (PTX ISA 9.7.16.6.1), so a wait for one implies the
/// earlier ones.
std::vector<Tick> Mbarriers::signalledBefore(const Clock &known) const {
  std::vector<Tick> phases(run.barriers.size());
  std::vector<bool> covered(run.agents.size());
  for (auto commit = run.commits.rbegin(); commit != run.commits.rend();
       ++commit) {
    auto [agent, barrier, phase] = *commit;
    covered[agent] = covered[agent] || known[run.barrierLane(barrier)] >= phase;
    if (covered[agent])
      phases[barrier] = std::max(phases[barrier], phase);
  }
  return phases;
}
