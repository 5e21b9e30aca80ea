//===- Warpgroups.cpp - wgmma and named barriers in a run -------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// wgmmas of a warpgroup are numbered in program order, which is the same for
// all of its threads; a thread that has waited knows of all up to a number. The
// generations of a named barrier are numbered as the phases of an mbarrier are.
//
//===----------------------------------------------------------------------===//

#include "Execution.h"
#include "fmha/Target/Target.h"

#include <algorithm>
#include <bit>

using namespace fmha::schedule::sync;

static std::string str(uint64_t value) { return std::to_string(value); }

static bool isOfWarpgroups(const Event &event) {
  return event.action >= Action::WgmmaCommit || event.unit == Unit::Wgmma;
}

size_t Execution::addWarpgroups(size_t firstLane) {
  for (const Event &event : program.events)
    hasWarpgroups |= isOfWarpgroups(event);
  if (!hasWarpgroups)
    return firstLane;
  firstNamedLane = firstLane;
  firstGroupLane = firstLane + namedBarriers;
  named.resize(namedBarriers);
  return firstGroupLane + warpgroups;
}

uint32_t Execution::groupLane(uint32_t agent) const {
  constexpr unsigned groupWarps = target::warpgroupWarps;
  unsigned first = std::countr_zero(program.agents[agent].warps);
  return firstGroupLane + first / groupWarps % warpgroups;
}

//===----------------------------------------------------------------------===//
// wgmma
//===----------------------------------------------------------------------===//

/// Y9. The threads of whole warpgroups multiply together.
void Execution::checkWarpgroups() {
  if (!hasWarpgroups)
    return;
  struct Members {
    unsigned threads = 0;
    uint64_t warps = 0;
  };
  std::vector<Members> members(program.events.size());
  for (const Agent &agent : program.agents)
    for (uint32_t index : agent.order) {
      members[index].threads += agent.threads;
      members[index].warps |= agent.warps;
    }
  constexpr unsigned warpThreads = target::warpThreads;
  constexpr uint64_t firstWarps = 0x1111111111111111;
  for (size_t index = 0; index < members.size(); ++index) {
    const Event &event = program.events[index];
    auto [threads, warps] = members[index];
    bool whole = warps == (warps & firstWarps) * 0xF &&
                 threads == warpThreads * unsigned(std::popcount(warps));
    bool together = event.unit == Unit::Wgmma ||
                    event.action == Action::WgmmaCommit ||
                    event.action == Action::WgmmaWait;
    if (together && !whole)
      complain(event.source, std::nullopt,
               "Y9: expected the 128 threads of a warpgroup, or of several, to "
               "carry this out together, got " +
                   str(threads) + " of " + str(std::popcount(warps)) +
                   " warps");
  }
}

/// What an agent learns at a barrier of its own warps, of which it is all at
/// once: they need one to read by wgmma what each has written.
void Execution::meet(uint32_t agent, const Clock &others) {
  AgentState &self = agents[agent];
  self.together = std::max(self.together, others[laneOf(agent, Proxied)]);
}

/// Threads of a warp wait for each other at each instruction of wgmma, which
/// orders what they do but not what they have written.
void Execution::leaveTogether(const std::vector<uint32_t> &group,
                              const Clock &all) {
  for (uint32_t member : group) {
    AgentState &self = agents[member];
    Clock before = self.now;
    self.now = all;
    for (uint32_t other : group)
      for (AgentLane lane : {Data, Proxied})
        self.now.lower(laneOf(other, lane), before[laneOf(other, lane)]);
    waitForGroups(member, *nextEvent(member));
  }
}

/// Groups are complete in order: all but the newest `event.amount`.
void Execution::waitForGroups(uint32_t agent, const Event &event) {
  AgentState &self = agents[agent];
  size_t committed = self.groups.size(), pending = size_t(event.amount);
  if (committed > pending)
    self.now.raise(groupLane(agent), self.groups[committed - 1 - pending]);
}

//===----------------------------------------------------------------------===//
// Named barriers
//===----------------------------------------------------------------------===//

/// Counts the threads of `agent` for the generation under way.
void Execution::arriveNamed(uint32_t agent, const Event &event) {
  AgentState &self = agents[agent];
  NamedBarrier &state = named[event.barrier];
  uint32_t lane = firstNamedLane + event.barrier;
  std::string name = "named barrier " + str(event.barrier);
  // Nor may it be counted twice.
  Tick &mine = self.arrivals[event.barrier];
  if (self.now[lane] < std::max(Tick(state.generations.size()), mine))
    complain(event.source, std::nullopt,
             "Y3: may come to " + name +
                 " before those of the time before are through, and so count "
                 "with them: expected a synchronisation that follows from "
                 "them");
  if (state.pending == 0) {
    state.threads = state.pending = unsigned(event.amount);
    state.source = event.source;
  }
  if (state.threads != event.amount)
    complain(event.source, state.source,
             "Y3: expects " + str(event.amount) + " threads at " + name +
                 ", of which others expect " + str(state.threads));
  unsigned threads = program.agents[agent].threads;
  if (threads > state.pending) {
    complain(event.source, std::nullopt,
             "Y3: " + name + " expects " + str(state.threads) +
                 " threads, got " +
                 str(state.threads - state.pending + threads));
    threads = state.pending;
  }
  mine = Tick(state.generations.size() + 1);
  // Later accesses are not covered by the tick so far.
  self.now.raise(laneOf(agent, Issue), ++self.tick);
  state.gathered.join(self.now);
  state.pending -= threads;
  if (state.pending)
    return;
  state.gathered.raise(lane, Tick(state.generations.size() + 1));
  state.generations.push_back(state.gathered);
  state.gathered.clear();
}

bool Execution::syncNamed(uint32_t agent, const Event &event) {
  AgentState &self = agents[agent];
  NamedBarrier &state = named[event.barrier];
  if (!self.standing) {
    self.standing = true;
    self.generation = state.generations.size();
    arriveNamed(agent, event);
  }
  if (state.generations.size() <= self.generation)
    return false;
  self.now.join(state.generations[self.generation]);
  meet(agent, state.generations[self.generation]);
  self.standing = false;
  return true;
}

//===----------------------------------------------------------------------===//
// Ends
//===----------------------------------------------------------------------===//

std::string Execution::stuckAtNamed(uint32_t agent, const Event &event) const {
  const NamedBarrier &state = named[event.barrier];
  return "Y2: " + program.agents[agent].name + " waits at named barrier " +
         str(event.barrier) + " for threads that never come: got " +
         str(state.threads - state.pending) + " of " + str(state.threads);
}

/// Y6.
void Execution::checkWarpgroupsExit() {
  if (!hasWarpgroups)
    return;
  for (uint32_t i = 0; i < agents.size(); ++i)
    if (agents[i].wgmmas > agents[i].now[groupLane(i)])
      complain(agents[i].lastWgmma, std::nullopt,
               "Y6: this wgmma may run on after the CTA has exited: expected "
               "wgmma_commit behind it and a wgmma_wait for its group");
  for (size_t i = 0; i < named.size(); ++i)
    if (named[i].pending)
      complain(named[i].source, std::nullopt,
               "Y6: named barrier " + str(i) + " is left with " +
                   str(named[i].threads - named[i].pending) + " of " +
                   str(named[i].threads) +
                   " threads: expected each arrival to be met before the CTA "
                   "exits");
}
