//===- RunState.cpp - State of a run, with vector clocks ------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RunState.h"

#include "fmha/Target/Target.h"

#include <algorithm>
#include <bit>

using namespace fmha::schedule::sync;

/// One missing op violates a rule in each block again; more say nothing new.
static constexpr size_t maxViolations = 6;

void Clock::join(const Clock &other) {
  for (size_t i = 0; i < lanes.size(); ++i)
    lanes[i] = std::max(lanes[i], other.lanes[i]);
}

RunState::RunState(const Program &program)
    : program(program), chainLanes(program.events.size()) {
  size_t width = program.agents.size() * lanesPerAgent;
  firstBarrierLane = width;
  width += program.barriers.size();
  findChains(width);
  width = addWarpgroups(width + chains.size());
  for (NamedBarrier &state : named)
    state.gathered = Clock(width);
  for (const Barrier &barrier : program.barriers)
    barriers.push_back({Clock(width), Clock(width), barrier.arrivals});
  for (BarrierState &state : barriers)
    state.used.resize(program.agents.size());
  for (size_t i = 0; i < program.agents.size(); ++i)
    agents.push_back({Clock(width), Clock(width), Clock(width)});
  for (AgentState &agent : agents)
    agent.arrivals.resize(named.size());
  for (Chain &chain : chains)
    chain.done = Clock(width);
}

/// Assigns one lane to all MMAs of a thread that execute in issue order.
void RunState::findChains(size_t firstLane) {
  std::vector<std::pair<uint64_t, uint32_t>> keys;
  for (uint32_t agent = 0; agent < program.agents.size(); ++agent)
    for (uint32_t index : program.agents[agent].order) {
      const Event &event = program.events[index];
      if (event.action != Action::Access || event.unit != Unit::Mma)
        continue;
      std::pair<uint64_t, uint32_t> key(event.chain, agent);
      auto at = std::find(keys.begin(), keys.end(), key);
      if (at == keys.end()) {
        chains.push_back({Clock(0), agent, uint32_t(firstLane + keys.size())});
        at = keys.insert(keys.end(), key);
      }
      chainLanes[index] = uint32_t(at - keys.begin());
    }
}

static bool isOfWarpgroups(const Event &event) {
  return event.action >= Action::WgmmaCommit || event.unit == Unit::Wgmma;
}

size_t RunState::addWarpgroups(size_t firstLane) {
  for (const Event &event : program.events)
    hasWarpgroups |= isOfWarpgroups(event);
  if (!hasWarpgroups)
    return firstLane;
  firstNamedLane = firstLane;
  firstGroupLane = firstLane + namedBarriers;
  named.resize(namedBarriers);
  return firstGroupLane + warpgroups;
}

uint32_t RunState::groupLane(uint32_t agent) const {
  constexpr unsigned groupWarps = target::warpgroupWarps;
  unsigned first = std::countr_zero(program.agents[agent].warps);
  return firstGroupLane + first / groupWarps % warpgroups;
}

const Event *RunState::nextEvent(uint32_t agent) const {
  const Agent &of = program.agents[agent];
  size_t next = agents[agent].next;
  return next < of.order.size() ? &program.events[of.order[next]] : nullptr;
}

void RunState::meet(uint32_t agent, const Clock &others) {
  AgentState &self = agents[agent];
  self.together = std::max(self.together, others[laneOf(agent, Proxied)]);
}

void RunState::report(uint32_t source, std::optional<uint32_t> other,
                      std::string text) {
  for (const Violation &old : violations)
    if (old.source == source && old.text.substr(0, 2) == text.substr(0, 2))
      return;
  if (violations.size() < maxViolations)
    violations.push_back({source, other, std::move(text)});
}

std::string RunState::quote(uint32_t barrier) const {
  return '"' + program.barriers[barrier].name + '"';
}
