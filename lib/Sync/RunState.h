//===- RunState.h - What a run knows, with vector clocks --------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_SYNC_RUNSTATE_H
#define FMHA_LIB_SYNC_RUNSTATE_H

#include "AccessHistory.h"

namespace fmha::schedule::sync {

/// What is known to have happened: in each lane everything up to its tick.
class Clock {
public:
  explicit Clock(size_t width) : lanes(width) {}
  Tick operator[](size_t lane) const { return lanes[lane]; }
  void join(const Clock &other);
  void raise(size_t lane, Tick tick) {
    if (lanes[lane] < tick)
      lanes[lane] = tick;
  }
  void lower(size_t lane, Tick tick) { lanes[lane] = tick; }
  void clear() { lanes.assign(lanes.size(), 0); }

private:
  std::vector<Tick> lanes;
};

/// What others may know of an agent: how far it has come, and up to where its
/// accesses are over and fenced for the unit that comes next.
enum AgentLane : uint32_t {
  Issue,
  Data,
  Proxied,
  InitFenced,
  Loads,
  Stores,
  Bulk,
  lanesPerAgent
};

struct AgentState {
  /// What it knows, and what its tensor-memory accesses may rely on: what it
  /// knew at its last fence tcgen05_after.
  Clock now, tensor;
  Tick tick = 0, waitedLoads = 0, waitedStores = 0, bulkTick = 0;
  uint32_t bulk = 0;
  /// Next event of its order.
  size_t next = 0;
  /// Accesses of wgmma so far, and up to the end of each committed group.
  Tick wgmmas = 0;
  std::vector<Tick> groups = {};
  uint32_t lastWgmma = 0;
  /// Up to where its warps know of each other that they have written and fenced
  /// for the asynchronous proxy.
  Tick together = 0;
  /// Whether it stands at a named barrier, and for which of its generations.
  bool standing = false;
  size_t generation = 0;
  /// Of each named barrier, up to which generation it has come.
  std::vector<Tick> arrivals = {};
};

struct Waiter {
  uint32_t agent;
  Tick tick;
  uint32_t source;
};

struct BarrierState {
  /// Of the last complete phase, and of the one under way.
  Clock last, gathered;
  unsigned pending = 0;
  int64_t bytes = 0;
  /// Complete phases, and those of them before the last init.
  Tick count = 0, before = 0;
  /// Of the last complete phase.
  std::vector<Waiter> waiters = {};
  bool initialised = false, misused = false;
  uint32_t initAgent = 0;
  Tick initTick = 0;
  /// The last phase that a unit signals, and the op that makes it do so.
  Tick asyncPhase = 0;
  uint32_t asyncSource = 0;
  /// Of each agent, when it waited or arrived last.
  std::vector<Tick> used = {};
};

/// What those who were there know, for each time that all had come.
struct NamedBarrier {
  std::vector<Clock> generations = {};
  Clock gathered{0};
  unsigned threads = 0, pending = 0;
  uint32_t source = 0;
};

/// A commit of `agent` that signals `phase` of `barrier`.
struct Signal {
  uint32_t agent, barrier;
  Tick phase;
};

/// MMAs that the machine executes in order.
struct Chain {
  Clock done;
  uint32_t agent, lane;
  uint32_t last = 0;
};

inline uint32_t laneOf(uint32_t agent, AgentLane lane) {
  return agent * lanesPerAgent + lane;
}

/// How far the agents and barriers of a program have come, and the violations
/// about them so far.
class RunState {
public:
  explicit RunState(const Program &program);

  uint32_t barrierLane(uint32_t barrier) const {
    return firstBarrierLane + barrier;
  }
  /// The lane of the agent's warpgroup.
  uint32_t groupLane(uint32_t agent) const;
  /// Null at the end of its order.
  const Event *nextEvent(uint32_t agent) const;
  /// What an agent learns at a barrier of its own warps, of which it is all at
  /// once: they need one to read by wgmma what each has written.
  void meet(uint32_t agent, const Clock &others);
  void report(uint32_t source, std::optional<uint32_t> other, std::string text);
  std::string quote(uint32_t barrier) const;

  const Program &program;
  std::vector<AgentState> agents;
  std::vector<BarrierState> barriers;
  std::vector<NamedBarrier> named;
  std::vector<Chain> chains;
  /// In program order of each agent.
  std::vector<Signal> commits;
  /// Of each MMA event, its chain.
  std::vector<uint32_t> chainLanes;
  std::vector<Violation> violations;
  /// Clocks have lanes for warpgroups only where there are some.
  bool hasWarpgroups = false;
  uint32_t firstNamedLane = 0;

private:
  static constexpr size_t namedBarriers = 16, warpgroups = 16;
  void findChains(size_t firstLane);
  size_t addWarpgroups(size_t firstLane);

  uint32_t firstBarrierLane = 0, firstGroupLane = 0;
};

} // namespace fmha::schedule::sync

#endif // FMHA_LIB_SYNC_RUNSTATE_H
