//===- Synchronization.cpp - Order of the accesses of a kernel --*- C++ -*-===//
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

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

void Execution::fence(uint32_t agent, Action action) {
  AgentState &self = agents[agent];
  switch (action) {
  case Action::FenceBefore:
    self.now.raise(laneOf(agent, Loads), self.waitedLoads);
    self.now.raise(laneOf(agent, Stores), self.waitedStores);
    return;
  case Action::FenceAfter:
    self.tensor = self.now;
    return;
  case Action::FenceProxy:
    self.now.raise(laneOf(agent, Proxied), self.tick);
    self.fenced = self.now;
    return;
  case Action::FenceInit:
    self.now.raise(laneOf(agent, InitFenced), self.tick);
    return;
  case Action::WaitLoads:
    self.waitedLoads = self.tick;
    return;
  case Action::WaitStores:
    self.waitedStores = self.tick;
    return;
  case Action::WaitBulk:
    self.now.raise(laneOf(agent, Bulk), self.tick);
    return;
  case Action::WgmmaCommit:
    self.groups.push_back(self.wgmmas);
    return;
  default:
    return;
  }
}

/// Executes an arrival of all threads of an agent; with the unit Copies it
/// follows their copies.
void Execution::arrive(uint32_t agent, const Event &event) {
  Clock clock = agents[agent].now;
  if (event.unit == Unit::Copies) {
    clock.raise(laneOf(agent, Copied), agents[agent].tick);
    mbarriers.noteAsync(event);
  }
  mbarriers.use(agent, event);
  mbarriers.arrive(agent, event, program.agents[agent].threads, clock);
}

/// Waits until all groups of copies but the newest `pending` are complete.
void Execution::awaitCopies(uint32_t agent, int64_t pending) {
  AgentState &self = agents[agent];
  int64_t complete = int64_t(self.copyGroups.size()) - pending;
  if (complete > 0)
    self.now.raise(laneOf(agent, Copied), self.copyGroups[complete - 1]);
}

/// Executes the agent's next event. Returns whether it is complete.
bool Execution::step(uint32_t agent) {
  uint32_t index = program.agents[agent].order[agents[agent].next];
  const Event &event = program.events[index];
  switch (event.action) {
  case Action::Access:
    accesses.access(agent, index);
    return true;
  case Action::Init:
    mbarriers.init(agent, event);
    return true;
  case Action::Inval:
    mbarriers.invalidate(agent, event);
    return true;
  case Action::WaitParity:
  case Action::WaitCount:
    return mbarriers.wait(agent, event);
  case Action::ArriveExpect:
    state.barriers[event.barrier].bytes += event.amount;
    [[fallthrough]];
  case Action::Arrive:
    arrive(agent, event);
    return true;
  case Action::Commit:
    mbarriers.commit(agent, event);
    return true;
  case Action::SyncWarp:
  case Action::SyncCta:
  case Action::WgmmaWait:
    return false;
  case Action::SyncNamed:
    return warpgroups.syncNamed(agent, event);
  case Action::ArriveNamed:
    warpgroups.arriveNamed(agent, event);
    return true;
  case Action::CommitCopies:
    agents[agent].copyGroups.push_back(agents[agent].tick);
    return true;
  case Action::AwaitCopies:
    awaitCopies(agent, event.amount);
    return true;
  case Action::ChannelEnd:
    return true;
  default:
    fence(agent, event.action);
    return true;
  }
}

//===----------------------------------------------------------------------===//
// The run
//===----------------------------------------------------------------------===//

/// Returns the warps of this agent, and of all agents that share a warp with
/// them.
uint64_t Execution::warpsTogether(uint32_t agent) const {
  uint64_t warps = program.agents[agent].warps;
  for (uint64_t before = 0; before != warps;) {
    before = warps;
    for (const Agent &other : program.agents)
      if (other.warps & warps)
        warps |= other.warps;
  }
  return warps;
}

/// Returns whether both agents are at the same synchronization: threads of a
/// warp at one event, warps of a CTA each at a separate event.
bool Execution::standsWith(uint32_t agent, uint32_t other) const {
  const Event *event = state.nextEvent(agent), *others = state.nextEvent(other);
  if (!others || event->action != others->action)
    return false;
  bool together = program.agents[agent].warps & program.agents[other].warps;
  return event == others || (event->action == Action::SyncCta && !together);
}

/// Returns whether threads wait at this event for others to reach it.
static bool isMeeting(const Event &event) {
  return event.action == Action::SyncCta || event.action == Action::SyncWarp ||
         event.action == Action::WgmmaWait;
}

/// Releases all agents at the same synchronization, if none is missing.
bool Execution::passSync(uint32_t agent) {
  const Event *event = state.nextEvent(agent);
  if (!event || !isMeeting(*event))
    return false;
  uint64_t warps = warpsTogether(agent);
  std::vector<uint32_t> group;
  for (uint32_t other = 0; other < agents.size(); ++other) {
    bool belongs = event->action == Action::SyncCta ||
                   (program.agents[other].warps & warps) != 0;
    if (!belongs)
      continue;
    if (!standsWith(agent, other))
      return false;
    group.push_back(other);
  }
  Clock all(agents[agent].now);
  for (uint32_t member : group)
    all.join(agents[member].now);
  if (event->action == Action::WgmmaWait)
    warpgroups.leaveTogether(group, all);
  for (uint32_t member : group) {
    AgentState &self = agents[member];
    if (event->action != Action::WgmmaWait)
      self.now = all;
    if (event->action == Action::SyncCta)
      state.meet(member, all);
    // A hand-off: the current tick does not cover later accesses.
    self.now.raise(laneOf(member, Issue), ++self.tick);
    ++self.next;
  }
  return true;
}

void Execution::reportStuck() {
  for (uint32_t agent = 0; agent < agents.size(); ++agent) {
    const Event *event = state.nextEvent(agent);
    if (!event)
      continue;
    std::string who = program.agents[agent].name;
    if (isMeeting(*event))
      state.report(
          event->source, std::nullopt,
          "Y2: " + who +
              " waits here for threads that never come: expected every "
              "thread at the same synchronization");
    else if (event->action == Action::SyncNamed)
      state.report(event->source, std::nullopt,
                   warpgroups.stuckAtNamed(agent, *event));
    else
      state.report(event->source, std::nullopt,
                   "Y2: " + who + " waits for phase " +
                       str(mbarriers.awaitedCount(agent, *event) - 1) +
                       " of barrier " + state.quote(event->barrier) +
                       ", which never ends: phase " +
                       str(state.barriers[event->barrier].count) + " " +
                       mbarriers.stateOf(event->barrier));
  }
}

/// Checks Y6: once threads have exited, operations that no thread has waited
/// for may still be in flight.
void Execution::checkExit() {
  Clock all = agents.front().now;
  for (const AgentState &agent : agents)
    all.join(agent.now);
  std::vector<Tick> signalled = mbarriers.signalledBefore(all);
  for (uint32_t i = 0; i < state.barriers.size(); ++i)
    if (std::max(all[state.barrierLane(i)], signalled[i]) <
        state.barriers[i].asyncPhase)
      state.report(
          state.barriers[i].asyncSource, std::nullopt,
          "Y6: may signal barrier " + state.quote(i) +
              " after the CTA has exited: expected a thread that waits "
              "for that phase");
  for (const Chain &chain : state.chains)
    if (all[chain.lane] < chain.done[chain.lane])
      state.report(
          chain.last, std::nullopt,
          "Y6: this MMA may run on after the CTA has exited: expected a "
          "commit after it and a wait for its phase");
  for (uint32_t i = 0; i < agents.size(); ++i)
    if (agents[i].bulkTick > agents[i].now[laneOf(i, Bulk)])
      state.report(
          program.events[agents[i].bulk].source, std::nullopt,
          "Y6: may read shared memory after the CTA has exited: expected "
          "tma_store_wait after it");
  warpgroups.checkExit();
}

std::vector<Violation> Execution::run() {
  if (agents.empty())
    return {};
  warpgroups.check();
  for (bool moved = true; moved;) {
    moved = false;
    for (uint32_t agent = 0; agent < agents.size(); ++agent) {
      while (state.nextEvent(agent) && step(agent)) {
        ++agents[agent].next;
        moved = true;
      }
      moved |= passSync(agent);
    }
  }
  bool stuck = false;
  for (uint32_t agent = 0; agent < agents.size(); ++agent)
    stuck |= state.nextEvent(agent) != nullptr;
  stuck ? reportStuck() : checkExit();
  return std::move(state.violations);
}

std::vector<Violation> fmha::schedule::sync::verify(const Program &program) {
  std::vector<Violation> violations = verifyChannels(program);
  return violations.empty() ? Execution(program).run() : violations;
}
