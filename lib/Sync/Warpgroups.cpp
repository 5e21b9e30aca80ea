//===- Warpgroups.cpp - wgmma and named barriers in a run -------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// wgmmas of a warpgroup are numbered in program order, which is the same for
// all of its threads; a thread that has waited knows all up to a number. The
// generations of a named barrier are numbered as the phases of an mbarrier are.
//
//===----------------------------------------------------------------------===//

#include "Execution.h"
#include "fmha/Target/Target.h"

#include <algorithm>
#include <bit>

using namespace fmha::schedule::sync;

static std::string str(uint64_t value) { return std::to_string(value); }

//===----------------------------------------------------------------------===//
// wgmma
//===----------------------------------------------------------------------===//

/// Checks Y9: whole warpgroups execute each wgmma.
void Warpgroups::check() {
  if (!run.hasWarpgroups)
    return;
  struct Members {
    unsigned threads = 0;
    uint64_t warps = 0;
  };
  std::vector<Members> members(run.program.events.size());
  for (const Agent &agent : run.program.agents)
    for (uint32_t index : agent.order) {
      members[index].threads += agent.threads;
      members[index].warps |= agent.warps;
    }
  constexpr unsigned warpThreads = target::warpThreads;
  constexpr uint64_t firstWarps = 0x1111111111111111;
  for (size_t index = 0; index < members.size(); ++index) {
    const Event &event = run.program.events[index];
    auto [threads, warps] = members[index];
    bool whole = warps == (warps & firstWarps) * 0xF &&
                 threads == warpThreads * unsigned(std::popcount(warps));
    bool together = event.unit == Unit::Wgmma ||
                    event.action == Action::WgmmaCommit ||
                    event.action == Action::WgmmaWait;
    if (together && !whole)
      run.report(
          event.source, std::nullopt,
          "Y9: expected the 128 threads of a warpgroup, or of several, to "
          "carry this out together, got " +
              str(threads) + " of " + str(std::popcount(warps)) + " warps");
  }
}

/// Threads of a warp wait for each other at each instruction of wgmma, which
/// orders their execution but not their writes.
void Warpgroups::leaveTogether(const std::vector<uint32_t> &group,
                               const Clock &all) {
  for (uint32_t member : group) {
    AgentState &self = run.agents[member];
    Clock before = self.now;
    self.now = all;
    for (uint32_t other : group)
      for (AgentLane lane : {Data, Proxied})
        self.now.lower(laneOf(other, lane), before[laneOf(other, lane)]);
    waitForGroups(member, *run.nextEvent(member));
  }
}

/// Completes the groups in order, all but the newest `event.amount`.
void Warpgroups::waitForGroups(uint32_t agent, const Event &event) {
  AgentState &self = run.agents[agent];
  size_t committed = self.groups.size(), pending = size_t(event.amount);
  if (committed > pending)
    self.now.raise(run.groupLane(agent), self.groups[committed - 1 - pending]);
}

//===----------------------------------------------------------------------===//
// Named barriers
//===----------------------------------------------------------------------===//

/// Counts the threads of `agent` for the current generation.
void Warpgroups::arriveNamed(uint32_t agent, const Event &event) {
  AgentState &self = run.agents[agent];
  NamedBarrier &state = run.named[event.barrier];
  uint32_t lane = run.firstNamedLane + event.barrier;
  std::string name = "named barrier " + str(event.barrier);
  // An agent must not be counted twice either.
  Tick &mine = self.arrivals[event.barrier];
  if (self.now[lane] < std::max(Tick(state.generations.size()), mine))
    run.report(event.source, std::nullopt,
               "Y3: may come to " + name +
                   " before those of the time before are through, and so count "
                   "with them: expected a synchronization that follows from "
                   "them");
  if (state.pending == 0) {
    state.threads = state.pending = unsigned(event.amount);
    state.source = event.source;
  }
  if (state.threads != event.amount)
    run.report(event.source, state.source,
               "Y3: expects " + str(event.amount) + " threads at " + name +
                   ", of which others expect " + str(state.threads));
  unsigned threads = run.program.agents[agent].threads;
  if (threads > state.pending) {
    run.report(event.source, std::nullopt,
               "Y3: " + name + " expects " + str(state.threads) +
                   " threads, got " +
                   str(state.threads - state.pending + threads));
    threads = state.pending;
  }
  mine = Tick(state.generations.size() + 1);
  // The current tick does not cover later accesses.
  self.now.raise(laneOf(agent, Issue), ++self.tick);
  state.gathered.join(self.now);
  state.pending -= threads;
  if (state.pending)
    return;
  state.gathered.raise(lane, Tick(state.generations.size() + 1));
  state.generations.push_back(state.gathered);
  state.gathered.clear();
}

bool Warpgroups::syncNamed(uint32_t agent, const Event &event) {
  AgentState &self = run.agents[agent];
  NamedBarrier &state = run.named[event.barrier];
  if (!self.standing) {
    self.standing = true;
    self.generation = state.generations.size();
    arriveNamed(agent, event);
  }
  if (state.generations.size() <= self.generation)
    return false;
  self.now.join(state.generations[self.generation]);
  run.meet(agent, state.generations[self.generation]);
  self.standing = false;
  return true;
}

//===----------------------------------------------------------------------===//
// Ends
//===----------------------------------------------------------------------===//

std::string Warpgroups::stuckAtNamed(uint32_t agent, const Event &event) const {
  const NamedBarrier &state = run.named[event.barrier];
  return "Y2: " + run.program.agents[agent].name + " waits at named barrier " +
         str(event.barrier) + " for threads that never come: got " +
         str(state.threads - state.pending) + " of " + str(state.threads);
}

/// Checks Y6.
void Warpgroups::checkExit() {
  if (!run.hasWarpgroups)
    return;
  for (uint32_t i = 0; i < run.agents.size(); ++i)
    if (run.agents[i].wgmmas > run.agents[i].now[run.groupLane(i)])
      run.report(run.agents[i].lastWgmma, std::nullopt,
                 "Y6: this wgmma may run on after the CTA has exited: expected "
                 "wgmma_commit after it and a wgmma_wait for its group");
  for (size_t i = 0; i < run.named.size(); ++i)
    if (run.named[i].pending)
      run.report(run.named[i].source, std::nullopt,
                 "Y6: named barrier " + str(i) + " is left with " +
                     str(run.named[i].threads - run.named[i].pending) + " of " +
                     str(run.named[i].threads) +
                     " threads: expected each arrival to be met before the CTA "
                     "exits");
}
